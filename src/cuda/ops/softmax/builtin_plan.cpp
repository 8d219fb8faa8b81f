// Chooses the kernel's instance and its grid.
#include "ops/softmax/builtin_plan.hpp"

#include <algorithm>
#include <limits>

#include "deepbench/plugin.hpp"
#include "kernels/number_type.hpp"
#include "kernels/softmax.h"

namespace deepbench::cuda {
namespace {

constexpr const char* kWarp = "warp";
constexpr const char* kBlock = "block";
constexpr int64_t kColumnsOfWarp = 1024;  // at most, by default: 32 numbers for each thread
constexpr uint64_t kVectorBytes = 16;
constexpr uint64_t kVectorsOfThread = 4;  // vectors that a thread of a block reads at once

uint64_t divide_up(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

bool rows_are_aligned(const Softmax& softmax) {
  return uint64_t(softmax.columns) * uint64_t(size_of(softmax.type())) % kVectorBytes == 0;
}

// The number of threads with which each reads several vectors of the row.
uint32_t threads_of_block(const Softmax& softmax) {
  const uint64_t numbers = rows_are_aligned(softmax)
                               ? kVectorsOfThread * kVectorBytes / uint64_t(size_of(softmax.type()))
                               : kVectorsOfThread;
  const uint64_t warps = divide_up(divide_up(uint64_t(softmax.columns), numbers), SOFTMAX_WARP);
  return uint32_t(std::clamp<uint64_t>(warps * SOFTMAX_WARP, SOFTMAX_WARP, SOFTMAX_MOST_THREADS));
}

}  // namespace

std::vector<std::string> builtin_softmax_candidates(const Softmax& softmax) {
  if (softmax.columns <= kColumnsOfWarp) return {kWarp, kBlock};
  return {kBlock, kWarp};
}

BuiltinSoftmaxPlan builtin_softmax_plan(const Softmax& softmax, const std::string& candidate) {
  const bool is_block = candidate == kBlock;
  const auto text = [](bool value) { return value ? "true" : "false"; };
  BuiltinSoftmaxPlan plan;
  plan.expression = std::string("softmax_rows<") + number_type_of(softmax.type()) + ", " +
                    text(softmax.is_forward) + ", " + text(is_block) + ", " +
                    text(rows_are_aligned(softmax)) + ">";
  plan.shape.block_x = is_block ? threads_of_block(softmax) : uint32_t(SOFTMAX_THREADS);
  const uint64_t rows_of_block = is_block ? 1 : SOFTMAX_THREADS / SOFTMAX_WARP;
  const uint64_t blocks = divide_up(uint64_t(softmax.rows), rows_of_block);
  if (blocks > uint64_t(std::numeric_limits<int32_t>::max()))
    plugin::unsupported("the built-in kernel supports only as many rows as a grid has blocks");
  plan.shape.grid_x = uint32_t(blocks);
  return plan;
}

}  // namespace deepbench::cuda
