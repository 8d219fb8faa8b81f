// Derives rows, warps, splits and blocks from the dimensions.
#include "ops/gemm/skinny_mma_plan.hpp"

#include <algorithm>
#include <optional>

namespace deepbench::cuda {
namespace {

constexpr uint32_t kBusyBlocks = 3;  // blocks of four warps that keep one multiprocessor busy
// In a part of this many steps of a warp, adding the partial sums of more warps costs little.
constexpr uint32_t kLongPart = 4 * SKINNY_MMA_DEPTH;

// The division of the work, without the number of blocks.
struct TileDivision {
  uint32_t rows, warps, split;
};
// Wide blocks suit products whose rows fit into one wave of blocks; small blocks in clusters suit
// larger products. Wide blocks in clusters suit few rows with so many columns that the parts of k
// are long.
constexpr TileDivision kTransposed[] = {{1, 16, 1}, {1, 8, 1}, {2, 8, 1},
                                        {2, 8, 2},  {2, 4, 2}, {2, 4, 4}};
constexpr TileDivision kPlain[] = {{2, 8, 1}, {2, 8, 2}, {2, 4, 2}, {2, 4, 4}};
// The largest split first.
constexpr TileDivision kWideTransposed[] = {{1, 8, 8}, {1, 16, 4}, {1, 16, 2}};
constexpr TileDivision kWidePlain[] = {{2, 8, 8}, {2, 8, 4}};

uint32_t ceil_div(uint32_t value, uint32_t by) { return value / by + (value % by != 0); }

SkinnyMmaPlan plan_of(const SkinnyMmaProblem& problem, const TileDivision& division) {
  SkinnyMmaPlan plan;
  plan.type = problem.type, plan.transposed = problem.transposed;
  plan.whole_steps = problem.k % SKINNY_MMA_STEP == 0;
  plan.shape = {ceil_div(problem.n, SKINNY_MMA_TILE_COLUMNS), division.rows, division.warps,
                division.split};
  plan.blocks = ceil_div(problem.m, SKINNY_MMA_TILE_ROWS * division.rows) * division.split;
  plan.part_steps = ceil_div(ceil_div(problem.k, SKINNY_MMA_STEP), skinny_mma_parts(plan.shape));
  return plan;
}

// The wide division with the largest split whose blocks run in one wave and whose parts are long.
std::optional<TileDivision> wide_division(const SkinnyMmaProblem& problem) {
  if (!problem.has_clusters) return {};
  const auto choose = [&](const auto& divisions) -> std::optional<TileDivision> {
    for (const TileDivision& division : divisions) {
      const SkinnyMmaPlan plan = plan_of(problem, division);
      if (plan.blocks <= uint32_t(problem.multiprocessors) && plan.part_steps >= kLongPart)
        return division;
    }
    return {};
  };
  return problem.transposed ? choose(kWideTransposed) : choose(kWidePlain);
}

// Whether the division is the default, apart from the wide one.
bool is_default(const SkinnyMmaProblem& problem, const TileDivision& division) {
  const auto multiprocessors = uint32_t(problem.multiprocessors);
  const uint32_t tiles = ceil_div(problem.m, SKINNY_MMA_TILE_ROWS);
  if (problem.transposed && tiles <= multiprocessors)
    return division.rows == 1 && division.warps == 16;
  if (!problem.has_clusters) return division.rows == 2 && division.split == 1;
  const bool fits = ceil_div(tiles, 2) * 4 <= kBusyBlocks * multiprocessors;
  return division.rows == 2 && division.warps == 4 && division.split == (fits ? 4u : 2u);
}

}  // namespace

std::string SkinnyMmaPlan::name() const {
  return "rows=" + std::to_string(SKINNY_MMA_TILE_ROWS * shape.rows) +
         ",warps=" + std::to_string(shape.warps) + ",split=" + std::to_string(shape.split);
}

std::string SkinnyMmaPlan::expression() const {
  std::string text = "skinny_mma<" + std::to_string(type) + (transposed ? ", true" : ", false");
  for (const uint32_t value : {shape.columns, shape.rows, shape.warps, shape.split})
    text += ", " + std::to_string(value);
  return text + (whole_steps ? ", true>" : ", false>");
}

LaunchShape SkinnyMmaPlan::launch() const {
  LaunchShape launch;
  launch.grid_x = blocks, launch.block_x = 32 * shape.warps;
  launch.shared_bytes = skinny_mma_shared_bytes(shape);
  return launch;
}

std::vector<SkinnyMmaPlan> skinny_mma_plans(const SkinnyMmaProblem& problem) {
  std::vector<TileDivision> divisions(std::begin(kPlain), std::end(kPlain));
  if (problem.transposed) divisions.assign(std::begin(kTransposed), std::end(kTransposed));
  std::stable_partition(divisions.begin(), divisions.end(),
                        [&](const TileDivision& one) { return is_default(problem, one); });
  if (const auto wide = wide_division(problem)) divisions.insert(divisions.begin(), *wide);
  std::vector<SkinnyMmaPlan> plans;
  for (const TileDivision& division : divisions)
    if (division.split == 1 || problem.has_clusters) plans.push_back(plan_of(problem, division));
  return plans;
}

}  // namespace deepbench::cuda
