// Fills the operands with deepbench_summand, whose sums over all ranks are exact.
#include "ops/all_reduce/operands.hpp"

#include <algorithm>

#include "deepbench/plugin.hpp"
#include "projection.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kFillGrain = 1 << 14;

uint64_t payload(const AllReduce& all_reduce) {
  return saturating_multiply(uint64_t(all_reduce.elements),
                             uint64_t(size_of(all_reduce.precision.c)));
}

// The values of deepbench_summand are integers that each of these types stores exactly.
void store(deepbench_type type, std::byte* out, uint64_t index, float value) {
  if (type == DEEPBENCH_F32)
    reinterpret_cast<float*>(out)[index] = value;
  else if (type == DEEPBENCH_F16)
    reinterpret_cast<uint16_t*>(out)[index] = deepbench_to_half(value);
  else
    reinterpret_cast<uint16_t*>(out)[index] = deepbench_to_bfloat16(value);
}

}  // namespace

uint64_t AllReduceOperands::touched_bytes(const AllReduce& all_reduce) {
  return saturating_multiply(payload(all_reduce), all_reduce.in_place ? 1 : 2);
}

uint64_t AllReduceOperands::needed_bytes(const AllReduce& all_reduce, const CopyPlan& plan) {
  const uint64_t one = Copies::needed_bytes(payload(all_reduce), plan.copies);
  return saturating_add(saturating_add(one, all_reduce.in_place ? payload(all_reduce) : one),
                        plan.flush_bytes);
}

AllReduceOperands::AllReduceOperands(const AllReduce& all_reduce, const plugin::Ranks& ranks,
                                     const CopyPlan& plan, Inputs inputs, uint64_t seed)
    : problem_(all_reduce),
      rank_(ranks.rank()),
      ranks_(ranks.size()),
      input_(payload(all_reduce), plan.copies) {
  fill(input_.at(0), inputs, seed);
  input_.replicate();
  if (all_reduce.in_place) {
    initial_ = Buffer(payload(all_reduce));
    std::copy(input_.at(0), input_.at(0) + payload(all_reduce), initial_.data());
  } else {
    result_ = Copies(payload(all_reduce), plan.copies);
    poison();
  }
}

void AllReduceOperands::fill(std::byte* out, Inputs inputs, uint64_t seed) const {
  host_workers().parallel_for(elements(), kFillGrain, [&](uint64_t begin, uint64_t end, size_t) {
    for (uint64_t i = begin; i < end; ++i) {
      const float value =
          inputs == Inputs::kUniform
              ? deepbench_summand(type(), seed, uint32_t(rank_), uint32_t(ranks_), i)
          : inputs == Inputs::kOnes ? 1.0f
                                    : 0.0f;
      store(type(), out, i, value);
    }
  });
}

void AllReduceOperands::describe(plugin::Sink& sink) const {
  sink.integer("ranks", ranks_);
  if (!problem_.in_place) return;
  sink.integer("in_place", 1);
  sink.integer("restore_every", sums_before_overflow(type(), ranks_));
}

void AllReduceOperands::restore() {
  if (problem_.in_place) input_.overwrite(initial_.data());
}

void AllReduceOperands::poison() {
  if (problem_.in_place) return restore();
  for (uint64_t copy = 0; copy < result_.count(); ++copy)
    cpu::poison(result_.at(copy), type(), elements());
}

deepbench_scan AllReduceOperands::scan(uint64_t copy) const {
  return cpu::scan(result(copy), type(), elements(), problem_.in_place ? initial_.data() : nullptr);
}

void AllReduceOperands::project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
  cpu::project(result(copy), type(), elements(), rows, seed, sums);
}

void AllReduceOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                             double* values) const {
  for (size_t i = 0; i < count; ++i) {
    if (indices[i] >= elements())
      plugin::invalid("read_output: element " + std::to_string(indices[i]) + " of " +
                      std::to_string(elements()));
    values[i] = element(result(copy), type(), indices[i]);
  }
}

}  // namespace deepbench::cpu
