// The kernel that fills the summands of ranks, run by the host.
#include <vector>

#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.hpp"

// doctest must be included before emulated.hpp redefines CUDA's keywords.
#include <doctest/doctest.h>

#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <summand.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kElements = 701;
constexpr uint32_t kRank = 2, kRanks = 3;

template <class Stored, class Value>
void check_summands(deepbench_type type, Value value) {
  std::vector<Stored> out(kElements + 1, Stored(77));
  cuda::LaunchShape shape;
  shape.grid_x = 2, shape.block_x = 64;
  emulate(shape, Barriers::kNone,
          [&] { fill_summands(out.data(), type, kElements, 9, kRank, kRanks); });
  for (uint64_t i = 0; i < kElements; ++i)
    REQUIRE(value(out[i]) == deepbench_summand(type, 9, kRank, kRanks, i));
  CHECK(out[kElements] == Stored(77));
}

TEST_CASE("kernels on the host: summands match the generator in every type") {
  check_summands<float>(DEEPBENCH_F32, [](float stored) { return stored; });
  check_summands<uint16_t>(DEEPBENCH_F16, deepbench_from_half);
  check_summands<uint16_t>(DEEPBENCH_BF16, deepbench_from_bfloat16);
}

}  // namespace
}  // namespace deepbench::cuda_test
