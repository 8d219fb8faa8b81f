// Chooses among cuDNN's engines: which of them a precision allows, the first that can be built, and
// all others.
#include "ops/conv/cudnn_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "ops/conv/conv_checks.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda::dnn {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

// The answers of a layout are listed in these parts, so that a short search tries the best ones of
// every layout.
constexpr size_t kFirst = 4, kPromising = 12;
constexpr size_t kMaxCandidates = 400;

void append_new(const std::vector<EngineConfig>& more, std::vector<EngineConfig>& configs) {
  std::set<std::string> known;
  for (const EngineConfig& config : configs) known.insert(config.engine.text());
  for (const EngineConfig& config : more)
    if (config.engine.index >= 0 && known.insert(config.engine.text()).second)
      configs.push_back(config);
}

HeuristicsResult run_heuristics(const ConvLayout& layout, const Stream& stream) {
  // Creates the handle outside the planning time.
  const cudnnHandle_t handle = cudnn_handle(stream);
  const plugin::HostTimer timer;
  HeuristicsResult heuristics;
  try {
    heuristics.graph = std::make_shared<OperationGraph>(layout, handle);
    append_new(heuristics.graph->heuristics(CUDNN_HEUR_MODE_A), heuristics.configs);
    append_new(heuristics.graph->heuristics(CUDNN_HEUR_MODE_FALLBACK), heuristics.configs);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    heuristics.refusal = error.what();
  }
  heuristics.query_ns = timer.elapsed_ns();
  return heuristics;
}

// Engine 72 of cuDNN 9.19 leaves every output of 8-bit forward convolutions in NCHW wrong, as found
// on H100s and H200s.
bool computes_wrongly(const ConvLayout& layout, const Engine& engine) {
  constexpr std::string_view kVersion = "9.19.";
  return engine.index == 72 && layout.problem.precision.precision == Precision::kInt8 &&
         !layout.channels_last &&
         report<Cudnn>().version.compare(0, kVersion.size(), kVersion) == 0;
}

// The reason why the engine is not used, or an empty string.
std::string rejection_reason(const ConvLayout& layout, const Engine& engine,
                             const EngineNotes& notes) {
  const Conv& conv = layout.problem;
  if (computes_wrongly(layout, engine)) return "computes wrongly in this version of cuDNN";
  if (notes.reduced_reduction) return "adds parts of sums in less than 32 bits";
  if (notes.reorders_filter) return "requires filters in a special order";
  const Precision precision = conv.precision.precision;
  if (precision == Precision::kFloat && notes.tensor_core) return "rounds float for tensor cores";
  if (notes.down_converts && precision != Precision::kTf32) return "rounds its inputs";
  if (notes.winograd && precision == Precision::kInt8)
    return "uses Winograd's algorithm, which is not exact";
  // For 5 x 5 filters, measurements show errors of 0.3 % of the largest output.
  if (notes.winograd && std::max({conv.r, conv.s, conv.t}) > 3)
    return "uses Winograd's algorithm for filters larger than 3 x 3, which loses half the digits";
  return "";
}

ConvPlan make_plan(const ConvLayout& layout, const PlanOrReason& built, double query_ns) {
  return {layout, built.plan, query_ns + built.plan->built_ns()};
}

// The reasons why no engine of a layout can be used. Each reason is listed once.
class RejectionReasons {
 public:
  void add(const std::string& text) {
    if (seen_.insert(text).second && seen_.size() <= kMaxNamed)
      text_ += (text_.empty() ? "" : "; ") + text;
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr size_t kMaxNamed = 4;
  std::set<std::string> seen_;
  std::string text_;
};

[[noreturn]] void refuse(const Conv& conv, const std::string& layout,
                         const RejectionReasons& rejections) {
  static const char* const kPhases[] = {"fwd", "bwd_data", "bwd_filter"};
  std::string reason = "cuDNN " + report<Cudnn>().version + " offers no engine for " +
                       kPhases[int(conv.phase)] + " in " + std::string(conv.precision.name) +
                       " of these dimensions in " + layout + " on this device";
  if (!rejections.text().empty()) reason += ": " + rejections.text();
  plugin::unsupported(reason);
}

std::string candidate_id(const ConvLayout& layout, const Engine& engine) {
  return layout.name + ":" + engine.text();
}

}  // namespace

