// Tests the input generator: values, moments, rounding of every format against an independent
// implementation, and equal values in C and C++.
#include "deepbench/fill.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fake_backend.hpp"

namespace {

TEST_CASE("deepbench_bits equals SplitMix64") {
  // The first four published outputs of the generator for seed 0.
  CHECK(deepbench_bits(0, 0, 0) == 0xE220A8397B1DCDAFull);
  CHECK(deepbench_bits(0, 0, 1) == 0x6E789E6AA1B965F4ull);
  CHECK(deepbench_bits(0, 0, 2) == 0x06C45D188009454Full);
  CHECK(deepbench_bits(0, 0, 3) == 0xF88BB8A8724C81ECull);
}

TEST_CASE("bits depend on seed, stream and index") {
  CHECK(deepbench_bits(1, 0, 0) != deepbench_bits(0, 0, 0));
  CHECK(deepbench_bits(0, 1, 0) != deepbench_bits(0, 0, 0));
  CHECK(deepbench_bits(0, 0, 1ull << 40) != deepbench_bits(0, 0, 0));
}

TEST_CASE("uniform values fill [-1, 1) evenly, with full mantissas") {
  int wrong = 0;
  constexpr int kCount = 1 << 20, kBins = 256;
  double sum = 0, squares = 0, products = 0, across = 0, previous = 0;
  float smallest = 1, largest = -1;
  std::vector<int> bins(kBins);
  int odd = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const float value = deepbench_uniform(1, 0, i);
    const double steps = double(value) * 16777216.0;
    wrong += !(steps == std::floor(steps));
    odd += std::fmod(steps, 2.0) != 0;
    sum += value, squares += double(value) * value, products += value * previous;
    across += double(value) * deepbench_uniform(1, 1, i);
    previous = value;
    smallest = std::min(smallest, value), largest = std::max(largest, value);
    bins[size_t((value + 1) * (kBins / 2))] += 1;
  }
  CHECK(smallest >= -1.0f);
  CHECK(smallest < -0.9999f);
  CHECK(largest < 1.0f);
  CHECK(largest > 0.9999f);
  // Each moment lies within four standard deviations of that of independent uniform values.
  CHECK(std::abs(sum / kCount) < 4 * std::sqrt(1.0 / 3 / kCount));
  CHECK(std::abs(squares / kCount - 1.0 / 3) < 4 * std::sqrt(4.0 / 45 / kCount));
  CHECK(std::abs(products / kCount) < 4 * (1.0 / 3) / std::sqrt(kCount));
  CHECK(std::abs(across / kCount) < 4 * (1.0 / 3) / std::sqrt(kCount));
  CHECK(std::abs(odd - kCount / 2) < 4 * 512);
  double chi_square = 0;
  for (int count : bins) chi_square += std::pow(count - kCount / kBins, 2) / (kCount / kBins);
  CHECK(std::abs(chi_square - (kBins - 1)) < 4 * std::sqrt(2.0 * (kBins - 1)));
  CHECK(wrong == 0);
}

TEST_CASE("integers fill their ranges evenly") {
  struct TypeRange {
    deepbench_type type;
    int low, high;
  };
  for (const TypeRange& range :
       {TypeRange{DEEPBENCH_S8, -128, 127}, TypeRange{DEEPBENCH_U8, 0, 255},
        TypeRange{DEEPBENCH_S7, -64, 63}}) {
    const int values = range.high - range.low + 1, expected = 1000;
    std::vector<int> counts(size_t(values), 0);
    for (int i = 0; i < expected * values; ++i) {
      const int value = deepbench_integer(range.type, 9, 3, uint64_t(i));
      if (value < range.low || value > range.high) FAIL(value);
      counts[size_t(value - range.low)] += 1;
    }
    double chi_square = 0;
    for (int count : counts) chi_square += double(count - expected) * (count - expected) / expected;
    CHECK(std::abs(chi_square - (values - 1)) < 4 * std::sqrt(2.0 * (values - 1)));
  }
  for (uint64_t i = 0; i < 100000; ++i) {
    const int value = deepbench_integer(DEEPBENCH_S32, 9, 3, i);
    if (value < -32768 || value > 32767) FAIL(value);
  }
}

