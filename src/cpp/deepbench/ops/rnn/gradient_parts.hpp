// The parts of a gradient's output; each part has a typical size and error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

struct GradientPart {
  int64_t first, count;
  int64_t terms;        // number of summed units that can each be wrong, as at ReLU's kink
  int64_t columns = 0;  // columns of a gate's dU, which is a matrix; 0 for a vector
};

// dx, dh0 and the dU of each gate, where the phase computes them.
std::vector<GradientPart> gradient_parts(const Rnn& rnn);

// The indices of a part that are checked: at most `max_count`, or all if there are no more.
std::vector<uint64_t> sample_part(const GradientPart& part, int64_t max_count, uint64_t seed);
// Like sample_part(), except that of a matrix it selects the crossings of some rows with some
// columns, so that a reference computes these elements of a product cheaply.
std::vector<uint64_t> sample_grid(const GradientPart& part, int64_t max_count, uint64_t seed);

// If the result has a narrow type, judges the compared elements from `first` to the last one, which
// belong to the part, together as well. Their bounds are `deviations` standard deviations of a
// correct computation.
void judge_together(const Rnn& rnn, const GradientPart& part, size_t first, double deviations,
                    ExpectedOutput& expected);

// Returns a text such as "all 20 outputs" or "10 of 20 outputs".
std::string coverage_text(size_t checked, int64_t outputs);

}  // namespace deepbench
