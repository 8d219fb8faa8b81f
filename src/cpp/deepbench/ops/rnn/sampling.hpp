// Which steps, sequences and units of a forward pass are checked.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

// Successive steps of one sequence.
struct RnnSegment {
  int64_t sequence, begin, end;
  int64_t checked_from;  // the steps before it only find lstm's c
  std::vector<int64_t> units;
};

// Everything, where that is little; otherwise as many runs as cost a bounded number of
// multiplications, each with units of its own: first and last steps, first and last sequences, and
// random ones.
std::vector<RnnSegment> choose_segments(const Rnn& rnn);
bool checks_all(const Rnn& rnn);

// One random index of each of `count` equal parts of [0, size), the first and the last index among
// them; every index where there are no more than `count`.
std::vector<int64_t> stratified_sample(int64_t size, int64_t count, uint64_t salt);

}  // namespace deepbench
