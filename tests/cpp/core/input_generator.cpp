// Compares runs of elements with fill.h's functions for single elements, at every SIMD level of
// this processor.
#include "deepbench/core/input_generator.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "simd_levels.hpp"

namespace deepbench {
namespace {

using testing::for_each_simd_level;

constexpr deepbench_type kTypes[] = {DEEPBENCH_F64,  DEEPBENCH_F32,  DEEPBENCH_F16, DEEPBENCH_BF16,
                                     DEEPBENCH_E4M3, DEEPBENCH_E5M2, DEEPBENCH_S32, DEEPBENCH_S8,
                                     DEEPBENCH_U8,   DEEPBENCH_S7};

bool same_bits(float got, double expected) {
  const auto wanted = static_cast<float>(expected);
  return std::memcmp(&got, &wanted, sizeof got) == 0;
}

TEST_CASE("runs of generated elements equal single elements bit for bit") {
  struct StreamRange {
    uint64_t seed, first, stride;
    int64_t count;
  };
  for_each_simd_level([&] {
    int wrong = 0;
    for (const StreamRange& place :
         {StreamRange{1, 0, 1, 20000}, StreamRange{2, 3, 1, 1}, StreamRange{3, 77, 4609, 515},
          StreamRange{4, 1ull << 40, 1, 31}, StreamRange{~0ull, ~0ull - 9, 1, 20}}) {
      for (deepbench_type type : kTypes) {
        std::vector<float> run(size_t(place.count) + 1, 7.0f);
        InputGenerator(place.seed, "uniform")
            .fill(type, 5, place.first, place.stride, place.count, run.data());
        for (int64_t i = 0; i < place.count; ++i)
          wrong += !same_bits(
              run[size_t(i)],
              deepbench_element(type, place.seed, 5, place.first + uint64_t(i) * place.stride));
        wrong += run.back() != 7.0f;  // the run writes nothing beyond its end
      }
    }
    CHECK(wrong == 0);
  });
}

// Returns the index whose element is uniform value number `step` of 2^25, by inverting the steps of
// SplitMix64.
uint64_t index_of_uniform_step(uint32_t step) {
  const auto inverse = [](uint64_t odd) {
    uint64_t result = odd;  // correct in 3 bits; every iteration doubles the number
    for (int i = 0; i < 5; ++i) result *= 2 - odd * result;
    return result;
  };
  uint64_t z = uint64_t{step} << 39;
  z ^= z >> 31, z ^= z >> 62;
  z *= inverse(0x94D049BB133111EBull);
  z ^= z >> 27, z ^= z >> 54;
  z *= inverse(0xBF58476D1CE4E5B9ull);
  z ^= z >> 30, z ^= z >> 60;
  return z * inverse(0x9E3779B97F4A7C15ull) - 1;
}

TEST_CASE("every kind of value is rounded as in fill.h") {
  // All values near zero, where formats have their subnormals, and every 211th value elsewhere.
  std::vector<uint64_t> indices;
  const uint32_t middle = 1u << 24, near = 1u << 12;
  for (uint32_t step = 0; step < 1u << 25;
       step += step >= middle - near && step < middle + near ? 1 : 211)
    indices.push_back(index_of_uniform_step(step));
  for (uint32_t step : {0u, 1u, middle - 1, middle, middle + 1, (1u << 25) - 1})
    CHECK(deepbench_uniform(0, 0, index_of_uniform_step(step)) ==
          float(int32_t(step - middle)) / (1 << 24));
  std::vector<double> expected(indices.size());
  for (deepbench_type type : {DEEPBENCH_F16, DEEPBENCH_BF16, DEEPBENCH_E4M3, DEEPBENCH_E5M2}) {
    for (size_t i = 0; i < indices.size(); ++i)
      expected[i] = deepbench_element(type, 0, 0, indices[i]);
    for_each_simd_level([&] {
      int wrong = 0;
      for (size_t i = 0; i < indices.size(); ++i) {
        float run[16];  // longer than a vector of any SIMD level
        InputGenerator(0, "uniform").fill(type, 0, indices[i], 0, 16, run);
        wrong += !same_bits(run[0], expected[i]);
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("constant inputs fill every type with their value") {
  std::vector<float> run(3, 7.0f);
  InputGenerator(1, "ones").fill(DEEPBENCH_F16, 0, 0, 1, 2, run.data());
  CHECK(run == std::vector<float>{1, 1, 7});
  InputGenerator(1, "zeros").fill(DEEPBENCH_F16, 0, 0, 1, 2, run.data());
  CHECK(run == std::vector<float>{0, 0, 7});
}

TEST_CASE("runs of small integers equal single ones, whatever the type") {
  const InputGenerator::SmallIntegers integers = {{{1u << 20, 1}, {1u << 28, 3}, {1u << 28, 7}}};
  for_each_simd_level([&] {
    int wrong = 0;
    std::vector<float> run(1003);
    for (uint32_t stream = 0; stream < 3; ++stream) {
      const InputGenerator generator(6, integers);
      generator.fill(DEEPBENCH_BF16, stream, 5, 3, 1003, run.data());
      for (uint64_t i = 0; i < 1003; ++i) {
        const int32_t single = deepbench_small_integer(integers[stream], 6, stream, 5 + 3 * i);
        wrong += run[i] != float(single);
        wrong += generator.element(DEEPBENCH_E4M3, stream, 5 + 3 * i) != single;
      }
    }
    CHECK(wrong == 0);
  });
  CHECK(InputGenerator(6, integers).mean_square(DEEPBENCH_F32, 0) == 1.0 / 256);
  CHECK(InputGenerator(6, integers).mean_square(DEEPBENCH_F32, 1) == 5);
  CHECK(InputGenerator(6, integers).mean_square(DEEPBENCH_F32, 2) == 21);
}

TEST_CASE("runs of weights and of words equal single ones") {
  for_each_simd_level([&] {
    int wrong = 0;
    std::vector<float> weights(1003);
    std::vector<uint32_t> words(1003);
    fill_weights(9, 5, 1003, weights.data());
    fill_words(9, 2, 5, 1003, words.data());
    for (uint64_t i = 0; i < 1003; ++i) {
      wrong += double(weights[i]) != deepbench_weight(9, 5 + i);
      wrong += words[i] != uint32_t(deepbench_bits(9, 2, 5 + i) >> 32);
    }
    CHECK(wrong == 0);
  });
}

}  // namespace
}  // namespace deepbench
