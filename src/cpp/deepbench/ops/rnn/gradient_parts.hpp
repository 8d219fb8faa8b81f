// The parts of a gradient's output, which have sizes and errors of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

struct GradientPart {
  int64_t first, count;
  int64_t terms;        // whose sum an element is, as far as a single unit's gradient may be wrong
  int64_t columns = 0;  // of a gate's dU, a matrix
};

// dx, dh0 and each gate's dU, as far as the phase has them.
std::vector<GradientPart> gradient_parts(const Rnn& rnn);

// Places of a part that are checked: all, where there are no more than `most`.
std::vector<uint64_t> sample_part(const GradientPart& part, int64_t most);
// The same; of a matrix the crossings of some rows with some columns, so that as many elements of a
// product cost little.
std::vector<uint64_t> sample_grid(const GradientPart& part, int64_t most);

// "all 20 outputs", "10 of 20 outputs".
std::string coverage_text(size_t checked, int64_t outputs);

}  // namespace deepbench
