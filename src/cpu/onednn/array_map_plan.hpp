// Plans of primitives that read some plain arrays and write another one, parametrised by the
// operation.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/array_operands.hpp"
#include "host_memory.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "topology.hpp"

namespace deepbench::cpu::onednn {

using HostArrays = plugin::ArrayMapOperands<HostMemory>;

// The operands of a primitive: DNNL_ARG_... of each input, and of the output.
struct ArrayArguments {
  std::vector<int> inputs;
  int output;
};

class ArrayMapCall final : public PrimitiveCall {
 public:
  // `description` describes every operand, because all have the same layout.
  ArrayMapCall(const_dnnl_primitive_desc_t primitive, const_dnnl_memory_desc_t description,
               const ArrayArguments& arguments, const HostArrays& operands, deepbench_type type,
               std::string accumulator, int threads)
      : PrimitiveCall(primitive, operands.copies(), threads),
        type_(type),
        accumulator_(std::move(accumulator)) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
      for (size_t which = 0; which < arguments.inputs.size(); ++which)
        set_argument(copy, arguments.inputs[which], description, operands.input(which, copy));
      set_argument(copy, arguments.output, description, operands.result(copy));
    }
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    describe_emulation(type_, sink);
    if (!accumulator_.empty()) sink.text("accumulator", accumulator_);
  }

 private:
  const deepbench_type type_;
  const std::string accumulator_;  // the fact `accumulator`; empty: as the operation assumes
};

// Traits defines what differs between operations:
//   Problem                         the typed problem, with inputs(), elements and type()
//   parse(problem)                  a Problem
//   describe_operand(problem)       the MemoryDesc of every operand
//   make_primitive(problem, operand) the PrimitiveDesc of oneDNN's first choice; throws unsupported
//   arguments(problem)              the ArrayArguments
//   outputs(problem)                elements of the output
//   accumulator(problem)            the fact, or ""
template <class Traits>
class ArrayMapPlan final
    : public plugin::TypedPlan<ArrayMapPlan<Traits>, typename Traits::Problem> {
  using Problem = typename Traits::Problem;
  using Base = plugin::TypedPlan<ArrayMapPlan<Traits>, Problem>;

 public:
  static LibraryFacts library() { return onednn_facts(); }
  static Problem parse(const plugin::Problem& problem) { return Traits::parse(problem); }

  ArrayMapPlan(const Problem& problem, const plugin::Options& options, const std::string& candidate)
      : Base(problem, options),
        threads_(thread_count(options.threads)),
        arrays_{problem.inputs(), problem.type(), Traits::outputs(problem)},
        copies_(plan_copies(arrays_.touched_bytes(), options)) {
    require_precision(problem.precision.precision);
    Api::instance().use_threads(threads_);  // oneDNN's choice depends on it
    operand_ = Traits::describe_operand(problem);
    primitive_ = Traits::make_primitive(problem, operand_.get());
    if (!candidate.empty() && !advance_to_implementation(primitive_.get(), candidate))
      reject_candidate("onednn", candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_primitive(primitive_.get(), memory_bytes(), this->options_.workspace, sink);
  }

  // Names of implementations. A plain loop of oneDNN is listed only if oneDNN prefers it.
  std::vector<std::string> candidates(int64_t) const override {
    Api::instance().use_threads(threads_);
    const PrimitiveDesc list = Traits::make_primitive(this->problem_, operand_.get());
    std::vector<std::string> names = {implementation_name(list.get())};
    for (const std::string& name : alternative_implementations(list.get()))
      if (!is_reference(name)) names.push_back(name);
    return names;
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands = std::make_unique<HostArrays>(
        arrays_, copies_, parse_inputs(this->options_.inputs), this->options_.seed);
    auto call = std::make_unique<ArrayMapCall>(
        primitive_.get(), operand_.get(), Traits::arguments(this->problem_), *operands,
        this->problem_.type(), Traits::accumulator(this->problem_), threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  uint64_t memory_bytes() const {
    return saturating_add(arrays_.template needed_bytes<Copies>(copies_),
                          scratchpad_bytes(primitive_.get()));
  }

  const int threads_;
  const plugin::CallArrays arrays_;
  const CopyPlan copies_;
  MemoryDesc operand_;
  PrimitiveDesc primitive_;
};

// The primitive that `create(&made)` creates, or the reason why there is none.
template <class Create>
PrimitiveDesc primitive_desc_or_unsupported(const std::string& what, const PrecisionInfo& precision,
                                            const Create& create) {
  dnnl_primitive_desc_t made = nullptr;
  require_primitive(create(&made), what, precision);
  return PrimitiveDesc(made);
}

}  // namespace deepbench::cpu::onednn
