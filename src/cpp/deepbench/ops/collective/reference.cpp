// Copies are compared bit by bit. The summands of sums are integers whose sums are exact in any
// order, so that every output is known exactly.
#include "deepbench/ops/collective/reference.hpp"

#include <algorithm>

#include "deepbench/core/parallel.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr int64_t kMinShare = 1 << 12;
constexpr uint64_t kRestored = 1 << 10;   // summands that are compared after a restore
constexpr uint32_t kRestoredStream = 31;  // random stream of their places

// The operands of all ranks, and the results of those ranks whose outputs are compared.
class RankValues {
 public:
  RankValues(const Collective& collective, const KernelConditions& conditions)
      : collective_(collective),
        inputs_(conditions.inputs),
        seed_(conditions.seed),
        first_rank_(uint32_t(conditions.rank)),
        ranks_(uint32_t(conditions.facts.integer("ranks", 1))),
        result_elements_(collective.result_elements(int(ranks_))) {}

  // The element of which output `index` is a copy, or the rank's own summand.
  double source(uint64_t index) const {
    const SourceElement source = source_of(index);
    return operand(source.rank, source.index);
  }
  double result(uint64_t index) const {
    const SourceElement own = source_of(index);
    if (!collective_.is_sum()) return operand(own.rank, own.index);
    double total = 0;
    for (uint32_t rank = 0; rank < ranks_; ++rank) total += operand(rank, own.index);
    return total;
  }

 private:
  SourceElement source_of(uint64_t index) const {
    return collective_.source(first_rank_ + uint32_t(index / result_elements_), ranks_,
                              index % result_elements_);
  }
  double operand(uint32_t rank, uint64_t index) const {
    if (inputs_ != "uniform") return inputs_ == "ones" ? 1 : 0;
    const deepbench_type type = collective_.precision.c;
    return collective_.is_sum() ? double(deepbench_summand(type, seed_, rank, ranks_, index))
                                : deepbench_element(type, seed_, rank, index);
  }

  const Collective collective_;
  const std::string inputs_;
  const uint64_t seed_;
  const uint32_t first_rank_, ranks_;
  const uint64_t result_elements_;
};

// Adds some of the summands that calls in place replace, and the sums that replace them.
void add_summands_in_place(const RankValues& values, uint64_t verification_seed,
                           ExpectedOutput& expected) {
  expected.resize(size_t(std::min(kRestored, expected.outputs)));
  expected.initial_values.resize(expected.indices.size());
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    const uint64_t place = deepbench_bits(verification_seed, kRestoredStream, i);
    const uint64_t index = expected.indices[i] = place % expected.outputs;
    expected.values[i] = values.result(index);
    expected.initial_values[i] = values.source(index);
  }
}

}  // namespace

ExpectedOutput expected_collective_output(const Collective& collective,
                                          const KernelConditions& conditions) {
  const RankValues values(collective, conditions);
  ExpectedOutput expected;
  expected.outputs =
      collective.outputs(conditions.rank, int(conditions.facts.integer("local_ranks", 1)),
                         int(conditions.facts.integer("ranks", 1)));
  expected.coverage = "every output of every rank, exactly";
  expected.exact_values = [values](uint64_t first, uint64_t count, double* results) {
    parallel_for(int64_t(count), kMinShare, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) results[i] = values.result(first + uint64_t(i));
    });
  };
  if (collective.in_place) add_summands_in_place(values, conditions.verification_seed, expected);
  return expected;
}

}  // namespace deepbench
