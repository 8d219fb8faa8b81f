// The summands are integers whose sums are exact in every order, so every output is known exactly.
#include "deepbench/ops/all_reduce/reference.hpp"

#include "deepbench/core/parallel.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr int64_t kMinShare = 1 << 12;

double summand(const AllReduce& sum, const std::string& inputs, uint64_t seed, uint32_t rank,
               uint32_t ranks, uint64_t index) {
  if (inputs != "uniform") return inputs == "ones" ? 1 : 0;
  return double(deepbench_summand(sum.precision.c, seed, rank, ranks, index));
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
  return expected;
}

}  // namespace deepbench
