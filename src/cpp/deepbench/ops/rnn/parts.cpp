// Where the parts of a gradient's output lie.
#include "deepbench/ops/rnn/parts.hpp"

#include "deepbench/ops/rnn/sampling.hpp"

namespace deepbench {

std::vector<RnnPart> gradient_parts(const Rnn& rnn) {
  std::vector<RnnPart> parts;
  if (rnn.has_data_gradient()) {
    parts.push_back({0, rnn.dx_elements(), rnn.hidden});
    parts.push_back({rnn.dx_elements(), rnn.dh0_elements(), rnn.hidden});
  }
  if (!rnn.has_weight_gradient()) return parts;
  const int64_t first = rnn.dx_elements() + rnn.dh0_elements(), square = rnn.hidden * rnn.hidden;
  for (int64_t gate = 0; gate < rnn.gates(); ++gate)
    parts.push_back({first + gate * square, square, rnn.timesteps * rnn.batch});
  return parts;
}

std::vector<uint64_t> sample_part(const RnnPart& part, int64_t most) {
  std::vector<uint64_t> indices;
  for (const int64_t i : stratified(part.count, most, uint64_t(part.first)))
    indices.push_back(uint64_t(part.first + i));
  return indices;
}

std::string checked_share(size_t checked, int64_t outputs) {
  const std::string all = std::to_string(outputs) + " outputs";
  return int64_t(checked) == outputs ? "all " + all : std::to_string(checked) + " of " + all;
}

}  // namespace deepbench
