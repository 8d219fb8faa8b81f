// Products with few columns on tensor cores, run on the host without a device: every number of
// tiles and every division is compared with three loops. The blocks of a cluster execute the
// kernel's phases together; the operands that threads pass to the tensor cores are recorded and
// multiplied when all threads of the warp have passed theirs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "deepbench/fill.h"
#include "ops/gemm/skinny_mma_plan.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"
#include "emulated_mma.hpp"

// Replaces the headers of the same names: the 16-bit types are integers, and clusters are emulated.
#define DEEPBENCH_CUDA_KERNELS_TENSOR_CORE_H_
#define DEEPBENCH_CUDA_KERNELS_CLUSTER_H_

namespace deepbench::cuda_test {
namespace {

struct Float4 {
  float x, y, z, w;
};

struct RecordedMma {
  float (*sums)[4];
  MmaOperands operands;
};
std::vector<RecordedMma>* recorded = nullptr;  // recorded operands of the current thread

// The shared memory of the cluster's blocks, and the index of the current block.
std::vector<std::vector<Float4>> cluster;
uint32_t running_block = 0;

}  // namespace
}  // namespace deepbench::cuda_test

#define float4 ::deepbench::cuda_test::Float4

template <int kType>
struct SixteenBitFloat {
  static float to_float(uint16_t word) { return float(int16_t(word)); }
  static uint16_t from_float(float value) { return uint16_t(int16_t(value)); }
  static void multiply(float (&sums)[4], uint4 tile, uint2 columns) {
    deepbench::cuda_test::recorded->push_back({&sums, {tile, columns}});
  }
};

inline void cluster_arrive() {}
inline void cluster_wait() {}
inline void cluster_barrier() {}
inline void store_to_block(uint32_t block, float4* to, const float (&v)[4]) {
  using deepbench::cuda_test::cluster;
  using deepbench::cuda_test::running_block;
  const size_t index = size_t(to - cluster[running_block].data());
  cluster[block].at(index) = {v[0], v[1], v[2], v[3]};
}

// The __global__ function itself, which the tests do not call.
#undef __shared__
#define __shared__
#define __align__(bytes)
#define __grid_constant__
#define __cluster_dims__(...)
using std::min;

// The build copies the kernel source to an include folder.
#include <skinny_mma.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 4;
constexpr uint16_t kGuard = 0x7eee;

// Operands of integers that are small enough for exact sums, and a guard element after D.
struct SkinnyMmaCase {
  uint32_t m, n, k;
  bool transposed;
  std::vector<Uint4> a, b;
  std::vector<uint16_t> c, d;

  SkinnyMmaCase(uint32_t rows, uint32_t columns, uint32_t depth, bool a_transposed)
      : m(rows),
        n(columns),
        k(depth),
        transposed(a_transposed),
        a(uint64_t(m) * k / 8),
        b(uint64_t(n) * k / 8),
        c(uint64_t(m) * n),
        d(c.size() + 1, kGuard) {
    for (uint64_t i = 0; i < 8 * a.size(); ++i) elements(a)[i] = small_element(0, i);
    for (uint64_t i = 0; i < 8 * b.size(); ++i) elements(b)[i] = small_element(1, i) | 1;
    for (uint64_t i = 0; i < c.size(); ++i) c[i] = small_element(2, i);
  }

  static uint16_t small_element(uint32_t stream, uint64_t index) {
    return uint16_t(int16_t(deepbench_bits(kSeed, stream, index) % 5) - 2);
  }
  static uint16_t* elements(std::vector<Uint4>& matrix) {
    return reinterpret_cast<uint16_t*>(matrix.data());
  }

  uint64_t count_wrong() {
    uint64_t wrong = d.back() != kGuard;
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t i = 0; i < m; ++i) {
        int32_t sum = int16_t(c[i + uint64_t(j) * m]);
        for (uint32_t l = 0; l < k; ++l) {
          const uint64_t index = transposed ? l + uint64_t(i) * k : i + uint64_t(l) * m;
          sum += int16_t(elements(a)[index]) * int16_t(elements(b)[l + uint64_t(j) * k]);
        }
        wrong += int16_t(d[i + uint64_t(j) * m]) != sum;
      }
    return wrong;
  }

  SkinnyMmaProduct product(uint32_t part_steps) {
    return {elements(a), elements(b), c.data(), d.data(), m, n, k, part_steps};
  }
};

// Multiplies the operands that all lanes of a warp recorded at the same time.
void multiply_recorded_operands(const std::vector<RecordedMma>* of_lane, size_t which) {
  for (uint32_t lane = 0; lane < 32; ++lane)
    multiply_for(
        lane, [&](uint32_t other) { return of_lane[other][which].operands; },
        [](uint32_t word) { return float(int16_t(word)); }, *of_lane[lane][which].sums);
}

template <bool kTransposed, uint32_t kColumns, uint32_t kRows, uint32_t kWarps, uint32_t kSplit,
          bool kWholeSteps>
class Cluster {
 public:
  using Part = few_columns_mma::Block<0, kTransposed, kColumns, kRows, kWarps, kSplit, kWholeSteps>;

  explicit Cluster(const SkinnyMmaProduct& product) : product_(product) {}