std::string ConvPlan::algorithm_text() const {
  std::string words;
  const auto add = [&](bool holds, const char* word) {
    if (holds) words += (words.empty() ? "" : ", ") + std::string(word);
  };
  const EngineNotes& notes = execution->notes();
  add(notes.winograd, "winograd");
  add(notes.fft, "fft");
  add(notes.nondeterministic, "nondeterministic");
  return layout.name + ": " + execution->engine().text() +
         (words.empty() ? "" : " (" + words + ")");
}

// Collects ids in the order in which they should be tried, each once. Without a limit (exhaustive),
// the ids include engines beyond the workspace limit, which planning refuses with that reason.
class CandidateList {
 public:
  CandidateList(ConvQueries& queries, int64_t limit)
      : queries_(queries),
        is_exhaustive_(limit <= 0),
        max_candidates_(is_exhaustive_ ? kMaxCandidates : std::min(size_t(limit), kMaxCandidates)) {
  }

  bool is_exhaustive() const { return is_exhaustive_; }

  // Adds positions [begin, end) of a layout's list: either only the engines that compile at run
  // time or only the others.
  void add_from_heuristics(const ConvLayout& layout, size_t begin, size_t end, bool compiled) {
    const HeuristicsResult& heuristics = queries_.heuristics(layout);
    std::vector<EngineConfig> configs;
    for (size_t i = begin; i < std::min(end, heuristics.configs.size()); ++i)
      if (heuristics.configs[i].notes.compiles == compiled)
        configs.push_back(heuristics.configs[i]);
    add(layout, configs);
  }
  // Adds the engines that the heuristics do not return, with the library's default knobs.
  void add_remaining(const ConvLayout& layout) {
    const HeuristicsResult& heuristics = queries_.heuristics(layout);
    if (!heuristics.graph) return;
    std::set<int64_t> returned;
    for (const EngineConfig& config : heuristics.configs) returned.insert(config.engine.index);
    std::vector<EngineConfig> configs;
    const auto count = plan_if_supported([&] { return heuristics.graph->engine_count(); });
    for (int64_t index = 0; index < count.value_or(0); ++index) {
      if (returned.count(index)) continue;
      const auto config = plan_if_supported([&] { return heuristics.graph->config({index, {}}); });
      if (config && *config) configs.push_back({{index, {}}, (*config)->notes});
    }
    add(layout, configs);
  }
  void add_id(std::string id) {
    if (!is_full() && seen_.insert(id).second) ids_.push_back(std::move(id));
  }
  std::vector<std::string> ids() { return std::move(ids_); }

 private:
  bool is_full() const { return ids_.size() >= max_candidates_; }

  void add(const ConvLayout& layout, const std::vector<EngineConfig>& configs) {
    build_compiled(layout, configs);
    for (size_t i = 0; i < configs.size() && !is_full(); ++i) {
      const auto built =
          plan_if_supported([&] { return queries_.build_allowed(layout, configs[i]); });
      if (built && built->plan && (is_exhaustive() || queries_.fits_workspace(*built->plan)))
        add_id(candidate_id(layout, configs[i].engine));
    }
  }
  // Builds, in parallel, as many plans as the list of candidates has room for.
  void build_compiled(const ConvLayout& layout, const std::vector<EngineConfig>& configs) const {
    std::vector<Engine> engines;
    for (const EngineConfig& config : configs)
      if (config.notes.compiles && ids_.size() + engines.size() < max_candidates_ &&
          rejection_reason(layout, config.engine, config.notes).empty())
        engines.push_back(config.engine);
    queries_.plans_.prebuild(layout, engines);
  }

  ConvQueries& queries_;
  const bool is_exhaustive_;
  const size_t max_candidates_;
  std::vector<std::string> ids_;
  std::set<std::string> seen_;
};

ConvQueries::ConvQueries(const Conv& conv, const std::string& layout,
                         const plugin::Options& options)
    : conv_(conv),
      options_(options),
      stream_(Stream::of(options.device)),
      layouts_(conv_layouts(conv, layout, options.pad)),
      plans_(stream_) {
  require_conv_on_device(conv, options.device);
}

