// The persistent recurrent layer, run on the host without a device: every cell and block shape is
// compared with loops in double. The operands that threads pass to the tensor cores are multiplied
// when all threads of the warp have passed theirs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "deepbench/fill.h"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"
#include "emulated_grid.hpp"
#include "emulated_mma.hpp"

// Replaces the header of this name.
#define DEEPBENCH_CUDA_KERNELS_TENSOR_CORE_H_

namespace deepbench::cuda_test {
namespace {

struct RecordedMma {
  MmaOperands operands;
  uint32_t word;
};
std::vector<RecordedMma> all_recorded;  // by each thread of all blocks

// What the current thread recorded, and what the lanes of its warp recorded.
RecordedMma& recorded() { return all_recorded[grid.thread()]; }
const RecordedMma& recorded_by(uint32_t lane) {
  return all_recorded[grid.thread() / 32 * 32 + lane];
}

uint32_t from_next_lane(uint32_t value) {
  recorded().word = value;
  grid.warp_barrier();
  const uint32_t other = recorded_by((grid.lane() + 1) % 32).word;
  grid.warp_barrier();
  return other;
}

}  // namespace
}  // namespace deepbench::cuda_test

template <int kType>
struct SixteenBitFloat {
  static float to_float(uint16_t word) {
    return kType == DEEPBENCH_F16 ? deepbench_from_half(word) : deepbench_from_bfloat16(word);
  }
  static uint16_t from_float(float value) {
    return kType == DEEPBENCH_F16 ? deepbench_to_half(value) : deepbench_to_bfloat16(value);
  }
  static void multiply(float (&sums)[4], uint4 tile, uint2 columns) {
    using deepbench::cuda_test::grid, deepbench::cuda_test::recorded_by;
    deepbench::cuda_test::recorded().operands = {tile, columns};
    grid.warp_barrier();
    deepbench::cuda_test::multiply_for(
        grid.lane(), [](uint32_t lane) { return recorded_by(lane).operands; },
        [](uint32_t word) { return to_float(uint16_t(word)); }, sums);
    grid.warp_barrier();
  }
};

#undef __shared__
#undef __syncthreads
#define __shared__
#define __align__(bytes)
#define __grid_constant__
#define __syncthreads() ::deepbench::cuda_test::grid.block_barrier()
#define __syncwarp() ::deepbench::cuda_test::grid.warp_barrier()
#define __shfl_down_sync(mask, value, apart) ::deepbench::cuda_test::from_next_lane(value)
#define __expf(x) std::exp(x)
#define __trap() throw std::logic_error("a state did not arrive")

// The build copies the kernel source to an include folder.
#include <persistent.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 6;
constexpr uint32_t kFirstStep = 0x01010101;

template <int kCell, int kType, uint32_t kHidden, uint32_t kUnits, uint32_t kBatch>
class LayerCase {
 public:
  using Kernel = persistent::Layer<kCell, kType, kHidden, kUnits, kBatch>;
  using T = SixteenBitFloat<kType>;
  static constexpr uint32_t kGates = Kernel::kGates, kStates = kBatch * kHidden;
  static constexpr uint32_t kBiases = kGates + (kCell == CELL_GRU);

  explicit LayerCase(uint32_t timesteps)
      : timesteps_(timesteps),
        x_(elements(0, timesteps * kStates, 1)),
        u_(elements(1, kGates * kHidden * kHidden, 1.5f / std::sqrt(float(kHidden)))),
        b_(elements(2, kBiases * kHidden, 0.5f)),
        h0_(elements(3, kStates, 1)),
        c0_(elements(4, kStates, 1)),
        mailbox_(kBatch * Kernel::kMailboxPitch) {}

  void run_layer() {
    y_.assign(size_t(timesteps_) * kStates, 0x7e00);
    const PersistentLayer layer = {x_.data(), u_.data(),       b_.data(), h0_.data(), c0_.data(),
                                   y_.data(), mailbox_.data(), &steps_,   timesteps_};
    constexpr uint32_t kBlocks = (kHidden + kUnits - 1) / kUnits;
    const uint32_t bytes = persistent_shared_bytes(Kernel::kShape, kBatch);
    std::vector<std::vector<Uint4>> shared(kBlocks, std::vector<Uint4>(bytes / 16 + 1));
    all_recorded.assign(size_t(kBlocks) * PERSISTENT_THREADS, {});
    grid.run(kBlocks, PERSISTENT_THREADS, [&] {
      auto* const mine = reinterpret_cast<unsigned char*>(shared[block_index.x].data());
      Kernel{layer, mine}.run();
    });
  }

  // Returns the largest difference from the layer in double, whose states are rounded as they are
  // stored.
  double largest_error() const {
    double worst = 0;
    std::vector<double> h = widened(h0_), c = widened(c0_);
    for (uint32_t t = 0; t < timesteps_; ++t) {
      const std::vector<double> before = h;
      for (uint32_t n = 0; n < kBatch; ++n)
        for (uint32_t unit = 0; unit < kHidden; ++unit) {
          const size_t i = size_t(n) * kHidden + unit;
          h[i] = next_state(before, n, unit, T::to_float(x_[t * kStates + i]), c[i]);
          const double got = T::to_float(y_[t * kStates + i]);
          worst = std::max(worst, std::isnan(got) ? 1e9 : std::abs(got - h[i]));
          h[i] = T::to_float(T::from_float(float(h[i])));
        }
    }
    return worst;
  }

  uint32_t steps() const { return steps_; }

  void set_input(uint32_t t, uint32_t i, float value) {
    x_[size_t(t) * kStates + i] = T::from_float(value);
  }
  float output(uint32_t t, uint32_t i) const { return T::to_float(y_[size_t(t) * kStates + i]); }

