// Filling by the generator's summands; the rest as for any operand.
#include "ops/all_reduce/operands.hpp"

#include <algorithm>

#include "deepbench/plugin.hpp"
#include "projection.hpp"
#include "workers.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kFillGrain = 1 << 14;

uint64_t payload(const AllReduce& sum) {
  return saturating_multiply(uint64_t(sum.elements), uint64_t(size_of(sum.precision.c)));
}

// Integers of deepbench_summand's size are exact in each of these.
void store(deepbench_type type, std::byte* out, uint64_t index, float value) {
  if (type == DEEPBENCH_F32)
    reinterpret_cast<float*>(out)[index] = value;
  else if (type == DEEPBENCH_F16)
    reinterpret_cast<uint16_t*>(out)[index] = deepbench_to_half(value);
  else
    reinterpret_cast<uint16_t*>(out)[index] = deepbench_to_bfloat16(value);
}

}  // namespace

uint64_t AllReduceOperands::touched_bytes(const AllReduce& sum) {
  return saturating_multiply(payload(sum), sum.in_place ? 1 : 2);
}

uint64_t AllReduceOperands::needed_bytes(const AllReduce& sum, const CopyPlan& plan) {
  const uint64_t one = Copies::needed(payload(sum), plan.copies);
  return saturating_add(saturating_add(one, sum.in_place ? payload(sum) : one), plan.flush_bytes);
}

AllReduceOperands::AllReduceOperands(const AllReduce& sum, const plugin::Ranks& ranks,
                                     const CopyPlan& plan, Inputs inputs, uint64_t seed)
    : sum_(sum), rank_(ranks.rank()), ranks_(ranks.size()), mine_(payload(sum), plan.copies) {
  fill(mine_.at(0), inputs, seed);
  mine_.replicate();
  if (sum.in_place) {
    first_ = Buffer(payload(sum));
    std::copy(mine_.at(0), mine_.at(0) + payload(sum), first_.data());
  } else {
    result_ = Copies(payload(sum), plan.copies);
    poison();
  }
}

void AllReduceOperands::fill(std::byte* out, Inputs inputs, uint64_t seed) const {
  host_workers().for_parts(elements(), kFillGrain, [&](uint64_t begin, uint64_t end, size_t) {
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
  if (!sum_.in_place) return;
  sink.integer("in_place", 1);
  sink.integer("restore_every", sums_in_range(type(), ranks_));
}

void AllReduceOperands::restore() {
  if (sum_.in_place) mine_.overwrite(first_.data());
}

void AllReduceOperands::poison() {
  if (sum_.in_place) return restore();
  for (uint64_t copy = 0; copy < result_.count(); ++copy)
    cpu::poison(result_.at(copy), type(), elements());
}

deepbench_scan AllReduceOperands::scan(uint64_t copy) const {
  return cpu::scan(result(copy), type(), elements(), sum_.in_place ? first_.data() : nullptr);
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
