// The forward pass of a recurrent layer in one kernel that keeps the recurrent weights on the chip.
// Each block holds the rows of some units in registers and shared memory for all steps, multiplies
// them by h(t - 1) on tensor cores with float accumulation, and sends its units of h(t) to all
// other blocks. All blocks must be resident on the device at the same time. The host does nothing
// between calls.
#include "device_clock.h"
#include "inter_block_mailbox.h"
#include "persistent.h"
#include "tensor_core.h"

namespace persistent {

// ---- cells --------------------------------------------------------------------------------------

// Both functions are accurate to 2^-20.
__device__ inline float sigmoid(float x) { return 1 / (1 + __expf(-x)); }
__device__ inline float tanh_of(float x) { return 1 - 2 / (1 + __expf(2 * x)); }

// The state of one unit of one sequence, which is kept from step to step.
struct UnitState {
  float h, c;
  float b[4];  // one bias per gate; for gru, b' is the last
};

template <int kCell>
__device__ float next_state(UnitState& unit, const float* sums, float x) {
  if (kCell == CELL_LSTM) {
    const float i = sigmoid(unit.b[0] + x + sums[0]), f = sigmoid(unit.b[1] + x + sums[1]);
    const float candidate = tanh_of(unit.b[2] + x + sums[2]), o = sigmoid(unit.b[3] + x + sums[3]);
    unit.c = f * unit.c + i * candidate;
    return o * tanh_of(unit.c);
  }
  if (kCell == CELL_GRU) {
    const float update = sigmoid(unit.b[0] + x + sums[0]), reset = sigmoid(unit.b[1] + x + sums[1]);
    const float candidate = tanh_of(unit.b[2] + x + reset * (sums[2] + unit.b[3]));
    return update * unit.h + (1 - update) * candidate;
  }
  const float sum = unit.b[0] + x + sums[0];
  return sum < 0 ? 0.0f : sum;  // fmaxf(NaN, 0) would be 0
}

// ---- a block of a layer -------------------------------------------------------------------------

template <int kCell, int kType, uint32_t kHidden, uint32_t kUnits, uint32_t kBatch>
struct Layer {
  using T = SixteenBitFloat<kType>;
  static constexpr uint32_t kGates = kCell == CELL_LSTM ? 4 : kCell == CELL_GRU ? 3 : 1;
  static constexpr PersistentShape kShape = {kGates, kHidden, kUnits};
  static constexpr uint32_t kRows = persistent_rows(kShape),
                            kColumnTiles = persistent_column_tiles(kShape);
  static constexpr uint32_t kFullRowTiles = persistent_full_row_tiles(kShape),
                            kPartialRows = persistent_partial_rows(kShape);
  static constexpr uint32_t kRegisterTiles = persistent_register_tiles(kShape);
  static constexpr uint32_t kSlice = PERSISTENT_TILE * kColumnTiles;  // elements of h per warp
  static constexpr uint32_t kPitch = persistent_pitch(kShape);
  static constexpr uint32_t kRowTiles = kFullRowTiles + (kPartialRows > 0);
  static constexpr uint32_t kRounds = (kSlice / 4 + 31) / 32;
  // Limited by the number of registers.
  static constexpr uint32_t kLoads = kRegisterTiles > 32 ? 4 : 8;
  static constexpr uint32_t kFitting = kRounds > kLoads / 2 ? 1 : kLoads / kRounds;
  static constexpr uint32_t kSequencesInFlight = kFitting < kBatch ? kFitting : kBatch;

  const PersistentLayer& layer;
  unsigned char* const shared;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t first_unit = blockIdx.x * kUnits, first_column = warp * kSlice;

  // ---- weights ----------------------------------------------------------------------------------

  // The elements of a tile that this thread holds. The order of columns differs from that of the
  // tensor core instruction, equally for weights and states, so that a thread holds four
  // consecutive elements.
  __device__ uint2 weights(uint32_t row, uint32_t column) const {
    const uint32_t unit = first_unit + row % kUnits, at = column + lane % 4 * 4;
    if (row >= kRows || unit >= kHidden || column >= kHidden) return {0, 0};
    const uint64_t line = uint64_t(row / kUnits) * kHidden + unit;
    return *reinterpret_cast<const uint2*>(layer.u + line * kHidden + at);
  }
  __device__ uint4 tile(uint32_t number) const {
    const uint32_t row = number % kFullRowTiles * PERSISTENT_TILE + lane / 4;
    const uint32_t column = first_column + number / kFullRowTiles * PERSISTENT_TILE;
    const uint2 upper = weights(row, column), lower = weights(row + 8, column);
    return {upper.x, lower.x, upper.y, lower.y};
  }
  __device__ uint4* shared_tile(uint32_t number) const {
    const uint32_t index = warp * persistent_shared_tiles(kShape) + number - kRegisterTiles;
    return reinterpret_cast<uint4*>(shared) + index * 32 + lane;
  }
  __device__ uint2* partial_tile(uint32_t column) const {
    auto* const all = reinterpret_cast<uint2*>(shared + persistent_partial_offset(kShape));
    return all + (warp * kColumnTiles + column) * 4 * kPartialRows + lane;
  }
  __device__ bool has_partial_row() const { return lane < 4 * kPartialRows; }

