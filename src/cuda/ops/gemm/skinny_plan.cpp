// From dimensions to lanes, rows, splits and blocks.
#include "ops/gemm/skinny_plan.hpp"

#include <algorithm>

#include "buffer.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kWarp = 32, kMostWarps = SKINNY_THREADS / kWarp;
constexpr uint32_t kMostParts = 2048;
constexpr uint32_t kRoundsOfPart = 4;  // at least: a part costs as much as one or two
constexpr uint32_t kBusyWarps = 8;     // of a multiprocessor, that keep memory busy
// What could be read while a read is on its way, by one multiprocessor: in vectors of a whole warp.
constexpr uint64_t kLatency = 32;

// Threads to rows, before anything is known of blocks.
struct Mapping {
  int lanes, rows;
  uint32_t rows_of_warp() const { return kWarp / uint32_t(lanes) * uint32_t(rows); }
};

uint32_t divide_up(uint64_t value, uint64_t by) { return uint32_t((value + by - 1) / by); }

uint32_t warps_of(const SkinnyTask& task, const Mapping& mapping) {
  return divide_up(task.m, mapping.rows_of_warp());
}

// Vectors under way are kept in registers, of which a thread has 128.
int most_depth(int columns, int rows) {
  return std::max(1, std::min({8, 16 / rows, SKINNY_MOST_COLUMNS / columns}));
}

// Without the grid. Rounds of equal depth rather than full ones and a rest.
SkinnyPlan instance_of(const SkinnyTask& task, const Mapping& mapping) {
  SkinnyPlan plan;
  plan.m = task.m, plan.columns = int(task.columns), plan.lanes = mapping.lanes,
  plan.rows = mapping.rows;
  const uint32_t steps = divide_up(task.vectors, uint32_t(mapping.lanes));
  const uint32_t rounds = divide_up(steps, uint32_t(most_depth(plan.columns, plan.rows)));
  plan.depth = int(divide_up(steps, rounds));
  return plan;
}

uint32_t vectors_of_round(const SkinnyPlan& plan) { return uint32_t(plan.lanes * plan.depth); }
uint32_t rounds_of(const SkinnyTask& task, const SkinnyPlan& plan) {
  return divide_up(task.vectors, vectors_of_round(plan));
}

// Parts are whole rounds, and none is empty.
void set_grid(SkinnyPlan& plan, const SkinnyTask& task, uint32_t warps_of_block, uint32_t split) {
  const uint32_t rounds = rounds_of(task, plan), part_rounds = divide_up(rounds, split);
  plan.threads = warps_of_block * kWarp;
  plan.blocks = divide_up(warps_of(task, {plan.lanes, plan.rows}), warps_of_block);
  plan.split = divide_up(rounds, part_rounds);
  plan.part_vectors = part_rounds * vectors_of_round(plan);
}

// Of the multiprocessor that has the most.
uint32_t most_blocks(const SkinnyPlan& plan, const SkinnyTask& task) {
  return divide_up(uint64_t(plan.blocks) * plan.split, uint64_t(task.multiprocessors));
}

// Its time, about: every round waits once, and then come the vectors of A for all of its warps and
// those of B for all of its blocks.
uint64_t cost(const SkinnyPlan& plan, const SkinnyTask& task) {
  const uint64_t of_block = plan.threads / kWarp * uint64_t(plan.rows) + uint64_t(plan.columns);
  const uint64_t at_once = most_blocks(plan, task) * of_block * uint64_t(plan.depth);
  return plan.part_vectors / vectors_of_round(plan) * (kLatency + at_once);
}

uint32_t most_parts(const SkinnyTask& task, const SkinnyPlan& plan) {
  return std::clamp(rounds_of(task, plan) / kRoundsOfPart, 1u, kMostParts);
}

// Split, the grid is one wave: whoever comes last waits for nobody.
bool is_allowed(const SkinnyPlan& plan, const SkinnyTask& task) {
  return plan.split == 1 || (most_blocks(plan, task) * plan.threads <= SKINNY_THREADS &&
                             plan.workspace_bytes() <= task.workspace_bytes);
}

// The best grid. Fewer parts and larger blocks unless others are better by more than this can tell.
SkinnyPlan plan_of(const SkinnyTask& task, const Mapping& mapping) {
  SkinnyPlan best = instance_of(task, mapping), tried = best;
  const uint32_t warps = std::min(kMostWarps, warps_of(task, mapping));
  const uint32_t parts = most_parts(task, best);
  set_grid(best, task, warps, 1);
  for (uint32_t split = 1; split <= parts; ++split)
    for (uint32_t of_block = warps; of_block > 0; --of_block) {
      set_grid(tried, task, of_block, split);
      if (tried.split != split || !is_allowed(tried, task)) continue;
      if (cost(tried, task) * 103 < cost(best, task) * 100) best = tried;
    }
  return best;
}

// As many rows of a group as leave enough warps, since each reads B once for all of its rows; where
// k is split there are enough.
Mapping own_mapping(const SkinnyTask& task) {
  for (const int rows : {4, 2})
    if (warps_of(task, {32, rows}) >= kBusyWarps * uint32_t(task.multiprocessors))
      return {32, rows};
  const SkinnyPlan split = plan_of(task, {32, 4});
  return split.split > 1 ? Mapping{32, 4} : Mapping{32, 1};
}

// The same with more blocks than one wave, for those that finish early to take.
SkinnyPlan more_parts(SkinnyPlan plan, const SkinnyTask& task) {
  set_grid(plan, task, plan.threads / kWarp, std::min(2 * plan.split, most_parts(task, plan)));
  return plan;
}

}  // namespace

std::string SkinnyPlan::name() const {
  return "lanes=" + std::to_string(lanes) + ",rows=" + std::to_string(rows) +
         ",split=" + std::to_string(split);
}

std::string SkinnyPlan::expression() const {
  std::string text = "skinny<";
  for (const int value : {columns, rows, depth, lanes}) text += std::to_string(value) + ", ";
  return text + (split > 1 ? "true>" : "false>");
}

Shape SkinnyPlan::launch() const {
  Shape shape;
  shape.grid_x = blocks, shape.grid_y = split, shape.block_x = threads;
  return shape;
}

uint64_t SkinnyPlan::workspace_bytes() const {
  if (split == 1) return 0;
  return sizeof(uint32_t) * (uint64_t(m) * uint64_t(columns) + blocks);
}

std::vector<SkinnyPlan> skinny_plans(const SkinnyTask& task) {
  std::vector<SkinnyPlan> plans;
  const auto add = [&](const SkinnyPlan& plan) {
    const auto is_it = [&](const SkinnyPlan& one) { return one.name() == plan.name(); };
    if (std::none_of(plans.begin(), plans.end(), is_it)) plans.push_back(plan);
  };
  add(plan_of(task, own_mapping(task)));
  if (plans.front().split > 1) add(more_parts(plans.front(), task));
  for (const Mapping& mapping :
       {Mapping{32, 4}, Mapping{32, 2}, Mapping{32, 1}, Mapping{16, 2}, Mapping{8, 2}})
    add(plan_of(task, mapping));
  return plans;
}

}  // namespace deepbench::cuda
