// Derives lanes, rows, splits and blocks from the dimensions.
#include "ops/gemm/skinny_plan.hpp"

#include <algorithm>

#include "buffer.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kWarp = 32, kMaxWarps = SKINNY_THREADS / kWarp;
constexpr uint32_t kMaxParts = 2048;
// The minimum number of rounds of a part, whose overhead equals one or two rounds.
constexpr uint32_t kRoundsOfPart = 4;
constexpr uint32_t kBusyWarps = 8;  // warps that keep the memory of one multiprocessor busy
// The number of warp-wide vectors that one multiprocessor could read during the latency of one
// read.
constexpr uint64_t kLatency = 32;

// The assignment of threads to rows, without the number of blocks.
struct RowAssignment {
  int lanes, rows;
  uint32_t rows_of_warp() const { return kWarp / uint32_t(lanes) * uint32_t(rows); }
};

uint32_t ceil_div(uint64_t value, uint64_t by) { return uint32_t((value + by - 1) / by); }

uint32_t warps_to_cover_rows(const SkinnyProblem& problem, const RowAssignment& assignment) {
  return ceil_div(problem.m, assignment.rows_of_warp());
}

// Vectors in flight occupy registers, of which a thread has 128.
int max_depth(int columns, int rows) {
  return std::max(1, std::min({8, 16 / rows, SKINNY_MAX_COLUMNS / columns}));
}

// Chooses the kernel without the grid. All rounds have nearly equal depth, which avoids a short
// last round.
SkinnyPlan choose_kernel(const SkinnyProblem& problem, const RowAssignment& assignment) {
  SkinnyPlan plan;
  plan.m = problem.m, plan.columns = int(problem.columns), plan.lanes = assignment.lanes,
  plan.rows = assignment.rows;
  const uint32_t steps = ceil_div(problem.vectors, uint32_t(assignment.lanes));
  const uint32_t rounds = ceil_div(steps, uint32_t(max_depth(plan.columns, plan.rows)));
  plan.depth = int(ceil_div(steps, rounds));
  return plan;
}

uint32_t vectors_of_round(const SkinnyPlan& plan) { return uint32_t(plan.lanes * plan.depth); }
uint32_t round_count(const SkinnyProblem& problem, const SkinnyPlan& plan) {
  return ceil_div(problem.vectors, vectors_of_round(plan));
}

// Parts consist of whole rounds, and no part is empty.
void set_grid(SkinnyPlan& plan, const SkinnyProblem& problem, uint32_t warps_of_block,
              uint32_t split) {
  const uint32_t rounds = round_count(problem, plan), part_rounds = ceil_div(rounds, split);
  plan.threads = warps_of_block * kWarp;
  plan.blocks = ceil_div(warps_to_cover_rows(problem, {plan.lanes, plan.rows}), warps_of_block);
  plan.split = ceil_div(rounds, part_rounds);
  plan.part_vectors = part_rounds * vectors_of_round(plan);
}

// The number of blocks on the multiprocessor that has the most.
uint32_t max_blocks_per_multiprocessor(const SkinnyPlan& plan, const SkinnyProblem& problem) {
  return ceil_div(uint64_t(plan.blocks) * plan.split, uint64_t(problem.multiprocessors));
}

// The approximate time of the multiprocessor that has the most blocks: every round waits once for
// memory and then receives the vectors of A for all warps and those of B for all blocks.
uint64_t estimated_cost(const SkinnyPlan& plan, const SkinnyProblem& problem) {
  const uint64_t of_block = plan.threads / kWarp * uint64_t(plan.rows) + uint64_t(plan.columns);
  const uint64_t at_once =
      max_blocks_per_multiprocessor(plan, problem) * of_block * uint64_t(plan.depth);
  return plan.part_vectors / vectors_of_round(plan) * (kLatency + at_once);
}

uint32_t max_parts(const SkinnyProblem& problem, const SkinnyPlan& plan) {
  return std::clamp(round_count(problem, plan) / kRoundsOfPart, 1u, kMaxParts);
}

// If k is split, the grid must fit into one wave, so that no block waits for another.
bool is_allowed(const SkinnyPlan& plan, const SkinnyProblem& problem) {
  return plan.split == 1 ||
         (max_blocks_per_multiprocessor(plan, problem) * plan.threads <= SKINNY_THREADS &&
          plan.workspace_bytes() <= problem.workspace_bytes);
}

// The best grid. It has fewer parts and larger blocks unless the estimated cost of another grid is
// lower by about 3 % or more.
SkinnyPlan plan_of(const SkinnyProblem& problem, const RowAssignment& assignment) {
  SkinnyPlan best = choose_kernel(problem, assignment), tried = best;
  const uint32_t warps = std::min(kMaxWarps, warps_to_cover_rows(problem, assignment));
  const uint32_t parts = max_parts(problem, best);
  set_grid(best, problem, warps, 1);
  for (uint32_t split = 1; split <= parts; ++split)
    for (uint32_t of_block = warps; of_block > 0; --of_block) {
      set_grid(tried, problem, of_block, split);
      if (tried.split != split || !is_allowed(tried, problem)) continue;
      if (estimated_cost(tried, problem) * 103 < estimated_cost(best, problem) * 100) best = tried;
    }
  return best;
}

// Chooses as many rows per group as leave enough warps to keep memory busy, because each group
// reads B once for all of its rows. If k is split, there are always enough warps.
RowAssignment default_row_assignment(const SkinnyProblem& problem) {
  for (const int rows : {4, 2})
    if (warps_to_cover_rows(problem, {32, rows}) >= kBusyWarps * uint32_t(problem.multiprocessors))
      return {32, rows};
  const SkinnyPlan split = plan_of(problem, {32, 4});
  return split.split > 1 ? RowAssignment{32, 4} : RowAssignment{32, 1};
}

// The same plan with more blocks than one wave, so that multiprocessors that finish early receive
// further blocks.
SkinnyPlan with_more_parts(SkinnyPlan plan, const SkinnyProblem& problem) {
  set_grid(plan, problem, plan.threads / kWarp, std::min(2 * plan.split, max_parts(problem, plan)));
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

LaunchShape SkinnyPlan::launch() const {
  LaunchShape shape;
  shape.grid_x = blocks, shape.grid_y = split, shape.block_x = threads;
  return shape;
}

uint64_t SkinnyPlan::workspace_bytes() const {
  if (split == 1) return 0;
  return sizeof(uint32_t) * (uint64_t(m) * uint64_t(columns) + blocks);
}

std::vector<SkinnyPlan> skinny_plans(const SkinnyProblem& problem) {
  std::vector<SkinnyPlan> plans;
  const auto add = [&](const SkinnyPlan& plan) {
    const auto is_it = [&](const SkinnyPlan& one) { return one.name() == plan.name(); };
    if (std::none_of(plans.begin(), plans.end(), is_it)) plans.push_back(plan);
  };
  add(plan_of(problem, default_row_assignment(problem)));
  if (plans.front().split > 1) add(with_more_parts(plans.front(), problem));
  for (const RowAssignment& assignment :
       {RowAssignment{32, 4}, RowAssignment{32, 2}, RowAssignment{32, 1}, RowAssignment{16, 2},
        RowAssignment{8, 2}})
    add(plan_of(problem, assignment));
  return plans;
}

}  // namespace deepbench::cuda
