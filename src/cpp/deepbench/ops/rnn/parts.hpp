// The parts of a gradient's output, which have sizes and errors of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

struct RnnPart {
  int64_t first, count;
  int64_t terms;  // whose sum an element is, as far as a single unit's gradient may be wrong
};

// dx, dh0 and each gate's dU, as far as the phase has them.
std::vector<RnnPart> gradient_parts(const Rnn& rnn);

// Places of a part that are checked: all, where there are no more than `most`.
std::vector<uint64_t> sample_part(const RnnPart& part, int64_t most);

// "all 20 outputs", "10 of 20 outputs".
std::string checked_share(size_t checked, int64_t outputs);

}  // namespace deepbench