  __device__ void load_weights(uint4* register_tiles) const {
#pragma unroll
    for (uint32_t i = 0; i < kRegisterTiles; ++i) register_tiles[i] = tile(i);
    for (uint32_t i = kRegisterTiles; i < kFullRowTiles * kColumnTiles; ++i)
      *shared_tile(i) = tile(i);
    if constexpr (kPartialRows > 0) load_partial_tiles();
  }
  __device__ void load_partial_tiles() const {
    if (!has_partial_row()) return;
    for (uint32_t column = 0; column < kColumnTiles; ++column)
      *partial_tile(column) = weights(kFullRowTiles * PERSISTENT_TILE + lane / 4,
                                      first_column + column * PERSISTENT_TILE);
  }

  // ---- h(t - 1) ---------------------------------------------------------------------------------

  // The warp's part of h(t - 1), for all sequences.
  __device__ unsigned char* states() const {
    return shared + persistent_states_offset(kShape) + warp * kBatch * kPitch;
  }
  // The index, within the warp's part, of the four elements that this thread handles in a turn. A
  // warp handles 32 groups of four elements per turn.
  __device__ uint32_t element(uint32_t turn) const { return (turn * 32 + lane) * 4; }
  __device__ bool is_valid_element(uint32_t turn, uint32_t n) const {
    return n < kBatch && element(turn) < kSlice && first_column + element(turn) < kHidden;
  }
  __device__ uint2* state(uint32_t turn, uint32_t n) const {
    return reinterpret_cast<uint2*>(states() + n * kPitch + 2 * element(turn));
  }

  __device__ void load_initial_states() const {
    for (uint32_t n = 0; n < kBatch; ++n)
      for (uint32_t turn = 0; turn < kRounds; ++turn)
        if (is_valid_element(turn, n))
          *state(turn, n) = *reinterpret_cast<const uint2*>(layer.h0 + n * kHidden + first_column +
                                                            element(turn));
  }

  __device__ uint64_t* mailbox(uint32_t step, uint32_t n, uint32_t unit) const {
    return layer.mailbox + ((step % 2 * kBatch + n) * kHidden + unit) / 2;
  }

  // Polls the mailbox for kSequencesInFlight sequences at a time, with all loads in flight
  // together, until all states have arrived. If a block is not resident on the device, its states
  // never arrive; the kernel then traps instead of waiting forever. The clock is read so rarely
  // that it delays no step.
  __device__ void receive_states(uint32_t step) const {
    for (uint32_t first = 0; first < kBatch; first += kSequencesInFlight) {
      const uint64_t* const from = mailbox(step, first, first_column + element(0));
      uint4 v[kSequencesInFlight][kRounds];
      bool is_incomplete;
      uint32_t polls = 0;
      uint64_t first_look = 0;
      do {
        if (++polls % PERSISTENT_POLLS_PER_LOOK == 0) {
          const uint64_t now = now_ns();
          if (first_look == 0) first_look = now;
          if (now - first_look > PERSISTENT_MAX_WAIT_NS) __trap();
        }
        is_incomplete = false;
#pragma unroll
        for (uint32_t n = 0; n < kSequencesInFlight; ++n)
#pragma unroll
          for (uint32_t turn = 0; turn < kRounds; ++turn)
            if (is_valid_element(turn, first + n))
              v[n][turn] = load_mailbox(from + (n * kHidden + turn * 128) / 2);
#pragma unroll
        for (uint32_t n = 0; n < kSequencesInFlight; ++n)
#pragma unroll
          for (uint32_t turn = 0; turn < kRounds; ++turn)
            is_incomplete |=
                is_valid_element(turn, first + n) && (v[n][turn].y != step || v[n][turn].w != step);
      } while (is_incomplete);
#pragma unroll
      for (uint32_t n = 0; n < kSequencesInFlight; ++n)
#pragma unroll
        for (uint32_t turn = 0; turn < kRounds; ++turn)
          if (is_valid_element(turn, first + n))
            *state(turn, first + n) = {v[n][turn].x, v[n][turn].z};
    }
  }

  // ---- a step -----------------------------------------------------------------------------------

  __device__ void multiply(const uint4* register_tiles, float (&sums)[kRowTiles][4]) const {
    const uint32_t n = lane / 4;
    const unsigned char* const mine = states() + n * kPitch + lane % 4 * 8;
#pragma unroll
    for (uint32_t column = 0; column < kColumnTiles; ++column) {
      uint2 h = {0, 0};
      if (n < kBatch && first_column + column * PERSISTENT_TILE < kHidden)
        h = *reinterpret_cast<const uint2*>(mine + column * 2 * PERSISTENT_TILE);
#pragma unroll
      for (uint32_t i = 0; i < kFullRowTiles; ++i) {
        const uint32_t number = column * kFullRowTiles + i;
        T::multiply(sums[i],
                    number < kRegisterTiles ? register_tiles[number] : *shared_tile(number), h);
      }
      if constexpr (kPartialRows > 0) {
        const uint2 partial = has_partial_row() ? *partial_tile(column) : uint2{0, 0};
        T::multiply(sums[kRowTiles - 1], {partial.x, 0, partial.y, 0}, h);
      }
    }
  }

