// axpy in float by one loop on the calling thread.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/backend/output_checks.hpp"
#include "deepbench/ops/axpy/axpy.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "operand.hpp"
#include "operand_cache.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kLibrary = "loop";

// Holds the operands x and y. The result overwrites y.
class AxpyOperands final : public Operands {
 public:
  AxpyOperands(const Axpy& axpy, const CopyPlan& plan, Inputs inputs, uint64_t seed)
      : axpy_(axpy), x_(bytes(), plan.copies), y_(bytes(), plan.copies), initial_y_(bytes(), 1) {
    fill(x_.at(0), axpy.type(), outputs(), inputs, seed, Axpy::kStreamX);
    x_.replicate();
    fill(initial_y_.at(0), axpy.type(), outputs(), inputs, seed, Axpy::kStreamY);
    restore();
  }

  static uint64_t needed_bytes(const Axpy& axpy, const CopyPlan& plan) {
    const auto bytes = uint64_t(axpy.vector_bytes());
    return 2 * Copies::needed_bytes(bytes, plan.copies) + Copies::needed_bytes(bytes, 1) +
           plan.flush_bytes;
  }

  int64_t n() const { return axpy_.n; }
  const float* x(uint64_t copy) const { return reinterpret_cast<const float*>(x_.at(copy)); }
  float* y(uint64_t copy) const { return reinterpret_cast<float*>(y_.at(copy)); }

  void describe(plugin::Sink& sink) const override { sink.integer("in_place", 1); }
  void restore() override { y_.overwrite(initial_y_.at(0)); }
  void poison() override { restore(); }
  deepbench_scan scan(uint64_t copy) const override {
    return cpu::scan(y_.at(copy), axpy_.type(), outputs(), initial_y_.at(0));
  }
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override {
    cpu::project(y_.at(copy), axpy_.type(), outputs(), rows, seed, sums);
  }
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override {
    for (size_t i = 0; i < count; ++i) {
      plugin::require_element(indices[i], outputs());
      values[i] = element(y_.at(copy), axpy_.type(), indices[i]);
    }
  }

 private:
  uint64_t outputs() const { return uint64_t(axpy_.n); }
  uint64_t bytes() const { return uint64_t(axpy_.vector_bytes()); }

  const Axpy axpy_;
  Copies x_, y_, initial_y_;
};

class AxpyCall final : public LibraryCall {
 public:
  explicit AxpyCall(const AxpyOperands& operands) : operands_(operands) {}

  int run(uint64_t copy) override {
    const float* const x = operands_.x(copy);
    float* const y = operands_.y(copy);
    for (int64_t i = 0; i < operands_.n(); ++i) y[i] += float(Axpy::kA) * x[i];
    return 0;
  }

 private:
  const AxpyOperands& operands_;
};

class LoopAxpyPlan final : public plugin::TypedPlan<LoopAxpyPlan, Axpy> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Axpy parse(const plugin::Problem& problem) { return axpy_problem(problem); }

  LoopAxpyPlan(const Axpy& axpy, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(axpy, options), copies_(plan_copies(2 * uint64_t(axpy.vector_bytes()), options)) {
    if (axpy.precision.name != "float")
      plugin::unsupported("the loop computes axpy in precision=float only");
    if (!candidate.empty()) require_candidate(kLibrary, {kLibrary}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(plugin::built_in_library_with_version(kLibrary), kLibrary, memory_bytes(), 0,
                  sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLibrary}; }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    auto operands = std::make_unique<AxpyOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed);
    auto call = std::make_unique<AxpyCall>(*operands);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_, 1);
  }

 private:
  uint64_t memory_bytes() const { return AxpyOperands::needed_bytes(problem_, copies_); }

  const CopyPlan copies_;
};

}  // namespace

Implementation& loop_axpy() { return implementation_of_plan<LoopAxpyPlan>(); }

}  // namespace deepbench::cpu
