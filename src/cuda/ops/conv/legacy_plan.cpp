// Chooses among the algorithms of cuDNN's legacy API.
#include "ops/conv/legacy_plan.hpp"

#include <algorithm>
#include <chrono>

#include "cudnn/handle.hpp"
#include "memo_cache.hpp"
#include "ops/conv/conv_checks.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda::legacy {
namespace {

constexpr size_t kMaxCachedQueries = 64;

struct Query {
  std::shared_ptr<const Convolution> convolution;
  std::vector<Algorithm> algorithms;
  double query_ns = 0;
  std::string refusal;
};

std::shared_ptr<const Query> query(const ConvLayout& layout, const Stream& stream) {
  static auto* queries = new MemoCache<std::shared_ptr<const Query>, kMaxCachedQueries>();
  return queries->get(layout.key(stream.device()), [&] {
    const nvidia::cudnnHandle_t handle = cudnn_handle(stream);
    const auto begin = std::chrono::steady_clock::now();
    auto made = std::make_shared<Query>();
    try {
      made->convolution = std::make_shared<Convolution>(layout, handle);
      made->algorithms = made->convolution->algorithms();
    } catch (const plugin::Error& error) {
      if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
      made->refusal = error.what();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    made->query_ns = took.count();
    return made;
  });
}

bool uses_winograd(ConvPhase phase, int number) {
  return name_of(phase, number).find("WINOGRAD") != std::string::npos;
}

// The reason why an algorithm cannot be used, or an empty string. ALGO_0 and ALGO_3 of the
// gradients add to the output atomically, in the output's type.
std::string rejection_reason(const Conv& conv, const Algorithm& algorithm,
                             const plugin::Options& options) {
  const bool narrow_output = size_of(conv.precision.c) < 4;
  if (conv.phase != ConvPhase::kForward && algorithm.nondeterministic && narrow_output)
    return "adds parts of sums in less than 32 bits";
  if (uses_winograd(conv.phase, algorithm.number) && conv.precision.precision == Precision::kInt8)
    return "is not exact";
  if (uses_winograd(conv.phase, algorithm.number) && std::max({conv.r, conv.s, conv.t}) > 3)
    return "loses half the digits for filters larger than 3 x 3";
  if (algorithm.workspace_bytes > uint64_t(std::max<int64_t>(0, options.workspace)))
    return "needs a workspace of " + std::to_string(algorithm.workspace_bytes) +
           " bytes, more than the limit";
  return "";
}

// Returns all usable plans, ordered by layout and then as the library orders them, and appends the
// reasons why the others are unusable.
std::vector<ConvPlan> allowed_plans(const Conv& conv, const std::string& layout,
                                    const plugin::Options& options, std::string* reasons) {
  require_conv_on_device(conv, options.device);
  const Stream& stream = Stream::of(options.device);
  std::vector<ConvPlan> plans;
  for (const ConvLayout& one : conv_layouts(conv, layout, options.pad)) {
    const auto known = query(one, stream);
    if (!known->refusal.empty()) *reasons += "; " + known->refusal;
    for (const Algorithm& algorithm : known->algorithms) {
      const std::string reason = rejection_reason(conv, algorithm, options);
      if (reason.empty())
        plans.push_back({one, known->convolution, algorithm, known->query_ns});
      else
        *reasons += "; " + name_of(conv.phase, algorithm.number) + " " + reason;
    }
  }
  return plans;
}

}  // namespace

bool ConvPlan::is_winograd() const {
  return uses_winograd(layout.executed.phase, algorithm.number);
}

std::string ConvPlan::id() const {
  return layout.name + ":" + name_of(layout.executed.phase, algorithm.number);
}

ConvPlan plan_conv(const Conv& conv, const std::string& layout, const plugin::Options& options) {
  std::string reasons;
  for (ConvPlan& plan : allowed_plans(conv, layout, options, &reasons))
    if (options.candidate.empty() || options.candidate == plan.id()) return std::move(plan);
  if (!options.candidate.empty()) reject_candidate("cudnn_legacy", options.candidate);
  plugin::unsupported("cuDNN " + report<nvidia::Cudnn>().version +
                      "'s legacy API has no algorithm for " + std::string(conv.precision.name) +
                      " of these dimensions on this device" + reasons);
}

std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         const plugin::Options& options) {
  std::string reasons;
  std::vector<std::string> ids;
  for (const ConvPlan& plan : allowed_plans(conv, layout, options, &reasons))
    ids.push_back(plan.id());
  if (options.limit > 0) ids.resize(std::min(ids.size(), size_t(options.limit)));
  return ids;
}

}  // namespace deepbench::cuda::legacy
