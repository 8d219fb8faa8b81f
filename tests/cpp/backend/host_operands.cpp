// Fills, scans and projects operands in host memory with workers that a backend brings along: one
// thread, or parts that run one after another.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepbench/backend/host_fill.hpp"
#include "deepbench/backend/host_projection.hpp"
#include "deepbench/backend/host_scan.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {
namespace {

constexpr deepbench_type kTypes[] = {DEEPBENCH_F64,  DEEPBENCH_F32,  DEEPBENCH_F16, DEEPBENCH_BF16,
                                     DEEPBENCH_E4M3, DEEPBENCH_E5M2, DEEPBENCH_S32, DEEPBENCH_S8,
                                     DEEPBENCH_U8,   DEEPBENCH_S7};
constexpr uint64_t kCount = 70001;

// Three workers in the calling thread, which begin with the last part.
struct ThreeParts {
  size_t size() const { return 3; }
  template <class Part>
  void parallel_for(uint64_t count, uint64_t grain, Part part) const {
    const uint64_t share = (count / 3 / grain + 1) * grain;
    for (size_t worker = 3; worker-- > 0;) {
      const uint64_t begin = std::min(count, worker * share);
      part(begin, std::min(count, begin + share), worker);
    }
  }
};

std::vector<std::byte> storage(deepbench_type type, uint64_t count) {
  return std::vector<std::byte>(count * uint64_t(size_of(type)));
}

TEST_CASE_TEMPLATE("operands in host memory agree with fill.h", Workers, CallingThread,
                   ThreeParts) {
  Workers workers;
  for (const deepbench_type type : kTypes) {
    CAPTURE(int(type));
    std::vector<std::byte> data = storage(type, kCount);
    fill(workers, data.data(), type, kCount, Inputs::kUniform, 42, 3);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < kCount; ++i)
      wrong += element(data.data(), type, i) != deepbench_element(type, 42, 3, i);
    CHECK(wrong == 0);
    poison(workers, data.data(), type, kCount);
    CHECK(scan(workers, data.data(), type, kCount).untouched == kCount);
    fill(workers, data.data(), type, kCount, Inputs::kOnes, 42, 3);
    const deepbench_scan found = scan(workers, data.data(), type, kCount);
    CHECK(found.count == kCount);
    CHECK(found.untouched + found.non_finite == 0);
  }
}

TEST_CASE_TEMPLATE("floats and small integers agree with fill.h", Workers, CallingThread,
                   ThreeParts) {
  Workers workers;
  const deepbench_small_integers integers = {1u << 27, 7};
  std::vector<float> floats(kCount);
  uint64_t wrong = 0;
  fill_floats(workers, floats.data(), DEEPBENCH_BF16, kCount, Inputs::kUniform, 42, 3);
  for (uint64_t i = 0; i < kCount; ++i)
    wrong += double(floats[i]) != deepbench_element(DEEPBENCH_BF16, 42, 3, i);
  fill_integers(workers, floats.data(), DEEPBENCH_F32, kCount, integers, 42, 3);
  for (uint64_t i = 0; i < kCount; ++i)
    wrong += double(floats[i]) != deepbench_small_integer(integers, 42, 3, i);
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("parts of an operand are filled alone", Workers, CallingThread, ThreeParts) {
  Workers workers;
  const std::vector<ElementRange> parts = {{333, 333}, {334, 335}, {400, 40000}, {40000, 66666}};
  const deepbench_small_integers integers = {1u << 27, 7};
  std::vector<float> uniform(kCount, 5), ones(kCount, 5), small(kCount, 9);
  fill_parts(workers, uniform.data(), DEEPBENCH_F32, parts, Inputs::kUniform, 42, 3);
  fill_parts(workers, ones.data(), DEEPBENCH_F32, parts, Inputs::kOnes, 42, 3);
  fill_parts_with_integers(workers, small.data(), DEEPBENCH_F32, parts, integers, 42, 3);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const bool filled = i == 334 || (i >= 400 && i < 66666);
    wrong += uniform[i] != (filled ? deepbench_uniform(42, 3, i) : 5);
    wrong += ones[i] != (filled ? 1 : 5);
    wrong += small[i] != (filled ? float(deepbench_small_integer(integers, 42, 3, i)) : 9);
  }
  CHECK(wrong == 0);
  fill_parts(workers, ones.data(), DEEPBENCH_F32, {}, Inputs::kZeros, 42, 3);
  CHECK(ones[334] == 1);
}

TEST_CASE_TEMPLATE("projections agree with the definition for few and for many rows", Workers,
                   CallingThread, ThreeParts) {
  Workers workers;
  for (const deepbench_type type : kTypes)
    for (const uint64_t rows : {uint64_t{1}, uint64_t{35}, uint64_t{5000}}) {
      CAPTURE(int(type));
      CAPTURE(rows);
      const uint64_t columns = 140000 / rows;
      std::vector<std::byte> data = storage(type, rows * columns);
      fill(workers, data.data(), type, rows * columns, Inputs::kUniform, 9, 1);
      std::vector<double> sums(rows), expected(rows, 0.0);
      project(workers, data.data(), type, rows * columns, rows, 77, sums.data());
      for (uint64_t i = 0; i < rows * columns; ++i)
        expected[i % rows] += element(data.data(), type, i) * deepbench_weight(77, i / rows);
      double worst = 0;
      for (uint64_t i = 0; i < rows; ++i) worst = std::max(worst, std::abs(sums[i] - expected[i]));
      const double scale = type == DEEPBENCH_S32 ? 32768 : type <= DEEPBENCH_E5M2 ? 1 : 256;
      CHECK(worst <= 1e-13 * scale * double(columns));
    }
  CallingThread one;
  double sum = 0;
  CHECK_THROWS_AS(project(one, &sum, DEEPBENCH_F64, 1, 2, 0, &sum), Error);
}

}  // namespace
}  // namespace deepbench::plugin
