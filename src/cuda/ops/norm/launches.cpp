// Assigns sets, rows and columns to the threads of the kernels.
#include "ops/norm/launches.hpp"

#include <algorithm>
#include <optional>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr int64_t kMostThreads = 1024;  // threads of a block, and on average of a multiprocessor
constexpr int64_t kFewThreads = 256;    // threads of a block whose threads hold two vectors or more
constexpr int64_t kMostRegisters = 32;  // elements of x that a thread holds, and half as many ...
constexpr int64_t kThreadsWithAll = 512;  // ... in larger blocks, or beside dy and two sums
constexpr int64_t kMostVectors = 8;
constexpr int64_t kFewElements = 8;  // elements of a thread, which leave room for two such blocks
constexpr int64_t kNarrowWidth = 8;  // numbers of 16 bits in a vector
constexpr int64_t kWarpVectors = 4;  // vectors of a thread, in narrow sets that one warp takes
constexpr int64_t kMostGridX = 2147483647, kMostGridY = 65535;

int64_t divided(int64_t count, int64_t by) { return (count + by - 1) / by; }

// Names an instance for the type of x. `rest` lists the arguments that follow the type.
std::string instance(const std::string& name, const Norm& norm, const std::string& rest) {
  const char* const type = norm.precision.c == DEEPBENCH_F32   ? "<DEEPBENCH_F32, "
                           : norm.precision.c == DEEPBENCH_F16 ? "<DEEPBENCH_F16, "
                                                               : "<DEEPBENCH_BF16, ";
  return name + type + rest + ">";
}

// Elements of a row that are normalized together. For batch, which has none, the whole row.
int64_t set_of_row(const Norm& norm) {
  return norm.kind == NormKind::kBatch ? norm.columns : norm.set_elements();
}

// Elements of an access: 16 bytes of them if they divide a set, and thus every row.
int64_t width_of(const Norm& norm) {
  const int64_t width = 16 / size_of(norm.precision.c);
  return set_of_row(norm) % width == 0 ? width : 1;
}

void require_grid(int64_t x, int64_t y) {
  if (x > kMostGridX || y > kMostGridY)
    plugin::unsupported("the built-in kernels cannot divide so many rows or groups into blocks");
}

// The threads along a set, the rows of a block, and the vectors of a thread.
struct SetShape {
  int64_t threads = 0, rows = 1, vectors = 0;

  LaunchShape launch(int64_t blocks, int64_t groups) const {
    require_grid(blocks, groups);
    LaunchShape shape;
    shape.block_x = uint32_t(threads), shape.block_y = uint32_t(rows);
    shape.grid_x = uint32_t(blocks), shape.grid_y = uint32_t(groups);
    return shape;
  }
};

// The smallest block whose threads hold a set in registers; empty for long sets.
std::optional<SetShape> set_in_registers(int64_t set, int64_t width, bool is_backward) {
  for (int64_t threads = NORM_WARP; threads <= kMostThreads; threads *= 2) {
    const bool is_small = is_backward ? threads < kThreadsWithAll : threads < kFewThreads;
    const int64_t most = threads == NORM_WARP && width == kNarrowWidth ? kWarpVectors : 2;
    const int64_t elements = is_backward ? kFewElements : most * width;
    if (is_small && threads * elements < set) continue;
    int64_t vectors = 1;
    while (vectors * threads * width < set) vectors *= 2;
    const bool is_full = is_backward || threads > kThreadsWithAll;
    if (is_backward && threads > kThreadsWithAll) return {};
    if (vectors > kMostVectors || vectors * width > (is_full ? kMostRegisters / 2 : kMostRegisters))
      continue;
    return SetShape{threads, threads == NORM_WARP ? kFewThreads / NORM_WARP : 1, vectors};
  }
  return {};
}

NormLaunch forward_sets(const Norm& norm) {
  const int64_t width = width_of(norm);
  if (const auto shape = set_in_registers(norm.set_elements(), width, false))
    return {instance("normalize_sets", norm,
                     std::to_string(width) + ", " + std::to_string(shape->vectors)),
            shape->launch(divided(norm.rows, shape->rows), norm.groups)};
  return {instance("normalize_long_sets", norm, std::to_string(width)),
          SetShape{kMostThreads}.launch(norm.rows, norm.groups)};
}