const HeuristicsResult& ConvQueries::heuristics(const ConvLayout& layout) {
  const auto known = heuristics_.find(layout.name);
  if (known != heuristics_.end()) return known->second;
  return heuristics_[layout.name] = run_heuristics(layout, stream_);
}

bool ConvQueries::fits_workspace(const ExecutionPlan& plan) const {
  return plan.workspace_bytes() <= uint64_t(std::max<int64_t>(0, options_.workspace));
}

// Returns the engine's plan if the precision allows it, regardless of its workspace, or else the
// reason.
PlanOrReason ConvQueries::build_allowed(const ConvLayout& layout, const EngineConfig& config) {
  if (std::string reason = rejection_reason(layout, config.engine, config.notes); !reason.empty())
    return {nullptr, reason};
  const PlanOrReason& built = plans_.get(layout, heuristics(layout).graph, config.engine);
  if (!built.plan) return built;
  if (std::string reason = rejection_reason(layout, config.engine, built.plan->notes());
      !reason.empty())
    return {nullptr, reason};
  return built;
}

// Like build_allowed(), but also enforces the workspace limit.
PlanOrReason ConvQueries::build_within_limit(const ConvLayout& layout, const EngineConfig& config) {
  PlanOrReason built = build_allowed(layout, config);
  if (built.plan && !fits_workspace(*built.plan))
    return {nullptr, "needs a workspace of " + std::to_string(built.plan->workspace_bytes()) +
                         " bytes, more than the limit"};
  return built;
}

// The library's default: the first engine that can be used.
ConvPlan ConvQueries::plan_default() {
  RejectionReasons rejections;
  for (const ConvLayout& layout : layouts_) {
    const HeuristicsResult& answer = heuristics(layout);
    if (!answer.refusal.empty()) rejections.add(answer.refusal);
    for (const EngineConfig& config : answer.configs) {
      const PlanOrReason built = build_within_limit(layout, config);
      if (built.plan) return make_plan(layout, built, answer.query_ns);
      rejections.add(config.engine.text().substr(0, config.engine.text().find('_')) + " " +
                     built.reason);
    }
  }
  refuse(conv_, layouts_.front().name, rejections);
}

ConvPlan ConvQueries::plan_candidate(const std::string& id) {
  EngineConfig config;
  for (const ConvLayout& layout : layouts_) {
    const std::string prefix = layout.name + ":";
    if (id.compare(0, prefix.size(), prefix) != 0) continue;
    if (!parse_engine(std::string_view(id).substr(prefix.size()), &config.engine)) break;
    const HeuristicsResult& answer = heuristics(layout);
    if (!answer.graph) plugin::unsupported(answer.refusal);
    const PlanOrReason built = build_within_limit(layout, config);
    if (!built.plan) plugin::unsupported(config.engine.text() + ": " + built.reason);
    return make_plan(layout, built, 0);
  }
  reject_candidate("cudnn", id);
}

ConvPlan ConvQueries::plan(const std::string& candidate) {
  return candidate.empty() ? plan_default() : plan_candidate(candidate);
}

// Plans that compile at run time come last, because each takes tenths of a second to build. Only
// `exhaustive` includes those with a different channel order than the library's default: in 107
// int8 problems, none of them was the fastest.
std::vector<std::string> ConvQueries::candidates(int64_t limit) {
  const ConvPlan first = plan_default();
  CandidateList candidates(*this, limit);
  candidates.add_id(candidate_id(first.layout, first.execution->engine()));
  for (const auto& [begin, end] : {std::pair(size_t{0}, kFirst), std::pair(kFirst, kPromising),
                                   std::pair(kPromising, kMaxCandidates)})
    for (const ConvLayout& one : layouts_)
      candidates.add_from_heuristics(one, begin, end, /*compiled=*/false);
  for (const ConvLayout& one : layouts_)
    if (candidates.is_exhaustive() || one.channels_last == first.layout.channels_last)
      candidates.add_from_heuristics(one, 0, kMaxCandidates, /*compiled=*/true);
  if (candidates.is_exhaustive())
    for (const ConvLayout& one : layouts_) candidates.add_remaining(one);
  return candidates.ids();
}

}  // namespace deepbench::cuda::dnn
