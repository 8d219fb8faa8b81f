// Chooses the compared places, and projects the output block by block.
//
// A projection adds up the rounding errors of its outputs, each with a random weight, and is off by
// the bound of core/projection_bound.hpp: the typical bound is the root mean square of the outputs'
// own bounds.
#include "deepbench/core/blockwise_reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/projection_bound.hpp"
#include "deepbench/core/stratified_sample.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

// Compared places, evenly spread; smaller outputs are compared in full.
constexpr int64_t kComparedPlaces = 1 << 16;
constexpr uint64_t kMinProjections = 256, kMaxProjections = uint64_t{1} << 14;
constexpr uint64_t kWeightsOfRow = 4;
constexpr uint32_t kPlaceStream = 32;  // random stream of the places

uint64_t largest_divisor(uint64_t number, uint64_t most) {
  uint64_t divisor = std::min(number, most);
  while (number % divisor != 0) --divisor;
  return divisor;
}

class Blocks {
 public:
  explicit Blocks(const BlockwiseOutput& output) : output_(output) {}

  uint64_t count() const { return (output_.outputs + output_.block - 1) / output_.block; }
  uint64_t first(uint64_t block) const { return block * output_.block; }
  uint64_t size(uint64_t block) const {
    return std::min(output_.block, output_.outputs - first(block));
  }
  void compute(uint64_t block, double* values, double* bounds) const {
    output_.compute(first(block), size(block), values, bounds);
  }

 private:
  const BlockwiseOutput& output_;
};

// Adds the values of the places from number `next` on that lie in the block; returns the number of
// the first place after it.
size_t set_elements(const Blocks& blocks, uint64_t block, const double* values,
                    const double* bounds, size_t next, ExpectedElements& compared) {
  const uint64_t first = blocks.first(block), end = first + blocks.size(block);
  for (; next < compared.indices.size() && compared.indices[next] < end; ++next) {
    compared.values[next] = values[compared.indices[next] - first];
    compared.bounds[next] = bounds[compared.indices[next] - first];
  }
  return next;
}

struct Projections {
  std::vector<double> sums, squared_bounds, magnitudes;

  explicit Projections(uint64_t rows) : sums(rows), squared_bounds(rows), magnitudes(rows) {}

  // Output i belongs to sum i % rows and has the weight i / rows.
  void add(uint64_t first, uint64_t count, const double* values, const double* bounds,
           uint64_t seed) {
    const uint64_t rows = sums.size();
    for (uint64_t done = 0, run; done < count; done += run) {
      const uint64_t row = (first + done) % rows;
      run = std::min(rows - row, count - done);
      const double weight = deepbench_weight(seed, (first + done) / rows);
      for (uint64_t i = 0; i < run; ++i) {
        const double value = values[done + i], bound = bounds[done + i];
        sums[row + i] += weight * value;
        magnitudes[row + i] += std::abs(value);
        squared_bounds[row + i] += bound * bound;
      }
    }
  }
  void add(const Projections& part) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += part.sums[i];
      magnitudes[i] += part.magnitudes[i];
      squared_bounds[i] += part.squared_bounds[i];
    }
  }
};

// Computes all blocks, for the compared places and for the projections of the whole output.
Projections compute(const Blocks& blocks, uint64_t block_size, uint64_t rows, uint64_t seed,
                    ExpectedElements& compared) {
  std::vector<Projections> parts(static_cast<size_t>(parallel_threads()), Projections(rows));
  parallel_for(int64_t(blocks.count()), 1, [&](int64_t begin, int64_t end, int part) {
    std::vector<double> values(block_size), bounds(block_size);
    const std::vector<uint64_t>& places = compared.indices;
    auto next =
        size_t(std::lower_bound(places.begin(), places.end(), blocks.first(uint64_t(begin))) -
               places.begin());
    for (auto block = uint64_t(begin); block < uint64_t(end); ++block) {
      blocks.compute(block, values.data(), bounds.data());
      next = set_elements(blocks, block, values.data(), bounds.data(), next, compared);
      parts[size_t(part)].add(blocks.first(block), blocks.size(block), values.data(), bounds.data(),
                              seed);
    }
  });
  for (size_t i = 1; i < parts.size(); ++i) parts[0].add(parts[i]);
  return parts[0];
}

// With more projections, each of them adds up fewer rounding errors. But several weights apply to a
// row, so that an error of all its outputs does not depend on a single weight, which may be small.
uint64_t projection_rows(const BlockwiseOutput& output) {
  const uint64_t most = std::clamp(output.row / kWeightsOfRow, kMinProjections, kMaxProjections);
  return largest_divisor(output.outputs, most);
}

void expect_projections(const Projections& all, uint64_t outputs, uint64_t seed,
                        ExpectedOutput& expected) {
  const size_t rows = all.sums.size();
  const auto summands = double(outputs / rows);
  expected.projection_rows = rows;
  expected.projection_seed = seed;
  expected.projections = all.sums;
  for (size_t i = 0; i < rows; ++i)
    // The backend sums in double as well, but in another order.
    expected.projection_bounds.push_back(projection_bound_over_typical(summands) *
                                             std::sqrt(all.squared_bounds[i] / summands) +
                                         summands * kRoundoffDouble * all.magnitudes[i]);
}

}  // namespace

ExpectedOutput expected_blockwise_output(const BlockwiseOutput& output, uint64_t seed) {
  ExpectedOutput expected;
  expected.outputs = output.outputs;
  for (const int64_t place :
       stratified_sample(int64_t(output.outputs), kComparedPlaces, seed, kPlaceStream))
    expected.indices.push_back(uint64_t(place));
  expected.resize(expected.indices.size());
  const Projections all =
      compute(Blocks(output), output.block, projection_rows(output), seed, expected);
  const std::string outputs = std::to_string(output.outputs);
  if (expected.indices.size() == output.outputs) {
    expected.coverage = "all " + outputs + " outputs";
    return expected;
  }
  expect_projections(all, output.outputs, seed, expected);
  expected.coverage = std::to_string(expected.indices.size()) + " of " + outputs + " outputs and " +
                      std::to_string(expected.projection_rows) + " projections";
  return expected;
}

double blockwise_verification_bytes(uint64_t outputs, uint64_t block, int floats) {
  const auto threads = double(parallel_threads());
  const double blocks = std::min(threads, std::ceil(double(outputs) / double(block)));
  const double of_block = double(2 * sizeof(double) + size_t(floats) * sizeof(float));
  return blocks * double(block) * of_block +
         threads * double(kMaxProjections * 3 * sizeof(double)) +
         32 * std::min(double(outputs), double(kComparedPlaces));
}

}  // namespace deepbench
