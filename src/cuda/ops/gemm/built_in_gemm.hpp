// A library of built-in kernels for matrix products, parametrised by its kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "kernels/precompile.hpp"
#include "ops/gemm/operands.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

// Traits defines what differs between these libraries:
//   kName                          the name of the library and of its kernel file
//   Plan                           with name(), a candidate's id; expression(), an instance of the
//                                  kernel; and workspace_bytes()
//   layout(gemm, options)
//   plans(gemm, layout, options)   the default first; throws unsupported
//   Call(layout, plan, operands, stream)   a GemmCall
template <class Traits>
class BuiltInGemm final : public Implementation {
 public:
  LibraryFacts library() override { return plugin::builtin_library_facts(); }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(problem, options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const Planned planned = plan(problem, options);
    const GemmLayout& layout = planned.layout;
    return layout.needed_bytes(plan_copies(layout, options), planned.plan.workspace_bytes());
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    const Gemm gemm = gemm_problem(problem);
    std::vector<std::string> names, expressions;
    for (const Plan& one : Traits::plans(gemm, Traits::layout(gemm, options), options)) {
      names.push_back(one.name());
      expressions.push_back(one.expression());
    }
    if (options.limit > 0) precompile(Traits::kName, expressions, options.device);
    return names;
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    const Planned planned = plan(problem, options);
    Stream& stream = Stream::of(options.device);
    const plugin::CopyPlan copies = plan_copies(planned.layout, options);
    auto operands = std::make_unique<GemmOperands>(
        planned.layout, copies, parse_inputs(options.inputs), options.seed, stream);
    auto call =
        std::make_unique<typename Traits::Call>(planned.layout, planned.plan, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }

 private:
  using Plan = typename Traits::Plan;
  struct Planned {
    GemmLayout layout;
    Plan plan;
  };

  static Planned plan(const plugin::Problem& problem, const plugin::Options& options) {
    const Gemm gemm = gemm_problem(problem);
    Planned planned{Traits::layout(gemm, options), {}};
    for (const Plan& one : Traits::plans(gemm, planned.layout, options)) {
      if (!options.candidate.empty() && options.candidate != one.name()) continue;
      planned.plan = one;
      return planned;
    }
    plugin::reject_candidate(Traits::kName, options.candidate);
  }
};

}  // namespace deepbench::cuda
