// The summands are integers whose sums are exact in every order, so every output is known exactly.
#include "deepbench/ops/all_reduce/reference.hpp"

#include <algorithm>

#include "deepbench/core/parallel.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr int64_t kMinShare = 1 << 12;
constexpr uint64_t kRestored = 1 << 10;   // summands that are compared after they were restored
constexpr uint32_t kRestoredStream = 31;  // of their places

double summand(const AllReduce& sum, const std::string& inputs, uint64_t seed, uint32_t rank,
               uint32_t ranks, uint64_t index) {
  if (inputs != "uniform") return inputs == "ones" ? 1 : 0;
  return double(deepbench_summand(sum.precision.c, seed, rank, ranks, index));
}

// Some of the summands that calls in place replace, and the sums that replace them.
void add_summands_in_place(const AllReduce& sum, const KernelConditions& conditions,
                           ExpectedOutput& expected) {
  const auto ranks = uint32_t(conditions.facts.integer("ranks", 1));
  const uint64_t elements = uint64_t(sum.elements), first_rank = uint64_t(conditions.rank);
  expected.resize(size_t(std::min(kRestored, expected.outputs)));
  expected.initial_values.resize(expected.indices.size());
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    const uint64_t place = deepbench_bits(conditions.verification_seed, kRestoredStream, i);
    const uint64_t index = expected.indices[i] = place % expected.outputs;
    expected.exact_values(index, 1, &expected.values[i]);
    expected.initial_values[i] =
        summand(sum, conditions.inputs, conditions.seed, uint32_t(first_rank + index / elements),
                ranks, index % elements);
  }
}

}  // namespace

ExpectedOutput expected_all_reduce_output(const AllReduce& sum,
                                          const KernelConditions& conditions) {
  const auto ranks = uint32_t(conditions.facts.integer("ranks", 1));
  const auto local = uint64_t(conditions.facts.integer("local_ranks", 1));
  const auto elements = uint64_t(sum.elements);
  ExpectedOutput expected;
  expected.outputs = elements * local;
  expected.coverage = "every output of every rank, exactly";
  expected.exact_values = [sum, ranks, elements, seed = conditions.seed,
                           inputs = conditions.inputs](uint64_t first, uint64_t count,
                                                       double* values) {
    parallel_for(int64_t(count), kMinShare, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t index = (first + uint64_t(i)) % elements;
        double total = 0;
        for (uint32_t rank = 0; rank < ranks; ++rank)
          total += summand(sum, inputs, seed, rank, ranks, index);
        values[i] = total;
      }
    });
  };
  if (sum.in_place) add_summands_in_place(sum, conditions, expected);
  return expected;
}

}  // namespace deepbench
