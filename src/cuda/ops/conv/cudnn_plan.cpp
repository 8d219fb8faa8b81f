// The choice among cuDNN's engines: which of them a precision allows, the first that can be built,
// and all others. Results of queries are cached.
#include "ops/conv/cudnn_plan.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "cudnn/handle.hpp"
#include "memo_cache.hpp"
#include "ops/conv/conv_checks.hpp"
#include "ops/conv/cudnn_plan_cache.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda::dnn {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr size_t kMaxCachedResults = 64;
constexpr size_t kPromising = 16;  // engines of the preferred layout that come before other layouts
constexpr size_t kMaxCandidates = 400;

// The result of a heuristics query for the problem in one layout on one device.
struct HeuristicsResult {
  std::shared_ptr<const OperationGraph> graph;
  // First those of the heuristics, then the additional ones of the fallback mode.
  std::vector<EngineConfig> configs;
  double query_ns = 0;
  std::string refusal;  // why there is no graph
};

void append_new(const std::vector<EngineConfig>& more, std::vector<EngineConfig>& configs) {
  std::set<std::string> known;
  for (const EngineConfig& config : configs) known.insert(config.engine.text());
  for (const EngineConfig& config : more)
    if (config.engine.index >= 0 && known.insert(config.engine.text()).second)
      configs.push_back(config);
}