// The launch of the kernels over columns.
LaunchShape column_shape(const Norm& norm, int multiprocessors) {
  const int64_t vectors = norm.columns / width_of(norm);
  LaunchShape shape;
  while (shape.block_x < NORM_WARP && shape.block_x < vectors) shape.block_x *= 2;
  shape.block_y = NORM_COLUMN_THREADS / shape.block_x;
  const int64_t across = divided(vectors, shape.block_x);
  const int64_t useful = divided(norm.rows, int64_t{shape.block_y} * NORM_ROWS_IN_FLIGHT);
  const int64_t wanted = divided(multiprocessors * kMostThreads / NORM_COLUMN_THREADS, across);
  const int64_t down = std::clamp<int64_t>(wanted, 1, std::min(useful, kMostGridY));
  require_grid(across, down);
  shape.grid_x = uint32_t(across), shape.grid_y = uint32_t(down);
  return shape;
}

void add_column_sums(const Norm& norm, const std::string& sums, int multiprocessors,
                     NormLaunches& to) {
  const LaunchShape shape = column_shape(norm, multiprocessors);
  to.launches.push_back(
      {instance("sum_columns", norm, std::to_string(width_of(norm)) + ", " + sums), shape});
  to.partial_bytes = 2 * uint64_t(shape.grid_y) * uint64_t(norm.columns) * sizeof(float);
}

void add_combination(const Norm& norm, const std::string& sums, NormLaunches& to) {
  LaunchShape shape;
  shape.block_x = shape.block_y = NORM_COMBINING_THREADS;
  shape.grid_x = uint32_t(divided(norm.columns, NORM_COMBINING_THREADS));
  const uint64_t parts = to.partial_bytes / (2 * uint64_t(norm.columns) * sizeof(float));
  to.launches.push_back(
      {instance("combine_columns", norm, sums), shape, NormLaunch::Second::kParts, parts});
}

NormLaunches backward_sets(const Norm& norm, int multiprocessors) {
  NormLaunches made;
  const int64_t width = width_of(norm);
  if (const auto shape = set_in_registers(norm.set_elements(), width, true)) {
    const int64_t useful = divided(norm.rows, shape->rows);
    const int64_t resident = shape->vectors * width > kFewElements ? kThreadsWithAll : kMostThreads;
    const int64_t wanted =
        multiprocessors * resident / (shape->threads * shape->rows * norm.groups);
    const int64_t blocks = std::clamp<int64_t>(wanted, 1, useful);
    made.launches.push_back(
        {instance("differentiate_sets", norm,
                  std::to_string(width) + ", " + std::to_string(shape->vectors)),
         shape->launch(blocks, norm.groups)});
    made.partial_bytes =
        2 * uint64_t(blocks * shape->rows) * uint64_t(norm.columns) * sizeof(float);
  } else {
    made.launches.push_back({instance("differentiate_long_sets", norm, std::to_string(width)),
                             SetShape{kMostThreads}.launch(norm.rows, norm.groups)});
    add_column_sums(norm, "kGradientsOfRows", multiprocessors, made);
  }
  add_combination(norm, "kGradientsOfRows", made);
  return made;
}

NormLaunches backward_batch(const Norm& norm, int multiprocessors) {
  NormLaunches made;
  add_column_sums(norm, "kGradientsOfBatch", multiprocessors, made);
  add_combination(norm, "kGradientsOfBatch", made);
  made.launches.push_back({instance("differentiate_columns", norm, std::to_string(width_of(norm))),
                           column_shape(norm, multiprocessors)});
  return made;
}

NormLaunches batch_statistics(const Norm& norm, int multiprocessors) {
  NormLaunches made;
  add_column_sums(norm, "kMoments", multiprocessors, made);
  add_combination(norm, "kMoments", made);
  return made;
}

NormLaunches forward_batch(const Norm& norm, int multiprocessors) {
  NormLaunches made;
  if (!norm.has_running_statistics()) made = batch_statistics(norm, multiprocessors);
  made.launches.push_back({instance("normalize_columns", norm, std::to_string(width_of(norm))),
                           column_shape(norm, multiprocessors), NormLaunch::Second::kIsVariance,
                           uint64_t(norm.has_running_statistics())});
  return made;
}

}  // namespace

std::string NormLaunches::text() const {
  std::string all;
  for (const NormLaunch& launch : launches) all += (all.empty() ? "" : ", ") + launch.expression;
  return all;
}

NormLaunches norm_launches(const Norm& norm, int multiprocessors) {
  const bool is_batch = norm.kind == NormKind::kBatch;
  if (norm.is_backward())
    return is_batch ? backward_batch(norm, multiprocessors) : backward_sets(norm, multiprocessors);
  return is_batch ? forward_batch(norm, multiprocessors) : NormLaunches{{forward_sets(norm)}, 0};
}

NormLaunches statistics_launches(const Norm& norm, int multiprocessors) {
  return norm.kind == NormKind::kBatch ? batch_statistics(norm, multiprocessors)
                                       : NormLaunches{{forward_sets(norm)}, 0};
}

}  // namespace deepbench::cuda
