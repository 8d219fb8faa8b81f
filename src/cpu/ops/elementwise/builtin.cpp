// Computes what no library offers: swiglu and rotary embeddings by built-in loops. Each thread
// takes a contiguous part of the output.
#include <memory>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/backend/array_operands.hpp"
#include "deepbench/ops/elementwise/elementwise.hpp"
#include "deepbench/plugin.hpp"
#include "host_memory.hpp"
#include "implementation.hpp"
#include "operand_cache.hpp"
#include "ops/elementwise/loops.hpp"
#include "prepared_kernel.hpp"
#include "routes.hpp"
#include "thread_team.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

using Operands = plugin::ArrayMapOperands<HostMemory>;

class ElementwiseCall final : public LibraryCall {
 public:
  ElementwiseCall(const Elementwise& elementwise, const Operands& operands, int threads)
      : elementwise_(elementwise),
        operands_(operands),
        team_(topology().cpus_for_threads(threads)) {}

  bool has_thread_team() const override { return true; }
  void begin_batch() override { team_.bind_caller(); }
  int run(uint64_t copy) override {
    team_.run([&](size_t member) {
      elementwise_.is_rotary() ? rotate(copy, member) : multiply_gates(copy, member);
    });
    return 0;
  }

 private:
  void multiply_gates(uint64_t copy, size_t member) const {
    const uint64_t elements = elementwise_.elements();
    const uint64_t grain = kLineBytes / uint64_t(size_of(elementwise_.type()));
    swiglu(elementwise_.type(), operands_.input(0, copy), operands_.input(1, copy),
           int64_t(part_begin(elements, grain, member, team_.size())),
           int64_t(part_begin(elements, grain, member + 1, team_.size())), operands_.result(copy));
  }

  void rotate(uint64_t copy, size_t member) const {
    const RotaryArrays arrays = {operands_.input(0, copy), operands_.input(1, copy),
                                 operands_.input(2, copy), operands_.result(copy),
                                 elementwise_.heads(),     elementwise_.half()};
    const auto heads = uint64_t(elementwise_.rows * elementwise_.heads());
    rotate_heads(elementwise_.type(), arrays, int64_t(part_begin(heads, 1, member, team_.size())),
                 int64_t(part_begin(heads, 1, member + 1, team_.size())));
  }

  const Elementwise elementwise_;
  const Operands& operands_;
  ThreadTeam team_;
};

class BuiltinElementwisePlan final : public plugin::TypedPlan<BuiltinElementwisePlan, Elementwise> {
 public:
  static LibraryFacts library() { return plugin::builtin_library_facts(); }
  static Elementwise parse(const plugin::Problem& problem) { return elementwise_problem(problem); }

  BuiltinElementwisePlan(const Elementwise& elementwise, const plugin::Options& options,
                         const std::string& candidate)
      : TypedPlan(elementwise, options),
        threads_(thread_count(options.threads)),
        arrays_{elementwise.inputs(), elementwise.type(), elementwise.elements()},
        copies_(plan_copies(arrays_.touched_bytes(), options)) {
    if (elementwise.kind == ElementwiseKind::kAdd || elementwise.kind == ElementwiseKind::kMultiply)
      plugin::unsupported("the built-in loops compute kind=swiglu and kind=rotary alone");
    if (elementwise.type() == DEEPBENCH_F16)
      plugin::unsupported("the built-in loops do not compute elementwise work in half");
    if (!candidate.empty()) require_candidate(plugin::kBuiltinLibrary, {kLoop}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(plugin::built_in_library_with_version(plugin::kBuiltinLibrary), kLoop,
                  memory_bytes(), 0, sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kLoop}; }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    auto operands =
        std::make_unique<Operands>(arrays_, copies_, parse_inputs(options_.inputs), options_.seed);
    auto call = std::make_unique<ElementwiseCall>(problem_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  uint64_t memory_bytes() const { return arrays_.needed_bytes<Copies>(copies_); }

  const int threads_;
  const plugin::CallArrays arrays_;
  const CopyPlan copies_;
};

}  // namespace

Implementation& builtin_elementwise() { return implementation_of_plan<BuiltinElementwisePlan>(); }

}  // namespace deepbench::cpu
