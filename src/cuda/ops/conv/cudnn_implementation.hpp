// The plans of convolutions through both of cuDNN's APIs: everything except the library's own plan
// and the call.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/ops/conv/transform_factor.hpp"
#include "implementation.hpp"
#include "ops/conv/operands.hpp"

namespace deepbench::cuda {

struct ConvProblem {
  Conv conv;
  std::string layout;  // layout of the activations, in the problem's terms
};

// The arithmetic of an algorithm, as the algorithm states it.
struct ConvArithmetic {
  bool is_winograd = false, is_fft = false;
  bool in_float = false;  // without the narrower products that a precision permits
};

inline void describe_arithmetic(const Conv& conv, const ConvArithmetic& how, plugin::Sink& sink) {
  const auto [is_winograd, is_fft, in_float] = how;
  if (conv.precision.precision == Precision::kTf32 && in_float) sink.text("arithmetic", "float");
  if (is_winograd) sink.text("accumulator", "winograd");
  if (is_winograd)
    sink.real("transform_factor", winograd_factor(conv));
  else if (is_fft)
    sink.real("transform_factor", fft_factor(conv));
}

// Interface defines what differs:
//   Queries(conv, layout, options)   the library's answers about the problem, which its plans share
//     plan(candidate)                throws if there is no plan
//     candidates(limit)
//   Call(plan, operands, stream)
//   kName                            in rows
// A plan has a layout, algorithm(), workspace_bytes() and planning_ns.
template <class Interface>
class CudnnConvolutionPlan final
    : public plugin::TypedPlan<CudnnConvolutionPlan<Interface>, ConvProblem> {
  using Base = plugin::TypedPlan<CudnnConvolutionPlan<Interface>, ConvProblem>;
  using Queries = typename Interface::Queries;

 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudnn>(); }
  static ConvProblem parse(const plugin::Problem& problem) {
    return {conv_problem(problem), problem.text("layout")};
  }

  CudnnConvolutionPlan(const ConvProblem& problem, const plugin::Options& options,
                       const std::string& candidate, std::shared_ptr<Queries> queries = nullptr)
      : Base(problem, options),
        queries_(queries ? std::move(queries)
                         : std::make_shared<Queries>(problem.conv, problem.layout, options)),
        plan_(queries_->plan(candidate)),
        copies_(plan_copies(plan_.layout.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan(
        Interface::kName + (" " + report<nvidia::Cudnn>().version), plan_.algorithm_text(),
        plan_.layout.needed_bytes(copies_, plan_.workspace_bytes()), plan_.workspace_bytes(), sink);
    sink.real("planning_ns", plan_.planning_ns);
  }

  std::vector<std::string> candidates(int64_t limit) const override {
    return queries_->candidates(limit);
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<CudnnConvolutionPlan>(this->problem_, this->options_, id, queries_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    const plugin::Options& options = this->options_;
    Stream& stream = Stream::of(options.device);
    auto operands = std::make_unique<ConvOperands>(
        plan_.layout, copies_, parse_inputs(options.inputs), options.seed, stream);
    auto call = std::make_unique<typename Interface::Call>(plan_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  const std::shared_ptr<Queries> queries_;
  const typename Interface::Plan plan_;
  const plugin::CopyPlan copies_;
};

}  // namespace deepbench::cuda