 private:
  static std::vector<uint16_t> elements(uint32_t stream, size_t count, float scale) {
    std::vector<uint16_t> made(count);
    for (size_t i = 0; i < count; ++i)
      made[i] = T::from_float(scale * deepbench_uniform(kSeed, stream, i));
    return made;
  }
  static std::vector<double> widened(const std::vector<uint16_t>& narrow) {
    std::vector<double> all;
    for (const uint16_t word : narrow) all.push_back(T::to_float(word));
    return all;
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  double bias(uint32_t gate, uint32_t unit) const { return T::to_float(b_[gate * kHidden + unit]); }
  double next_state(const std::vector<double>& h, uint32_t n, uint32_t unit, double x,
                    double& c) const {
    double sums[4] = {};
    for (uint32_t gate = 0; gate < kGates; ++gate)
      for (uint32_t j = 0; j < kHidden; ++j)
        sums[gate] +=
            T::to_float(u_[(size_t(gate) * kHidden + unit) * kHidden + j]) * h[n * kHidden + j];
    const auto gate = [&](uint32_t which) { return x + bias(which, unit) + sums[which]; };
    if (kCell == CELL_LSTM) {
      c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * std::tanh(gate(2));
      return sigmoid(gate(3)) * std::tanh(c);
    }
    if (kCell == CELL_GRU) {
      const double update = sigmoid(gate(0));
      const double candidate =
          std::tanh(x + bias(2, unit) + sigmoid(gate(1)) * (sums[2] + bias(3, unit)));
      return update * h[n * kHidden + unit] + (1 - update) * candidate;
    }
    return std::max(0.0, gate(0));
  }

  uint32_t timesteps_, steps_ = kFirstStep;
  std::vector<uint16_t> x_, u_, b_, h0_, c0_, y_;
  std::vector<uint64_t> mailbox_;
};

template <int kCell, int kType, uint32_t kHidden, uint32_t kUnits, uint32_t kBatch>
void check_layer(uint32_t timesteps) {
  INFO("cell ", kCell, ", hidden ", kHidden, ", units ", kUnits, ", batch ", kBatch);
  const double bound = kType == DEEPBENCH_F16 ? 4e-3 : 3e-2;
  LayerCase<kCell, kType, kHidden, kUnits, kBatch> layer(timesteps);
  for (uint32_t call = 1; call <= 2; ++call) {  // the second call must not use data of the first
    layer.run_layer();
    CHECK(layer.largest_error() < bound);
    CHECK(layer.steps() == kFirstStep + call * (timesteps > 1 ? timesteps : 0));
  }
}

TEST_CASE("kernels on the host: persistent is correct for every cell and block shape") {
  check_layer<CELL_GRU, DEEPBENCH_F16, 64, 16, 1>(4);
  check_layer<CELL_LSTM, DEEPBENCH_F16, 48, 8, 3>(3);  // sequences that do not fill pairs of lanes
  check_layer<CELL_VANILLA, DEEPBENCH_BF16, 16, 2, 8>(3);  // rows that do not fill a tile
  check_layer<CELL_GRU, DEEPBENCH_BF16, 96, 22, 4>(
      3);  // a partial tile, and a block with fewer units
  check_layer<CELL_LSTM, DEEPBENCH_F16, 32, 16, 2>(1);  // no states are exchanged
}

TEST_CASE("kernels on the host: persistent is correct for sizes that fill no tile and no vector") {
  check_layer<CELL_GRU, DEEPBENCH_F16, 40, 10, 2>(3);   // rows of whole vectors
  check_layer<CELL_LSTM, DEEPBENCH_F16, 50, 12, 3>(3);  // pairs, but no groups of four
  check_layer<CELL_GRU, DEEPBENCH_BF16, 37, 8, 2>(3);   // a unit without a partner
  check_layer<CELL_VANILLA, DEEPBENCH_BF16, 1, 2, 1>(3);
  check_layer<CELL_GRU, DEEPBENCH_F16, 261, 22, 1>(2);  // a partial tile, two pairs per warp
}

// The zeros that pad the weights, times an infinite state, are not a number.
TEST_CASE("kernels on the host: an infinite state of persistent reaches nothing through padding") {
  LayerCase<CELL_VANILLA, DEEPBENCH_BF16, 1, 2, 1> vanilla(4);
  vanilla.set_input(0, 0, INFINITY);
  vanilla.run_layer();
  CHECK(std::isinf(vanilla.output(0, 0)));
  for (uint32_t t = 1; t < 4; ++t) CHECK_FALSE(std::isnan(vanilla.output(t, 0)));
}

TEST_CASE("kernels on the host: persistent keeps what is not a number in relu") {
  LayerCase<CELL_VANILLA, DEEPBENCH_BF16, 16, 2, 1> vanilla(2);
  vanilla.set_input(0, 3, NAN);
  vanilla.run_layer();
  CHECK(std::isnan(vanilla.output(0, 3)));
  CHECK_FALSE(std::isnan(vanilla.output(0, 4)));
  for (uint32_t i = 0; i < 16; ++i) CHECK(std::isnan(vanilla.output(1, i)));
}

TEST_CASE("kernels on the host: persistent is correct with tiles in shared memory") {
  constexpr PersistentShape kShape = {3, 256, 128};
  static_assert(persistent_shared_pairs(kShape) > 0, "this case tests tiles in shared memory");
  check_layer<CELL_GRU, DEEPBENCH_F16, 256, 128, 2>(2);
}

}  // namespace
}  // namespace deepbench::cuda_test