  void run(uint32_t number) {
    constexpr SkinnyMmaShape kShape = {kColumns, kRows, kWarps, kSplit};
    constexpr uint32_t kFours = skinny_mma_shared_bytes(kShape) / sizeof(Float4);
    cluster.assign(kSplit, std::vector<Float4>(kFours, Float4{1e9f, 1e9f, 1e9f, 1e9f}));
    threads_.assign(kSplit * kWarps * 32, Thread());
    recorded_.assign(threads_.size(), {});
    number_ = number;
    for_each_thread([](Part& part, Thread& mine) {
      part.load_c(mine.c);
      part.multiply_part(mine.sums);
    });
    for (size_t first = 0; first < threads_.size(); first += 32) multiply_warp(&recorded_[first]);
    for_each_thread([](Part& part, Thread& mine) { part.distribute_tiles(mine.sums); });
    for_each_thread([](Part& part, Thread& mine) { part.store_results(mine.c); });
  }

  // Elements of A that were multiplied by the zeros beyond the end of k, since no element of B is
  // 0.
  uint64_t elements_times_nothing() const { return elements_times_nothing_; }

 private:
  struct Thread {
    float sums[kRows][kColumns][4] = {};
    uint32_t c[Part::kRounds][2] = {};
  };

  template <class Phase>
  void for_each_thread(Phase phase) {
    for (size_t i = 0; i < threads_.size(); ++i) {
      running_block = uint32_t(i / (kWarps * 32));
      thread_index = {uint32_t(i % (kWarps * 32)), 0, 0};
      block_index = {number_ * kSplit + running_block, 0, 0};
      recorded = &recorded_[i];
      Part part{product_, cluster[running_block].data()};
      phase(part, threads_[i]);
    }
  }
  void multiply_warp(const std::vector<RecordedMma>* of_lane) {
    for (int lane = 0; lane < 32; ++lane) {
      REQUIRE(of_lane[lane].size() == of_lane[0].size());
      for (const RecordedMma& mma : of_lane[lane]) {
        const auto& [tile, columns] = mma.operands;
        const bool nothing = columns.x == 0 && columns.y == 0;
        elements_times_nothing_ += nothing && (tile.x | tile.y | tile.z | tile.w) != 0;
      }
    }
    for (size_t which = 0; which < of_lane[0].size(); ++which)
      multiply_recorded_operands(of_lane, which);
  }

  const SkinnyMmaProduct& product_;
  uint32_t number_ = 0;
  uint64_t elements_times_nothing_ = 0;
  std::vector<Thread> threads_;
  std::vector<std::vector<RecordedMma>> recorded_;
};

template <bool kTransposed, uint32_t kColumns, uint32_t kRows, uint32_t kWarps, uint32_t kSplit>
void check_product(uint32_t m, uint32_t n, uint32_t k) {
  CAPTURE(kTransposed);
  CAPTURE(kRows);
  CAPTURE(kWarps);
  CAPTURE(kSplit);
  INFO(m, " x ", n, " x ", k);
  SkinnyMmaCase operands(m, n, k, kTransposed);
  const uint32_t steps = (k + SKINNY_MMA_STEP - 1) / SKINNY_MMA_STEP;
  const SkinnyMmaProduct product =
      operands.product((steps + kWarps * kSplit - 1) / (kWarps * kSplit));
  const auto run = [&](auto whole_steps) {
    Cluster<kTransposed, kColumns, kRows, kWarps, kSplit, whole_steps> blocks(product);
    for (uint32_t i = 0; i * 16 * kRows < m; ++i) blocks.run(i);
    CHECK(operands.count_wrong() == 0);
    CHECK(blocks.elements_times_nothing() == 0);
  };
  if (k % SKINNY_MMA_STEP == 0)
    run(std::true_type());
  else
    run(std::false_type());
}

// Covers empty parts, a k that is no multiple of a step, and rows and columns that do not fill a
// tile.
template <uint32_t kColumns>
void check_columns() {
  for (const uint32_t n : {8 * kColumns - 7, 8 * kColumns - 2, 8 * kColumns}) {
    check_product<true, kColumns, 1, 16, 1>(24, n, 40);
    check_product<true, kColumns, 2, 8, 1>(40, n, 96);
    check_product<false, kColumns, 2, 4, 2>(24, n, 1088);
    check_product<true, kColumns, 1, 8, 1>(8, n, 1096);
    check_product<true, kColumns, 2, 8, 1>(40, n, 264);
    check_product<true, kColumns, 2, 8, 2>(72, n, 8);
    check_product<true, kColumns, 2, 4, 2>(24, n, 1096);
    check_product<true, kColumns, 2, 4, 4>(40, n, 552);
    check_product<false, kColumns, 2, 8, 1>(40, n, 264);
    check_product<false, kColumns, 2, 8, 2>(8, n, 8);
    check_product<false, kColumns, 2, 4, 2>(24, n, 1096);
    check_product<false, kColumns, 2, 4, 4>(72, n, 552);
    check_product<true, kColumns, 1, 16, 2>(24, n, 1096);
    check_product<true, kColumns, 1, 16, 4>(8, n, 2120);
    check_product<true, kColumns, 1, 8, 8>(24, n, 2120);
    check_product<false, kColumns, 2, 8, 4>(40, n, 1096);
    check_product<false, kColumns, 2, 8, 8>(40, n, 2120);
  }
}

TEST_CASE("kernels on the host: skinny_mma is correct for every width and division") {
  check_columns<1>();
  check_columns<2>();
  check_columns<3>();
  check_columns<4>();
}

}  // namespace
}  // namespace deepbench::cuda_test
