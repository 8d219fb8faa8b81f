// Locates the parts of a gradient's output and samples them.
#include "deepbench/ops/rnn/gradient_parts.hpp"

#include <algorithm>
#include <cmath>

#include "deepbench/ops/rnn/sampling.hpp"

namespace deepbench {

std::vector<GradientPart> gradient_parts(const Rnn& rnn) {
  std::vector<GradientPart> parts;
  if (rnn.has_data_gradient()) {
    parts.push_back({0, rnn.dx_elements(), rnn.hidden});
    parts.push_back({rnn.dx_elements(), rnn.dh0_elements(), rnn.hidden});
  }
  if (!rnn.has_weight_gradient()) return parts;
  const int64_t first = rnn.dx_elements() + rnn.dh0_elements(), square = rnn.hidden * rnn.hidden;
  for (int64_t gate = 0; gate < rnn.gates(); ++gate)
    parts.push_back({first + gate * square, square, rnn.timesteps * rnn.batch, rnn.hidden});
  return parts;
}

std::vector<uint64_t> sample_part(const GradientPart& part, int64_t max_count, uint64_t seed) {
  std::vector<uint64_t> indices;
  for (const int64_t i : stratified_sample(part.count, max_count, seed, uint64_t(part.first)))
    indices.push_back(uint64_t(part.first + i));
  return indices;
}

std::vector<uint64_t> sample_grid(const GradientPart& part, int64_t max_count, uint64_t seed) {
  if (part.columns == 0 || part.count <= max_count) return sample_part(part, max_count, seed);
  const int64_t rows = part.count / part.columns;
  const auto side = int64_t(std::sqrt(double(max_count)));
  const std::vector<int64_t> some_columns =
      stratified_sample(part.columns, std::max(side, max_count / rows), seed, uint64_t(part.first));
  std::vector<uint64_t> indices;
  for (const int64_t row : stratified_sample(rows, max_count / int64_t(some_columns.size()), seed,
                                             uint64_t(part.first) + 1))
    for (const int64_t column : some_columns)
      indices.push_back(uint64_t(part.first + row * part.columns + column));
  return indices;
}

std::string coverage_text(size_t checked, int64_t outputs) {
  const std::string all = std::to_string(outputs) + " outputs";
  return int64_t(checked) == outputs ? "all " + all : std::to_string(checked) + " of " + all;
}

}  // namespace deepbench
