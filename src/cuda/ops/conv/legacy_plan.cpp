// Chooses among the algorithms of cuDNN's legacy API.
#include "ops/conv/legacy_plan.hpp"

#include <algorithm>

#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "ops/conv/conv_checks.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda::legacy {
namespace {

// The library's answer about one layout.
struct Query {
  std::shared_ptr<const Convolution> convolution;
  std::vector<Algorithm> algorithms;
  double query_ns = 0;
  std::string refusal;
};

Query query_algorithms(const ConvLayout& layout, const Stream& stream) {
  // Creates the handle outside the planning time.
  const nvidia::cudnnHandle_t handle = cudnn_handle(stream);
  const plugin::HostTimer timer;
  Query made;
  try {
    made.convolution = std::make_shared<Convolution>(layout, handle);
    made.algorithms = made.convolution->algorithms();
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    made.refusal = error.what();
  }
  made.query_ns = timer.elapsed_ns();
  return made;
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

}  // namespace

bool ConvPlan::is_winograd() const {
  return uses_winograd(layout.executed.phase, algorithm.number);
}

bool ConvPlan::is_fft() const {
  return name_of(layout.executed.phase, algorithm.number).find("FFT") != std::string::npos;
}

std::string ConvPlan::id() const {
  return layout.name + ":" + name_of(layout.executed.phase, algorithm.number);
}

std::string ConvPlan::algorithm_text() const {
  return layout.name + ": " + name_of(layout.executed.phase, algorithm.number) +
         (algorithm.nondeterministic ? " (nondeterministic)" : "");
}

ConvQueries::ConvQueries(const Conv& conv, const std::string& layout,
                         const plugin::Options& options)
    : conv_(conv), options_(options) {
  require_conv_on_device(conv, options.device);
  const Stream& stream = Stream::of(options.device);
  for (const ConvLayout& one : conv_layouts(conv, layout, options.pad))
    add_allowed_plans(one, stream);
}

// Keeps the library's order, and the reasons why the other algorithms are not allowed.
void ConvQueries::add_allowed_plans(const ConvLayout& layout, const Stream& stream) {
  const Query answer = query_algorithms(layout, stream);
  if (!answer.refusal.empty()) reasons_ += "; " + answer.refusal;
  for (const Algorithm& algorithm : answer.algorithms) {
    const std::string reason = rejection_reason(conv_, algorithm, options_);
    if (reason.empty())
      plans_.push_back({layout, answer.convolution, algorithm, answer.query_ns});
    else
      reasons_ += "; " + name_of(conv_.phase, algorithm.number) + " " + reason;
  }
}

ConvPlan ConvQueries::plan(const std::string& candidate) const {
  for (const ConvPlan& plan : plans_)
    if (candidate.empty() || candidate == plan.id()) return plan;
  if (!candidate.empty()) reject_candidate("cudnn_legacy", candidate);
  plugin::unsupported("cuDNN " + report<nvidia::Cudnn>().version +
                      "'s legacy API has no algorithm for " + std::string(conv_.precision.name) +
                      " of these dimensions on this device" + reasons_);
}

std::vector<std::string> ConvQueries::candidates(int64_t limit) const {
  std::vector<std::string> ids;
  for (const ConvPlan& plan : plans_) ids.push_back(plan.id());
  if (limit > 0) ids.resize(std::min(ids.size(), size_t(limit)));
  return ids;
}

}  // namespace deepbench::cuda::legacy