struct FloatFormat {
  std::string name;
  int exponent, mantissa;
  uint32_t infinity;  // the code after the largest finite one
};
const FloatFormat kFormats[] = {{"half", 5, 10, 0x7c00},
                                {"bfloat16", 8, 7, 0x7f80},
                                {"e4m3", 4, 3, 0x7f},
                                {"e5m2", 5, 2, 0x7c}};

uint32_t round_to(const FloatFormat& format, float value) {
  return deepbench_round(value, uint32_t(format.exponent), uint32_t(format.mantissa));
}
float widen(const FloatFormat& format, uint32_t code) {
  return deepbench_widen(code, uint32_t(format.exponent), uint32_t(format.mantissa));
}

// The value of a finite, non-negative code, by the definition of the formats.
double value_of(const FloatFormat& format, uint32_t code) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const int scale = int(code >> format.mantissa),
            fraction = int(code & ((1u << format.mantissa) - 1));
  if (scale == 0) return std::ldexp(fraction, 1 - bias - format.mantissa);
  return std::ldexp((1 << format.mantissa) + fraction, scale - bias - format.mantissa);
}

TEST_CASE("small integers are odd or 0, each as often as asked, and exact in every type") {
  for (const deepbench_small_integers integers :
       {deepbench_small_integers{1u << 28, 1}, {1u << 28, 7}, {1u << 26, 3}, {0, 1}}) {
    constexpr int kElements = 1 << 16;
    std::map<int32_t, int> found;
    for (uint64_t i = 0; i < kElements; ++i) found[deepbench_small_integer(integers, 4, 2, i)] += 1;
    const double density = integers.density / double(1 << 28);
    const double expected = density * kElements / (integers.largest + 1);
    for (const auto& [value, times] : found) {
      CAPTURE(value);
      const bool is_odd = value % 2 != 0;
      CHECK((value == 0 || is_odd));
      CHECK(std::abs(value) <= int32_t(integers.largest));
      const double wanted = is_odd ? expected : (1 - density) * kElements;
      CHECK(std::abs(times - wanted) < 6 * std::sqrt(wanted));
      CHECK(deepbench_from_half(deepbench_to_half(float(value))) == value);
      CHECK(deepbench_from_bfloat16(deepbench_to_bfloat16(float(value))) == value);
      CHECK(deepbench_from_e4m3(deepbench_to_e4m3(float(value))) == value);
      CHECK(deepbench_from_e5m2(deepbench_to_e5m2(float(value))) == value);
    }
    CHECK(found.size() == (density == 0 ? 1 : integers.largest + 1 + (density < 1)));
  }
}

TEST_CASE("every sum of a gemm of small integers is exact in the result's type") {
  struct Length {
    deepbench_type c;
    uint64_t k;
    double nonzeros;  // of a row of A, about
    double largest;   // all integers up to this one are exact
  };
  for (const Length& length : {Length{DEEPBENCH_BF16, 500000, 1 << 10, 256},
                               {DEEPBENCH_F16, 500000, 1 << 15, 2048},
                               {DEEPBENCH_F32, 5000000, 1 << 21, 1 << 24},
                               {DEEPBENCH_BF16, 100, 100, 256}}) {
    CAPTURE(length.k);
    const auto a = deepbench_gemm_integers(length.c, length.k, 0);
    const auto b = deepbench_gemm_integers(length.c, length.k, 1);
    double nonzeros = 0, sum = 0, largest = 0;
    for (uint64_t l = 0; l < length.k; ++l) {
      const int32_t factor = deepbench_small_integer(a, 3, 0, l);
      nonzeros += factor != 0;
      sum += factor * deepbench_small_integer(b, 3, 1, l);
      largest = std::max(largest, std::abs(sum));
    }
    CHECK(std::abs(nonzeros - length.nonzeros) <= 6 * std::sqrt(length.nonzeros));
    CHECK(largest + 7 <= length.largest);
    CHECK(deepbench_gemm_integers(length.c, length.k, 2).largest == 7);
  }
}

