// Fills, poisons, scans, projects and reads operands of every type.
#include "operand.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "buffer.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cpu {
namespace {

constexpr deepbench_type kTypes[] = {DEEPBENCH_F64,  DEEPBENCH_F32,  DEEPBENCH_F16, DEEPBENCH_BF16,
                                     DEEPBENCH_E4M3, DEEPBENCH_E5M2, DEEPBENCH_S32, DEEPBENCH_S8,
                                     DEEPBENCH_U8,   DEEPBENCH_S7};
constexpr deepbench_type kFloats[] = {DEEPBENCH_F64,  DEEPBENCH_F32,  DEEPBENCH_F16,
                                      DEEPBENCH_BF16, DEEPBENCH_E4M3, DEEPBENCH_E5M2};

// Odd counts below and above the size from which several threads share the work.
constexpr uint64_t kCounts[] = {1, 63, 1000, 100003};

Buffer typed_buffer(deepbench_type type, uint64_t count) {
  return Buffer(count * uint64_t(size_of(type)));
}

TEST_CASE("every element of every type equals that of fill.h") {
  for (const deepbench_type type : kTypes)
    for (const uint64_t count : kCounts) {
      const Buffer data = typed_buffer(type, count);
      fill(data.data(), type, count, Inputs::kUniform, 42, 3);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < count; ++i)
        wrong += element(data.data(), type, i) != deepbench_element(type, 42, 3, i);
      CAPTURE(int(type));
      CHECK(wrong == 0);
    }
}

TEST_CASE("a power of two scales every element exactly") {
  for (const deepbench_type type : {DEEPBENCH_F32, DEEPBENCH_F16, DEEPBENCH_BF16})
    for (const uint64_t count : kCounts) {
      const Buffer data = typed_buffer(type, count);
      fill(data.data(), type, count, Inputs::kUniform, 42, 3);
      scale(data.data(), type, count, 8);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < count; ++i)
        wrong += element(data.data(), type, i) != 8 * deepbench_element(type, 42, 3, i);
      CAPTURE(int(type));
      CHECK(wrong == 0);
    }
}

TEST_CASE("floats of a shorter type hold its elements") {
  for (const deepbench_type type : {DEEPBENCH_BF16, DEEPBENCH_F16})
    for (const uint64_t count : kCounts) {
      const Buffer data = typed_buffer(DEEPBENCH_F32, count);
      auto* floats = reinterpret_cast<float*>(data.data());
      fill_floats(floats, type, count, Inputs::kUniform, 42, 3);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < count; ++i)
        wrong += double(floats[i]) != deepbench_element(type, 42, 3, i);
      CAPTURE(int(type));
      CHECK(wrong == 0);
      fill_floats(floats, type, count, Inputs::kOnes, 42, 3);
      CHECK(floats[count - 1] == 1);
    }
}

TEST_CASE("every small integer of every floating-point type equals that of fill.h") {
  const deepbench_small_integers integers = {1u << 27, 7};
  for (const deepbench_type type : kFloats)
    for (const uint64_t count : kCounts) {
      const Buffer data = typed_buffer(type, count);
      fill_integers(data.data(), type, count, integers, 42, 3);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < count; ++i)
        wrong += element(data.data(), type, i) != deepbench_small_integer(integers, 42, 3, i);
      CAPTURE(int(type));
      CHECK(wrong == 0);
    }
}

TEST_CASE("zeros and ones") {
  for (const deepbench_type type : kTypes) {
    const Buffer data = typed_buffer(type, 1000);
    fill(data.data(), type, 1000, Inputs::kOnes, 42, 0);
    CHECK(element(data.data(), type, 999) == 1);
    fill(data.data(), type, 1000, Inputs::kZeros, 42, 0);
    CHECK(element(data.data(), type, 999) == 0);
  }
  CHECK_THROWS_AS(parse_inputs("random"), plugin::Error);
}

TEST_CASE("a scan finds poison in every type") {
  for (const deepbench_type type : kTypes)
    for (const uint64_t count : kCounts) {
      CAPTURE(int(type));
      const Buffer data = typed_buffer(type, count);
      poison(data.data(), type, count);
      deepbench_scan found = scan(data.data(), type, count);
      CHECK(found.count == count);
      CHECK(found.untouched == count);
      CHECK(found.non_finite == 0);
      fill(data.data(), type, count, Inputs::kOnes, 1, 0);
      found = scan(data.data(), type, count);
      CHECK(found.untouched == 0);
      CHECK(found.non_finite == 0);
    }
}

TEST_CASE("a scan finds a single infinity or a NaN that is not poison") {
  const uint64_t infinities[] = {0x7ff0000000000000, 0xff800000, 0x7c00, 0xff80, 0xff, 0xfc};
  for (size_t t = 0; t < std::size(kFloats); ++t) {
    const deepbench_type type = kFloats[t];
    const Buffer data = typed_buffer(type, 70001);
    fill(data.data(), type, 70001, Inputs::kUniform, 1, 0);
    const auto size = size_t(size_of(type));
    // e4m3 has no infinity; its value is a NaN.
    std::memcpy(data.data() + 70000 * size, &infinities[t], size);
    const deepbench_scan found = scan(data.data(), type, 70001);
    CAPTURE(int(type));
    CHECK(found.untouched == 0);
    CHECK(found.non_finite == 1);
  }
}

TEST_CASE("in place, an element with its initial value counts as untouched") {
  const Buffer before = typed_buffer(DEEPBENCH_F32, 50000),
               after = typed_buffer(DEEPBENCH_F32, 50000);
  fill(before.data(), DEEPBENCH_F32, 50000, Inputs::kUniform, 1, 2);
  fill(after.data(), DEEPBENCH_F32, 50000, Inputs::kUniform, 1, 2);
  CHECK(scan(after.data(), DEEPBENCH_F32, 50000, before.data()).untouched == 50000);
  auto* values = reinterpret_cast<float*>(after.data());
  for (int i = 0; i < 49999; ++i) values[i] += 1;
  values[3] = std::numeric_limits<float>::infinity();
  const deepbench_scan found = scan(after.data(), DEEPBENCH_F32, 50000, before.data());
  CHECK(found.untouched == 1);
  CHECK(found.non_finite == 1);
}

TEST_CASE("projections of every type and shape agree with the definition") {
  for (const deepbench_type type : kTypes)
    for (const auto& [rows, columns] : std::vector<std::pair<uint64_t, uint64_t>>{
             {1, 1}, {1, 100003}, {100003, 1}, {35, 1000}, {5000, 31}, {257, 300}}) {
      const uint64_t count = rows * columns;
      const Buffer data = typed_buffer(type, count);
      fill(data.data(), type, count, Inputs::kUniform, 9, 1);
      std::vector<double> sums(rows), expected(rows, 0.0);
      project(data.data(), type, count, rows, 77, sums.data());
      for (uint64_t i = 0; i < count; ++i)
        expected[i % rows] += element(data.data(), type, i) * deepbench_weight(77, i / rows);
      double worst = 0;
      for (uint64_t i = 0; i < rows; ++i) worst = std::max(worst, std::abs(sums[i] - expected[i]));
      const double scale = type == DEEPBENCH_S32 ? 32768 : type <= DEEPBENCH_E5M2 ? 1 : 256;
      CAPTURE(int(type));
      CHECK(worst <= 1e-13 * scale * double(columns));
    }
  double sum = 0;
  CHECK_THROWS_AS(project(&sum, DEEPBENCH_F64, 1, 2, 0, &sum), plugin::Error);
}

}  // namespace
}  // namespace deepbench::cpu
