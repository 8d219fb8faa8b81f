// Tests what is compared of an output that is computed in blocks.
#include "deepbench/core/blockwise_reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr double kBound = 1e-3;

// Output i is i modulo 10.
ExpectedOutput expected_output(uint64_t outputs, uint64_t block, uint64_t seed = 7) {
  const auto compute = [=](uint64_t first, uint64_t count, double* values, double* bounds) {
    if (first % block != 0 || count != std::min(block, outputs - first))
      throw std::logic_error("not a block");
    for (uint64_t i = 0; i < count; ++i) values[i] = double((first + i) % 10), bounds[i] = kBound;
  };
  return expected_blockwise_output({outputs, block, block, compute}, seed);
}

TEST_CASE("blocks: a small output is compared in full") {
  for (const uint64_t outputs : {1, 9, 10, 1000, 1 << 16}) {
    const ExpectedOutput expected = expected_output(outputs, 9);
    CHECK(expected.outputs == outputs);
    CHECK(expected.projections.empty());
    REQUIRE(expected.indices.size() == outputs);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < outputs; ++i)
      wrong += expected.indices[i] != i || expected.values[i] != double(i % 10);
    CHECK(wrong == 0);
  }
}

TEST_CASE("blocks: of a large output places that depend on the seed, with both ends") {
  constexpr uint64_t kOutputs = 100003, kBlock = 1000;  // the last block is short
  std::set<uint64_t> other;
  for (const uint64_t seed : {1, 2}) {
    const ExpectedOutput expected = expected_output(kOutputs, kBlock, seed);
    CHECK(expected.indices.front() == 0);
    CHECK(expected.indices.back() == kOutputs - 1);
    CHECK(expected.indices.size() > 8000);
    const std::set<uint64_t> places(expected.indices.begin(), expected.indices.end());
    CHECK(places.size() == expected.indices.size());
    CHECK(places != other);
    other = places;
    for (size_t i = 0; i < expected.indices.size(); i += 100)
      CHECK(expected.values[i] == double(expected.indices[i] % 10));
  }
}

TEST_CASE("blocks: the whole of a large output is projected, whatever its divisors") {
  for (const uint64_t outputs : {uint64_t{1} << 17, uint64_t{100003}, uint64_t{3} * 32000}) {
    CAPTURE(outputs);
    const ExpectedOutput expected = expected_output(outputs, 12000);
    const uint64_t rows = expected.projection_rows;
    CHECK(outputs % rows == 0);
    CHECK(rows == expected.projections.size());
    std::vector<double> sums(rows);
    for (uint64_t i = 0; i < outputs; ++i)
      sums[i % rows] += double(i % 10) * deepbench_weight(expected.projection_seed, i / rows);
    for (size_t i = 0; i < rows; i += 100) {
      CHECK(std::abs(expected.projections[i] - sums[i]) < 1e-6);
      const double summands = double(outputs / rows);
      const double of_roundings = (2 * std::sqrt(summands) + 6) * kBound;
      CHECK(expected.projection_bounds[i] >= 0.999999 * of_roundings);
      CHECK(expected.projection_bounds[i] <= 1.001 * of_roundings);
    }
  }
}

}  // namespace
}  // namespace deepbench