TEST_CASE("every code widens to its value and rounds back to itself") {
  for (const FloatFormat& format : kFormats) {
    CAPTURE(format.name);
    int wrong = 0;
    const uint32_t sign = 1u << (format.exponent + format.mantissa);
    for (uint32_t code = 0; code < format.infinity; ++code) {
      const double value = value_of(format, code);
      wrong += !(double(widen(format, code)) == value);
      wrong += !(double(widen(format, code | sign)) == -value);
      wrong += !(round_to(format, float(value)) == code);
      wrong += !(round_to(format, -float(value)) == (code | sign));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("infinities and NaNs are preserved by widening") {
  for (const FloatFormat& format : kFormats) {
    CAPTURE(format.name);
    int wrong = 0;
    const bool has_infinity = format.infinity != 0x7f;
    const uint32_t codes = 1u << (format.exponent + format.mantissa);
    for (uint32_t code = format.infinity; code < codes; ++code) {
      const float value = widen(format, code);
      wrong += !(code == format.infinity && has_infinity ? std::isinf(value) : std::isnan(value));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("halfway cases round to even, all others to the nearest") {
  for (const FloatFormat& format : kFormats) {
    CAPTURE(format.name);
    int wrong = 0;
    for (uint32_t code = 0; code + 1 < format.infinity; ++code) {
      const double below = value_of(format, code), above = value_of(format, code + 1);
      const auto middle = static_cast<float>((below + above) / 2);
      wrong += !(double(middle) == (below + above) / 2);
      const float infinity = std::numeric_limits<float>::infinity();
      wrong += !(round_to(format, middle) == (code % 2 ? code + 1 : code));
      wrong += !(round_to(format, std::nextafter(middle, 0.0f)) == code);
      wrong += !(round_to(format, std::nextafter(middle, infinity)) == code + 1);
    }
    CHECK(wrong == 0);
  }
}

// Rounds with the processor's ties-to-even at the last place of the format.
double rounded(const FloatFormat& format, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int least = 2 - (1 << (format.exponent - 1));  // exponents of normal numbers
  const int place = std::max(exponent - 1, least) - format.mantissa;
  return std::ldexp(std::nearbyint(std::ldexp(value, -place)), place);
}

TEST_CASE("random values are rounded like the processor rounds them") {
  std::mt19937_64 random(3);
  for (const FloatFormat& format : kFormats) {
    CAPTURE(format.name);
    int wrong = 0;
    for (int i = 0; i < 200000; ++i) {
      float value = deepbench_uniform(4, 0, uint64_t(i));
      if (i % 2) value = std::ldexp(value, -int(random() % 150));  // down to subnormal floats
      wrong += !(double(widen(format, round_to(format, value))) == rounded(format, value));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("elements are exact values of the operand's type") {
  int wrong = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const float value = deepbench_uniform(5, 2, i);
    wrong += !(deepbench_element(DEEPBENCH_F32, 5, 2, i) == double(value));
    wrong += !(deepbench_element(DEEPBENCH_F64, 5, 2, i) == double(value));
    wrong += !(deepbench_element(DEEPBENCH_F16, 5, 2, i) == rounded(kFormats[0], value));
    wrong += !(deepbench_element(DEEPBENCH_BF16, 5, 2, i) == rounded(kFormats[1], value));
    wrong += !(deepbench_element(DEEPBENCH_E4M3, 5, 2, i) == rounded(kFormats[2], value));
    wrong += !(deepbench_element(DEEPBENCH_E5M2, 5, 2, i) == rounded(kFormats[3], value));
    wrong +=
        !(deepbench_element(DEEPBENCH_S8, 5, 2, i) == deepbench_integer(DEEPBENCH_S8, 5, 2, i));
  }
  CHECK(wrong == 0);
}

TEST_CASE("C and C++ generate the same values") {
  void* library = dlopen(deepbench::testing::plugin_path("no_symbol").c_str(), RTLD_NOW);
  REQUIRE(library);
  const auto element = reinterpret_cast<double (*)(int32_t, uint64_t, uint32_t, uint64_t)>(
      dlsym(library, "element_in_c"));
  const auto weight =
      reinterpret_cast<double (*)(uint64_t, uint64_t)>(dlsym(library, "weight_in_c"));
  REQUIRE_UNARY(element != nullptr);
  REQUIRE_UNARY(weight != nullptr);
  int wrong = 0;
  for (int32_t type = DEEPBENCH_F64; type <= DEEPBENCH_S7; ++type) {
    for (uint64_t i = 0; i < 20000; ++i) {
      const uint64_t index = i * 0x9E3779B97F4A7C15ull >> (i % 64);
      wrong += element(type, i, uint32_t(type), index) !=
               deepbench_element(deepbench_type(type), i, uint32_t(type), index);
    }
  }
  for (uint64_t i = 0; i < 1000; ++i) wrong += weight(7, i) != deepbench_weight(7, i);
  CHECK(wrong == 0);
}

}  // namespace
