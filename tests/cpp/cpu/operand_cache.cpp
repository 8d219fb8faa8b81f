// Operands that are kept: what is shared, what is made anew.
#include "operand_cache.hpp"

#include <doctest/doctest.h>

namespace deepbench::cpu {
namespace {

constexpr uint64_t kSeed = 3;

TEST_CASE("a kept operand serves every smaller one") {
  OperandCache store(1 << 20);
  const auto large = store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0);
  CHECK((store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0) == large));
  const auto small = store.get(DEEPBENCH_F32, 10, Inputs::kUniform, kSeed, 0);
  CHECK((small == large));
  for (uint64_t i = 0; i < 10; ++i)
    CHECK(element(small->data(), DEEPBENCH_F32, i) ==
          deepbench_element(DEEPBENCH_F32, kSeed, 0, i));
}

TEST_CASE("anything else is made anew, and what is in use lives on") {
  OperandCache store(1 << 20);
  const auto first = store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0);
  CHECK((store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 1) != first));  // another operand
  CHECK((store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0) == first));
  const auto larger = store.get(DEEPBENCH_F32, 1001, Inputs::kUniform, kSeed, 0);
  CHECK((larger != first));
  CHECK(element(larger->data(), DEEPBENCH_F32, 1000) ==
        deepbench_element(DEEPBENCH_F32, kSeed, 0, 1000));
  CHECK((store.get(DEEPBENCH_BF16, 1000, Inputs::kUniform, kSeed, 0) != larger));
  const auto ones = store.get(DEEPBENCH_BF16, 1000, Inputs::kOnes, kSeed, 0);
  CHECK(element(ones->data(), DEEPBENCH_BF16, 0) == 1);
  const auto other_seed = store.get(DEEPBENCH_BF16, 1000, Inputs::kOnes, kSeed + 1, 0);
  CHECK((other_seed != ones));
  CHECK(element(first->data(), DEEPBENCH_F32, 999) ==
        deepbench_element(DEEPBENCH_F32, kSeed, 0, 999));
}

TEST_CASE("large operands are not kept, and nothing after clear") {
  OperandCache store(4000);
  const auto kept = store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0);
  store.clear();
  CHECK((store.get(DEEPBENCH_F32, 1000, Inputs::kUniform, kSeed, 0) != kept));
  const auto large = store.get(DEEPBENCH_F32, 1001, Inputs::kUniform, kSeed, 0);
  CHECK((store.get(DEEPBENCH_F32, 1001, Inputs::kUniform, kSeed, 0) != large));
  OperandCache none(0);
  const auto one = none.get(DEEPBENCH_F32, 1, Inputs::kUniform, kSeed, 0);
  CHECK((none.get(DEEPBENCH_F32, 1, Inputs::kUniform, kSeed, 0) != one));
}

}  // namespace
}  // namespace deepbench::cpu
