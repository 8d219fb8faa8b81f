// The operand cache: which requests share a buffer and which create one.
#include "operand_cache.hpp"

#include <doctest/doctest.h>

namespace deepbench::cpu {
namespace {

constexpr uint64_t kSeed = 3;

TEST_CASE("a cached operand serves every smaller request") {
  OperandCache cache(1 << 20);
  const auto large = cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0);
  CHECK((cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0) == large));
  const auto small = cache.get(DEEPBENCH_F32, 10, Inputs::kUniform, kSeed, 0);
  CHECK((small == large));
  for (uint64_t i = 0; i < 10; ++i)
    CHECK(element(small->data(), DEEPBENCH_F32, i) ==
          deepbench_element(DEEPBENCH_F32, kSeed, 0, i));
}

TEST_CASE("other requests create operands, and operands in use stay valid") {
  OperandCache cache(1 << 20);
  const auto first = cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0);
  CHECK((cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 1) != first));  // another operand
  CHECK((cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0) == first));
  const auto larger = cache.get(DEEPBENCH_F32, 1001, Inputs::kUniform, kSeed, 0);
  CHECK((larger != first));
  CHECK(element(larger->data(), DEEPBENCH_F32, 1000) ==
        deepbench_element(DEEPBENCH_F32, kSeed, 0, 1000));
  CHECK((cache.get(DEEPBENCH_BF16, 1000, Inputs::kUniform, kSeed, 0) != larger));
  const auto ones = cache.get(DEEPBENCH_BF16, 1000, Inputs::kOnes, kSeed, 0);
  CHECK(element(ones->data(), DEEPBENCH_BF16, 0) == 1);
  const auto other_seed = cache.get(DEEPBENCH_BF16, 1000, Inputs::kOnes, kSeed + 1, 0);
  CHECK((other_seed != ones));
  CHECK(element(first->data(), DEEPBENCH_F32, 999) ==
        deepbench_element(DEEPBENCH_F32, kSeed, 0, 999));
}

TEST_CASE("large operands are not cached, and clear empties the cache") {
  OperandCache cache(4000);
  const auto cached = cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0);
  cache.clear();
  CHECK((cache.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0) != cached));
  const auto large = cache.get(DEEPBENCH_F32, 1001, Inputs::kUniform, kSeed, 0);
  CHECK((cache.get(DEEPBENCH_F32, 1001, Inputs::kUniform, kSeed, 0) != large));
  OperandCache none(0);
  const auto one = none.get(DEEPBENCH_F32, 1, Inputs::kUniform, kSeed, 0);
  CHECK((none.get(DEEPBENCH_F32, 1, Inputs::kUniform, kSeed, 0) != one));
}

}  // namespace
}  // namespace deepbench::cpu
