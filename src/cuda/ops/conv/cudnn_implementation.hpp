// The part that convolutions through both of cuDNN's APIs have in common: everything except the
// plan and the call.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "implementation.hpp"
#include "ops/conv/operands.hpp"

namespace deepbench::cuda {

// Interface has plan(conv, layout, options), which throws if there is no plan, and candidates()
// with the same parameters. A plan has a layout and workspace_bytes(). Interface::Call is
// constructed from plan, operands and stream.
template <class Interface>
class CudnnConvolution final : public Implementation {
 public:
  LibraryFacts library() override { return facts_of<nvidia::Cudnn>(); }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(problem, options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const auto planned = plan(problem, options);
    return planned.layout.needed_bytes(plan_copies(planned.layout.touched_bytes(), options),
                                       planned.workspace_bytes());
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    return Interface::candidates(conv_problem(problem), problem.text("layout"), options);
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    auto planned = plan(problem, options);
    Stream& stream = Stream::of(options.device);
    const plugin::CopyPlan copies = plan_copies(planned.layout.touched_bytes(), options);
    auto operands = std::make_unique<ConvOperands>(
        planned.layout, copies, parse_inputs(options.inputs), options.seed, stream);
    auto call = std::make_unique<typename Interface::Call>(std::move(planned), *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }

 private:
  static auto plan(const plugin::Problem& problem, const plugin::Options& options) {
    return Interface::plan(conv_problem(problem), problem.text("layout"), options);
  }
};

}  // namespace deepbench::cuda
