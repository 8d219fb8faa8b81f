// Chooses the width of accesses and the shape of blocks.
#include "ops/embedding/lookup_kernel.hpp"

#include <algorithm>
#include <limits>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kThreads = 256;

uint64_t divide_up(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

std::string element_name(const Embedding& embedding) {
  switch (embedding.precision.precision) {
    case Precision::kFloat:
      return "Float";
    case Precision::kHalf:
      return "Half";
    case Precision::kBfloat16:
      return "Bfloat16";
    default:
      plugin::unsupported("the built-in kernels have tables of float, half and bfloat16, not of " +
                          std::string(embedding.precision.name));
  }
}

struct Access {
  const char* type;
  uint64_t bytes;
};

// The widest access that divides a row, so that every row begins at a multiple of it.
Access access_of(uint64_t row_bytes) {
  constexpr Access kAll[] = {{"uint4", 16}, {"uint2", 8}, {"uint32_t", 4}, {"uint16_t", 2}};
  return *std::find_if(std::begin(kAll), std::end(kAll),
                       [&](const Access& access) { return row_bytes % access.bytes == 0; });
}

std::string expression_of(const Embedding& embedding, const Access& access) {
  const std::string types = element_name(embedding) + ", " + access.type;
  if (embedding.is_backward) return "add_gradients<" + types + ">";
  if (embedding.lookups_per_row() > 1) return "sum_rows<" + types + ">";
  return std::string("copy_rows<") + access.type + ">";
}

}  // namespace

LookupKernel lookup_kernel(const Embedding& embedding) {
  const uint64_t row_bytes = uint64_t(embedding.dim) * uint64_t(size_of(embedding.type()));
  const Access access = access_of(row_bytes);
  const uint64_t vectors = row_bytes / access.bytes;
  if (vectors > std::numeric_limits<uint32_t>::max())
    plugin::unsupported("the built-in kernels have rows of at most 2^32 accesses");
  LookupKernel made;
  made.expression = expression_of(embedding, access);
  made.lookups = {nullptr,
                  nullptr,
                  nullptr,
                  uint32_t(embedding.output_rows()),
                  uint32_t(embedding.lookups_per_row()),
                  uint32_t(vectors)};
  // The number of threads along a row that leaves the fewest idle in the last of their rounds.
  const uint64_t rounds = divide_up(vectors, kThreads);
  made.shape.block_x = uint32_t(divide_up(vectors, rounds));
  made.shape.block_y = uint32_t(kThreads / made.shape.block_x);
  const bool is_sum = !embedding.is_backward && embedding.lookups_per_row() > 1;
  const uint64_t rows = is_sum ? made.lookups.count : uint64_t(embedding.all_lookups());
  const uint64_t at_once = is_sum ? 1 : EMBEDDING_ROWS_AT_ONCE;
  made.shape.grid_x = uint32_t(divide_up(rows, made.shape.block_y * at_once));
  return made;
}

}  // namespace deepbench::cuda
