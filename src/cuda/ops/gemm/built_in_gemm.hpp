// A library of built-in kernels for matrix products, parametrized by its kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "kernels/precompile.hpp"
#include "ops/gemm/gemm_call.hpp"
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
class BuiltInGemmPlan final : public plugin::TypedPlan<BuiltInGemmPlan<Traits>, Gemm> {
  using Base = plugin::TypedPlan<BuiltInGemmPlan<Traits>, Gemm>;
  using Plan = typename Traits::Plan;

 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Gemm parse(const plugin::Problem& problem) { return gemm_problem(problem); }

  BuiltInGemmPlan(const Gemm& gemm, const plugin::Options& options, const std::string& candidate)
      : Base(gemm, options),
        layout_(Traits::layout(gemm, options)),
        plans_(Traits::plans(gemm, layout_, options)),
        plan_(plan_named(candidate)),
        copies_(plan_copies(layout_, options)) {}

  void describe(plugin::Sink& sink) const override {
    const uint64_t workspace = plan_.workspace_bytes();
    describe_plan(plugin::built_in_library_with_version(Traits::kName), plan_.name(),
                  GemmOperands::needed_bytes(layout_, copies_, workspace), workspace, sink);
  }

  std::vector<std::string> candidates(int64_t limit) const override {
    std::vector<std::string> names, expressions;
    for (const Plan& one : plans_) {
      names.push_back(one.name());
      expressions.push_back(one.expression());
    }
    compiling_ns_ = limit > 0 ? precompile(Traits::kName, expressions, this->options_.device) : 0;
    return names;
  }
  double listing_compiling_ns() const override { return compiling_ns_; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    return prepare_gemm(
        layout_, copies_, this->options_, [&](const GemmOperands& operands, Stream& stream) {
          return std::make_unique<typename Traits::Call>(layout_, plan_, operands, stream);
        });
  }

 private:
  const Plan& plan_named(const std::string& candidate) const {
    for (const Plan& one : plans_)
      if (candidate.empty() || candidate == one.name()) return one;
    plugin::reject_candidate(Traits::kName, candidate);
  }

  const GemmLayout layout_;
  const std::vector<Plan> plans_;
  const Plan plan_;
  const plugin::CopyPlan copies_;
  mutable double compiling_ns_ = 0;  // in the last call of candidates()
};

}  // namespace deepbench::cuda