  // [turn][warp][row][n]. With up to four sequences, no two threads of a warp access the same bank
  // when they store.
  __device__ float& partial_sum(uint32_t step, uint32_t of_warp, uint32_t row, uint32_t n) const {
    auto* const all = reinterpret_cast<float*>(shared + persistent_sums_offset(kShape, kBatch));
    return all[((step % 2 * PERSISTENT_WARPS + of_warp) * kRows + row) * kBatch + n];
  }
  __device__ void store_sums(uint32_t step, const float (&sums)[kRowTiles][4]) const {
#pragma unroll
    for (uint32_t i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t row = i * PERSISTENT_TILE + lane / 4 + k / 2 * 8, n = lane % 4 * 2 + k % 2;
        if (row < kRows && n < kBatch) partial_sum(step, warp, row, n) = sums[i][k];
      }
  }
  __device__ void add_partial_sums(uint32_t step, uint32_t unit, uint32_t n,
                                   float (&sums)[kGates]) const {
#pragma unroll
    for (uint32_t gate = 0; gate < kGates; ++gate) {
      sums[gate] = 0;
#pragma unroll
      for (uint32_t w = 0; w < PERSISTENT_WARPS; ++w)
        sums[gate] += partial_sum(step, w, gate * kUnits + unit, n);
    }
  }

  __device__ UnitState first_unit_state(uint32_t unit, uint32_t n) const {
    UnitState state = {};
    if (unit >= kHidden) return state;
    state.h = T::to_float(layer.h0[n * kHidden + unit]);
    if (kCell == CELL_LSTM) state.c = T::to_float(layer.c0[n * kHidden + unit]);
    constexpr uint32_t kBiases = kGates + (kCell == CELL_GRU);
    for (uint32_t i = 0; i < kBiases; ++i) state.b[i] = T::to_float(layer.b[i * kHidden + unit]);
    return state;
  }

  __device__ void run() const {
    const uint32_t before = *layer.steps;
    uint4 register_tiles[kRegisterTiles > 0 ? kRegisterTiles : 1];
    load_weights(register_tiles);
    load_initial_states();

    // Whole warps take part. Two neighbouring threads handle a pair of units, whose elements they
    // join, and the pairs of all sequences lie side by side: no two threads access the same bank
    // when partial sums are added.
    const bool has_units = warp * 32 < kUnits * kBatch;
    const bool is_real = threadIdx.x < kUnits * kBatch;
    const uint32_t number = is_real ? threadIdx.x : 0;
    const uint32_t pair = number / 2, n = pair % kBatch;
    const uint32_t within = pair / kBatch * 2 + number % 2, unit = first_unit + within;
    const bool writes = is_real && unit < kHidden;
    UnitState state = first_unit_state(unit, n);

    for (uint32_t t = 0; t < layer.timesteps; ++t) {
      const uint32_t step = before + t;
      const uint64_t at = (uint64_t(t) * kBatch + n) * kHidden + unit;
      const float x = writes ? T::to_float(layer.x[at]) : 0;
      if (t > 0) receive_states(step - 1);
      __syncwarp();
      float sums[kRowTiles][4] = {};
      multiply(register_tiles, sums);
      store_sums(step, sums);
      __syncthreads();
      if (!has_units) continue;
      float gates[kGates];
      add_partial_sums(step, within, n, gates);
      const uint16_t h = T::from_float(next_state<kCell>(state, gates, x));
      state.h = T::to_float(h);
      const uint32_t pair = h | __shfl_down_sync(0xffffffff, uint32_t(h), 1) << 16;
      if (!writes || within % 2 == 1) continue;
      if (t + 1 < layer.timesteps) store_mailbox(mailbox(step, n, unit), pair, step);
      *reinterpret_cast<uint32_t*>(layer.y + at) = pair;
    }
    end_call(before);
  }

  // Advances the step number for the next call. All blocks have already read the old number: this
  // block received their h(0), so they have started. A call with one step exchanges no states and
  // leaves the number unchanged.
  __device__ void end_call(uint32_t before) const {
    if (blockIdx.x == 0 && threadIdx.x == 0 && layer.timesteps > 1)
      *layer.steps = before + layer.timesteps;
  }
};

}  // namespace persistent

template <int kCell, int kType, uint32_t kHidden, uint32_t kUnits, uint32_t kBatch>
__global__ void __launch_bounds__(PERSISTENT_THREADS, 1)
    persistent_layer(const __grid_constant__ PersistentLayer layer) {
  extern __shared__ __align__(16) unsigned char shared[];
  persistent::Layer<kCell, kType, kHidden, kUnits, kBatch>{layer, shared}.run();
}
