// Selects the steps, sequences and units of a forward pass that are checked.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

// Consecutive steps of one sequence.
struct RnnSegment {
  int64_t sequence, begin, end;
  int64_t checked_from;  // earlier steps only compute lstm's c
  std::vector<int64_t> units;
};

// The whole problem if it is small; otherwise a few steps of every unit, and as many segments as a
// bounded number of multiplications allows. Each segment has different units. They cover the first
// and last steps, the first and last sequences, and random ones.
std::vector<RnnSegment> choose_segments(const Rnn& rnn, uint64_t seed);
bool checks_all_outputs(const Rnn& rnn);

}  // namespace deepbench