std::shared_ptr<const HeuristicsResult> run_heuristics(const ConvLayout& layout,
                                                       const Stream& stream) {
  // Created first so that planning time excludes it.
  const cudnnHandle_t handle = cudnn_handle(stream);
  const auto begin = std::chrono::steady_clock::now();
  auto heuristics = std::make_shared<HeuristicsResult>();
  try {
    heuristics->graph = std::make_shared<OperationGraph>(layout, handle);
    append_new(heuristics->graph->heuristics(CUDNN_HEUR_MODE_A), heuristics->configs);
    append_new(heuristics->graph->heuristics(CUDNN_HEUR_MODE_FALLBACK), heuristics->configs);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    heuristics->refusal = error.what();
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  heuristics->query_ns = took.count();
  return heuristics;
}

std::shared_ptr<const HeuristicsResult> query_heuristics(const ConvLayout& layout,
                                                         const Stream& stream) {
  static auto* cache = new MemoCache<std::shared_ptr<const HeuristicsResult>, kMaxCachedResults>();
  return cache->get(layout.key(stream.device()), [&] { return run_heuristics(layout, stream); });
}

// The reason why the precision does not allow the engine, or an empty string.
std::string rejection_reason(const Conv& conv, const EngineNotes& notes) {
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

uint64_t workspace_limit(const plugin::Options& options) {
  return uint64_t(std::max<int64_t>(0, options.workspace));
}

bool fits(const ExecutionPlan& plan, const plugin::Options& options) {
  return plan.workspace_bytes() <= workspace_limit(options);
}

// Returns the engine's plan if the precision allows it, regardless of its workspace, or else the
// reason.
PlanOrReason build_allowed(const ConvLayout& layout, const HeuristicsResult& heuristics,
                           const EngineConfig& config, const Stream& stream) {
  if (std::string reason = rejection_reason(layout.problem, config.notes); !reason.empty())
    return {nullptr, reason};
  PlanOrReason built = cached_plan(layout, heuristics.graph, config.engine, stream);
  if (!built.plan) return built;
  if (std::string reason = rejection_reason(layout.problem, built.plan->notes()); !reason.empty())
    return {nullptr, reason};
  return built;
}

// Like build_allowed(), but also enforces the workspace limit.
PlanOrReason build_within_limit(const ConvLayout& layout, const HeuristicsResult& heuristics,
                                const EngineConfig& config, const plugin::Options& options,
                                const Stream& stream) {
  PlanOrReason built = build_allowed(layout, heuristics, config, stream);
  if (built.plan && !fits(*built.plan, options))
    return {nullptr, "needs a workspace of " + std::to_string(built.plan->workspace_bytes()) +
                         " bytes, more than the limit"};
  return built;
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

// The library's default: the first engine that can be used.
ConvPlan plan_default(const Conv& conv, const std::vector<ConvLayout>& layouts,
                      const plugin::Options& options, const Stream& stream) {
  RejectionReasons rejections;
  for (const ConvLayout& layout : layouts) {
    const auto heuristics = query_heuristics(layout, stream);
    if (!heuristics->refusal.empty()) rejections.add(heuristics->refusal);
    for (const EngineConfig& config : heuristics->configs) {
      const PlanOrReason built = build_within_limit(layout, *heuristics, config, options, stream);
      if (built.plan) return make_plan(layout, built, heuristics->query_ns);
      rejections.add(config.engine.text().substr(0, config.engine.text().find('_')) + " " +
                     built.reason);
    }
  }
  refuse(conv, layouts.front().name, rejections);
}

std::string id_of(const ConvLayout& layout, const Engine& engine) {
  return layout.name + ":" + engine.text();
}

ConvPlan plan_candidate(const std::vector<ConvLayout>& layouts, const plugin::Options& options,
                        const Stream& stream) {
  const std::string& id = options.candidate;
  EngineConfig config;
  for (const ConvLayout& layout : layouts) {
    const std::string prefix = layout.name + ":";
    if (id.compare(0, prefix.size(), prefix) != 0) continue;
    if (!parse_engine(std::string_view(id).substr(prefix.size()), &config.engine)) break;
    const auto heuristics = query_heuristics(layout, stream);
    if (!heuristics->graph) plugin::unsupported(heuristics->refusal);
    const PlanOrReason built = build_within_limit(layout, *heuristics, config, options, stream);
    if (!built.plan) plugin::unsupported(config.engine.text() + ": " + built.reason);
    return make_plan(layout, built, 0);
  }
  reject_candidate("cudnn", id);
}

// Collects ids in the order in which they should be tried, each once. Without a limit (exhaustive),
// the ids include engines beyond the workspace limit, which planning refuses with that reason.
class Candidates {
 public:
  Candidates(const plugin::Options& options, const Stream& stream)
      : options_(options),
        stream_(stream),
        max_candidates_(is_exhaustive() ? kMaxCandidates
                                        : std::min(size_t(options.limit), kMaxCandidates)) {}

  bool is_exhaustive() const { return options_.limit <= 0; }

  // Adds positions [begin, end) of a layout's list: either only the engines that compile at run
  // time or only the others.
  void add_from_heuristics(const ConvLayout& layout, size_t begin, size_t end, bool compiled) {
    const auto heuristics = query_heuristics(layout, stream_);
    std::vector<EngineConfig> configs;
    for (size_t i = begin; i < std::min(end, heuristics->configs.size()); ++i)
      if (heuristics->configs[i].notes.compiles == compiled)
        configs.push_back(heuristics->configs[i]);
    add(layout, *heuristics, configs);
  }
  // Adds the engines that the heuristics do not return, with the library's default knobs.
  void add_remaining(const ConvLayout& layout) {
    const auto heuristics = query_heuristics(layout, stream_);
    if (!heuristics->graph) return;
    std::set<int64_t> returned;
    for (const EngineConfig& config : heuristics->configs) returned.insert(config.engine.index);
    std::vector<EngineConfig> configs;
    const auto count = if_possible([&] { return heuristics->graph->engines(); });
    for (int64_t index = 0; index < count.value_or(0); ++index) {
      if (returned.count(index)) continue;
      const auto config = if_possible([&] { return heuristics->graph->config({index, {}}); });
      if (config && *config) configs.push_back({{index, {}}, (*config)->notes});
    }
    add(layout, *heuristics, configs);
  }
  void add_id(std::string id) {
    if (!is_full() && seen_.insert(id).second) ids_.push_back(std::move(id));
  }
  std::vector<std::string> ids() { return std::move(ids_); }

 private:
  bool is_full() const { return ids_.size() >= max_candidates_; }

  void add(const ConvLayout& layout, const HeuristicsResult& heuristics,
           const std::vector<EngineConfig>& configs) {
    build_compiled(layout, configs);
    for (size_t i = 0; i < configs.size() && !is_full(); ++i) {
      const auto built =
          if_possible([&] { return build_allowed(layout, heuristics, configs[i], stream_); });
      if (built && built->plan && (is_exhaustive() || fits(*built->plan, options_)))
        add_id(id_of(layout, configs[i].engine));
    }
  }
  // Builds, in parallel, as many plans as the list of candidates has room for.
  void build_compiled(const ConvLayout& layout, const std::vector<EngineConfig>& configs) const {
    std::vector<Engine> engines;
    for (const EngineConfig& config : configs)
      if (config.notes.compiles && ids_.size() + engines.size() < max_candidates_ &&
          rejection_reason(layout.problem, config.notes).empty())
        engines.push_back(config.engine);
    prebuild_plans(layout, engines, stream_);
  }

  const plugin::Options& options_;
  const Stream& stream_;
  size_t max_candidates_;
  std::vector<std::string> ids_;
  std::set<std::string> seen_;
};

}  // namespace

std::string ConvPlan::algorithm() const {
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

ConvPlan plan_conv(const Conv& conv, const std::string& layout, const plugin::Options& options) {
  require_conv_on_device(conv, options.device);
  const Stream& stream = Stream::of(options.device);
  const std::vector<ConvLayout> layouts = conv_layouts(conv, layout, options.pad);
  if (!options.candidate.empty()) return plan_candidate(layouts, options, stream);
  return plan_default(conv, layouts, options, stream);
}

// Plans that compile at run time come last, because each takes tenths of a second to build. Only
// `exhaustive` includes those with a different channel order than the library's default: in 107
// int8 problems, none of them was the fastest.
std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         const plugin::Options& options) {
  plugin::Options default_options = options;
  default_options.candidate.clear();
  const ConvPlan first = plan_conv(conv, layout, default_options);
  const Stream& stream = Stream::of(options.device);
  Candidates candidates(options, stream);
  candidates.add_id(id_of(first.layout, first.execution->engine()));
  const std::vector<ConvLayout> layouts = conv_layouts(conv, layout, options.pad);
  for (const ConvLayout& one : layouts) candidates.add_from_heuristics(one, 0, kPromising, false);
  for (const ConvLayout& one : layouts)
    candidates.add_from_heuristics(one, kPromising, kMaxCandidates, false);
  for (const ConvLayout& one : layouts)
    if (candidates.is_exhaustive() || one.channels_last == first.layout.channels_last)
      candidates.add_from_heuristics(one, 0, kMaxCandidates, true);
  if (candidates.is_exhaustive())
    for (const ConvLayout& one : layouts) candidates.add_remaining(one);
  return candidates.ids();
}

}  // namespace deepbench::cuda::dnn
