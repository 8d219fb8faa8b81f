// Products with few columns, run on the host without a device: every number of columns and every
// division is compared with three loops.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/fill.h"
#include "ops/gemm/skinny_plan.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <skinny.cu>

namespace deepbench::cuda_test {
namespace {

using cuda::SkinnyPlan;

constexpr uint64_t kSeed = 3;
constexpr uint32_t kGuard = 0xdeadbeef;

// Operands as the kernel expects them, with k padded with zeros, and a guard element after D.
struct SkinnyCase {
  uint32_t m, n, k, vectors;
  std::vector<uint4> a, b;
  std::vector<uint32_t> c, d, workspace;

  SkinnyCase(uint32_t rows, uint32_t columns, uint32_t depth)
      : m(rows),
        n(columns),
        k(depth),
        vectors((k + 15) / 16),
        a(uint64_t(m) * vectors),
        b(uint64_t(n) * vectors),
        c(uint64_t(m) * n),
        d(c.size() + 1, kGuard) {
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t l = 0; l < k; ++l)
        at(a, i, l) = (signed char)deepbench_integer(DEEPBENCH_S8, kSeed, 0, uint64_t(i) * k + l);
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t l = 0; l < k; ++l)
        at(b, j, l) = (signed char)deepbench_integer(DEEPBENCH_S8, kSeed, 1, uint64_t(j) * k + l);
    for (uint32_t i = 0; i < c.size(); ++i) c[i] = uint32_t(deepbench_bits(kSeed, 2, i));
  }

  signed char& at(std::vector<uint4>& matrix, uint32_t line, uint32_t l) const {
    return reinterpret_cast<signed char*>(&matrix[uint64_t(line) * vectors])[l];
  }

  // C holds arbitrary 32-bit numbers, so sums wrap around.
  uint64_t count_wrong() {
    uint64_t wrong = d.back() != kGuard;
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t i = 0; i < m; ++i) {
        uint32_t sum = c[i + j * m];
        for (uint32_t l = 0; l < k; ++l) sum += uint32_t(at(a, i, l) * at(b, j, l));
        wrong += d[i + j * m] != sum;
      }
    return wrong;
  }

  SkinnyProduct product(const SkinnyPlan& plan) {
    workspace.resize(plan.workspace_bytes() / sizeof(uint32_t));
    SkinnyProduct product = {};
    product.a = a.data(), product.b = b.data(), product.c = c.data(), product.d = d.data();
    product.m = m, product.vectors = vectors, product.part_vectors = plan.part_vectors;
    product.sums = workspace.data(), product.arrivals = workspace.data() + uint64_t(m) * n;
    return product;
  }

  bool is_workspace_clear() const {
    for (const uint32_t word : workspace)
      if (word != 0) return false;
    return true;
  }
};

template <int kColumns, int kRows, int kDepth, int kLanes>
void run_plan(const SkinnyPlan& plan, const SkinnyProduct& product) {
  if (plan.split > 1)
    emulate(plan.launch(), Barriers::kUsed,
            [&] { skinny<kColumns, kRows, kDepth, kLanes, true>(product); });
  else
    emulate(plan.launch(), Barriers::kUsed,
            [&] { skinny<kColumns, kRows, kDepth, kLanes, false>(product); });
}

// Returns a plan for the instance with the given number of warps per block and of parts of similar
// size.
SkinnyPlan plan_of(const SkinnyCase& product, int rows, int depth, int lanes, uint32_t warps,
                   uint32_t split) {
  SkinnyPlan plan;
  plan.m = product.m, plan.columns = int(product.n), plan.rows = rows, plan.depth = depth,
  plan.lanes = lanes;
  plan.threads = 32 * warps;
  const uint32_t rows_of_block = plan.threads / uint32_t(lanes) * uint32_t(rows);
  plan.blocks = (product.m + rows_of_block - 1) / rows_of_block;
  plan.part_vectors = (product.vectors + split - 1) / split;
  plan.split = (product.vectors + plan.part_vectors - 1) / plan.part_vectors;
  return plan;
}

template <int kColumns, int kRows, int kDepth, int kLanes>
void check_product(uint32_t m, uint32_t k) {
  for (const uint32_t warps : {1u, 3u})
    for (const uint32_t split : {1u, 3u}) {
      SkinnyCase product(m, kColumns, k);
      const SkinnyPlan plan = plan_of(product, kRows, kDepth, kLanes, warps, split);
      INFO(m, " x ", kColumns, " x ", k, ": ", plan.name(), ", ", warps, " warps, ", plan.blocks,
           " blocks of rows");
      // The second call uses the workspace that the first leaves behind.
      for (int call = 0; call < 2; ++call) {
        const SkinnyProduct task = product.product(plan);
        run_plan<kColumns, kRows, kDepth, kLanes>(plan, task);
        CHECK(product.count_wrong() == 0);
        CHECK(product.is_workspace_clear());
        for (uint64_t i = 0; i + 1 < product.d.size(); ++i) product.d[i] = kGuard;
      }
    }
}

template <int kColumns>
void check_columns() {
  check_product<kColumns, 1, 1, 32>(1, 1);
  check_product<kColumns, 4, 2, 32>(5, 700);
  check_product<kColumns, 2, 4, 32>(7, 5000);
  check_product<kColumns, 1, 2, 32>(3, 1536);
  check_product<kColumns, 2, 3, 16>(9, 1030);
  check_product<kColumns, 4, 1, 8>(37, 515);
  check_product<kColumns, 1, 2, 8>(2, 16);
}

TEST_CASE("kernels on the host: skinny is correct for every number of columns") {
  check_columns<1>();
  check_columns<2>();
  check_columns<3>();
  check_columns<4>();
  check_columns<5>();
  check_columns<6>();
  check_columns<7>();
  check_columns<8>();
}

}  // namespace
}  // namespace deepbench::cuda_test
