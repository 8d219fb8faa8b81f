// The forward pass of a recurrent layer in one kernel that keeps the recurrent weights on the chip.
// Each block holds the rows of some units in registers and shared memory for all steps, multiplies
// them by h(t - 1) on tensor cores with float accumulation, and sends its units of h(t) to all
// other blocks. All blocks must be resident on the device at the same time. The host does nothing
// between calls.
#include "inter_block_mailbox.h"
#include "limited_wait.h"
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

// ---- operands -----------------------------------------------------------------------------------

// Loads consecutive elements of a row of kLength elements. Those beyond its end, and those of no
// row (nullptr), are zeros. One load suffices if every row is aligned to the vector.
template <class Vector, uint32_t kLength>
__device__ Vector load_padded(const uint16_t* row, uint32_t at) {
  constexpr uint32_t kElements = sizeof(Vector) / sizeof(uint16_t);
  Vector v = {};
  if (row == nullptr || at >= kLength) return v;
  if constexpr (kLength % kElements == 0) {
    v = *reinterpret_cast<const Vector*>(row + at);
  } else {
    auto* const words = reinterpret_cast<uint32_t*>(&v);
#pragma unroll
    for (uint32_t i = 0; i < kElements; ++i)
      if (at + i < kLength) words[i / 2] |= uint32_t(row[at + i]) << i % 2 * 16;
  }
  return v;
}

// A thread's elements of two adjacent tiles, as the tensor core instruction takes them. The order
// of columns differs from that of the instruction, in the same way for weights and states, so that
// the elements of a row of both tiles that a thread loads are eight consecutive ones.
struct TilePair {
  uint4 first, last;
};

template <class T>
__device__ void multiply_pair(float (&sums)[4], const TilePair& pair, const uint4& h) {
  T::multiply(sums, pair.first, {h.x, h.y});
  T::multiply(sums, pair.last, {h.z, h.w});
}

// ---- a block of a layer -------------------------------------------------------------------------

template <int kCell, int kType, uint32_t kHidden, uint32_t kUnits, uint32_t kBatch>
struct Layer {
  using T = SixteenBitFloat<kType>;
  static constexpr uint32_t kGates = kCell == CELL_LSTM ? 4 : kCell == CELL_GRU ? 3 : 1;
  static constexpr PersistentShape kShape = {kGates, kHidden, kUnits};
  static constexpr uint32_t kRows = persistent_rows(kShape),
                            kColumnPairs = persistent_column_pairs(kShape);
  static constexpr uint32_t kFullRowTiles = persistent_full_row_tiles(kShape),
                            kPartialRows = persistent_partial_rows(kShape);
  static constexpr uint32_t kRegisterPairs = persistent_register_pairs(kShape);
  static constexpr uint32_t kSlice = PERSISTENT_PAIR_COLUMNS * kColumnPairs;  // of h, per warp
  static constexpr uint32_t kPitch = persistent_pitch(kShape),
                            kMailboxPitch = persistent_mailbox_pitch(kShape);
  static constexpr uint32_t kRowTiles = kFullRowTiles + (kPartialRows > 0);
  static constexpr uint32_t kRounds = (kSlice / 4 + 31) / 32;
  // Limited by the number of registers.
  static constexpr uint32_t kLoads = kRegisterPairs > 16 ? 4 : 8;
  static constexpr uint32_t kFitting = kRounds > kLoads / 2 ? 1 : kLoads / kRounds;
  static constexpr uint32_t kSequencesInFlight = kFitting < kBatch ? kFitting : kBatch;

  const PersistentLayer& layer;
  unsigned char* const shared;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t first_unit = blockIdx.x * kUnits, first_column = warp * kSlice;

  // ---- weights ----------------------------------------------------------------------------------

  // The weights that this thread multiplies: 8 adjacent elements of row `row` of the block's
  // matrix, in pair `column_pair` of tiles.
  __device__ uint4 weights(uint32_t row, uint32_t column_pair) const {
    const uint32_t unit = first_unit + row % kUnits;
    const bool is_real = row < kRows && unit < kHidden;
    const uint16_t* const all = layer.u + (uint64_t(row / kUnits) * kHidden + unit) * kHidden;
    return load_padded<uint4, kHidden>(
        is_real ? all : nullptr,
        first_column + column_pair * PERSISTENT_PAIR_COLUMNS + lane % 4 * 8);
  }
  __device__ TilePair pair(uint32_t row_tile, uint32_t column_pair) const {
    const uint32_t row = row_tile * PERSISTENT_TILE + lane / 4;
    const uint4 upper = weights(row, column_pair), lower = weights(row + 8, column_pair);
    return {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
  }
  static __device__ constexpr uint32_t number_of(uint32_t row_tile, uint32_t column_pair) {
    return column_pair * kFullRowTiles + row_tile;
  }
  // The vectors of the threads are adjacent; `last` is 32 vectors after `first`.
  __device__ uint4* shared_pair(uint32_t number) const {
    const uint32_t index = warp * persistent_shared_pairs(kShape) + number - kRegisterPairs;
    return reinterpret_cast<uint4*>(shared) + index * 64 + lane;
  }
  __device__ uint4* partial_pair(uint32_t column_pair) const {
    auto* const all = reinterpret_cast<uint4*>(shared + persistent_partial_offset(kShape));
    return all + (warp * kColumnPairs + column_pair) * 4 * kPartialRows + lane;
  }
  __device__ bool has_partial_row() const { return lane < 4 * kPartialRows; }

  // Loads the part for shared memory first, while the registers are free: all loads for a row of
  // tiles are in flight together. Without the limits on unrolling, the compiler would keep more
  // loads in flight than there are registers.
  __device__ void load_weights(TilePair* register_pairs) const {
    if constexpr (persistent_shared_pairs(kShape) > 0)
#pragma unroll 1
      for (uint32_t i = 0; i < kFullRowTiles; ++i) fill_shared_pairs(i);
    if constexpr (kPartialRows > 0) fill_partial_pairs();
#pragma unroll
    for (uint32_t i = 0; i < kFullRowTiles; ++i)
#pragma unroll
      for (uint32_t column = 0; column < kColumnPairs; ++column)
        if (number_of(i, column) < kRegisterPairs)
          register_pairs[number_of(i, column)] = pair(i, column);
  }
  __device__ void fill_shared_pairs(uint32_t row_tile) const {
    constexpr uint32_t kFirst = kRegisterPairs / kFullRowTiles;  // the others are in registers
    TilePair loaded[kColumnPairs - kFirst];
#pragma unroll
    for (uint32_t i = 0; i < kColumnPairs - kFirst; ++i) loaded[i] = pair(row_tile, kFirst + i);
#pragma unroll
    for (uint32_t i = 0; i < kColumnPairs - kFirst; ++i) {
      const uint32_t number = number_of(row_tile, kFirst + i);
      if (number < kRegisterPairs) continue;
      shared_pair(number)[0] = loaded[i].first;
      shared_pair(number)[32] = loaded[i].last;
    }
  }
  __device__ void fill_partial_pairs() const {
    if (!has_partial_row()) return;
#pragma unroll 4
    for (uint32_t i = 0; i < kColumnPairs; ++i)
      *partial_pair(i) = weights(kFullRowTiles * PERSISTENT_TILE + lane / 4, i);
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
  // Whether the last two of the four elements exist. They may come from another block than the
  // first two.
  __device__ bool has_second_pair(uint32_t turn) const {
    return kHidden % 4 == 0 || first_column + element(turn) + 2 < kHidden;
  }
  __device__ uint2* state(uint32_t turn, uint32_t n) const {
    return reinterpret_cast<uint2*>(states() + n * kPitch + 2 * element(turn));
  }

  // The states beyond the last unit are and remain zeros.
  __device__ void load_initial_states() const {
    for (uint32_t n = 0; n < kBatch; ++n)
      for (uint32_t turn = 0; turn < kRounds; ++turn)
        if (element(turn) < kSlice)
          *state(turn, n) =
              load_padded<uint2, kHidden>(layer.h0 + n * kHidden, first_column + element(turn));
  }

  __device__ uint64_t* mailbox(uint32_t step, uint32_t n, uint32_t unit) const {
    return layer.mailbox + ((step % 2 * kBatch + n) * kMailboxPitch + unit) / 2;
  }

  // Polls the mailbox for kSequencesInFlight sequences at a time, with all loads in flight
  // together, until all states have arrived.
  __device__ void receive_states(uint32_t step) const {
    for (uint32_t first = 0; first < kBatch; first += kSequencesInFlight) {
      const uint64_t* const from = mailbox(step, first, first_column + element(0));
      uint4 v[kSequencesInFlight][kRounds];
      bool is_incomplete;
      LimitedWait wait;
      do {
        wait.look();
        is_incomplete = false;
#pragma unroll
        for (uint32_t n = 0; n < kSequencesInFlight; ++n)
#pragma unroll
          for (uint32_t turn = 0; turn < kRounds; ++turn)
            if (is_valid_element(turn, first + n))
              v[n][turn] = load_mailbox(from + (n * kMailboxPitch + turn * 128) / 2);
#pragma unroll
        for (uint32_t n = 0; n < kSequencesInFlight; ++n)
#pragma unroll
          for (uint32_t turn = 0; turn < kRounds; ++turn)
            is_incomplete |=
                is_valid_element(turn, first + n) &&
                (v[n][turn].y != step || (has_second_pair(turn) && v[n][turn].w != step));
      } while (is_incomplete);
#pragma unroll
      for (uint32_t n = 0; n < kSequencesInFlight; ++n)
#pragma unroll
        for (uint32_t turn = 0; turn < kRounds; ++turn)
          if (is_valid_element(turn, first + n))
            *state(turn, first + n) = {v[n][turn].x, has_second_pair(turn) ? v[n][turn].z : 0};
    }
  }

  // ---- a step -----------------------------------------------------------------------------------

  __device__ void multiply(const TilePair* register_pairs, float (&sums)[kRowTiles][4]) const {
    const uint32_t n = lane / 4;
    const unsigned char* const mine = states() + n * kPitch + lane % 4 * sizeof(uint4);
#pragma unroll
    for (uint32_t column = 0; column < kColumnPairs; ++column) {
      uint4 h = {0, 0, 0, 0};
      if (n < kBatch)
        h = *reinterpret_cast<const uint4*>(mine + column * 2 * PERSISTENT_PAIR_COLUMNS);
#pragma unroll
      for (uint32_t i = 0; i < kFullRowTiles; ++i) {
        const uint32_t number = number_of(i, column);
        if (number < kRegisterPairs)
          multiply_pair<T>(sums[i], register_pairs[number], h);
        else
          multiply_pair<T>(sums[i], {shared_pair(number)[0], shared_pair(number)[32]}, h);
      }
      if constexpr (kPartialRows > 0) {
        const uint4 partial = has_partial_row() ? *partial_pair(column) : uint4{0, 0, 0, 0};
        multiply_pair<T>(sums[kRowTiles - 1],
                         {{partial.x, 0, partial.y, 0}, {partial.z, 0, partial.w, 0}}, h);
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
    TilePair register_pairs[kRegisterPairs];
    load_weights(register_pairs);
    load_initial_states();

    // Whole warps take part. Two neighboring threads handle a pair of units and join their
    // elements. The pairs of all sequences are adjacent, so that no two threads access the same
    // bank when partial sums are added.
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
      multiply(register_pairs, sums);
      store_sums(step, sums);
      __syncthreads();
      if (!has_units) continue;
      float gates[kGates];
      add_partial_sums(step, within, n, gates);
      uint16_t h = T::from_float(next_state<kCell>(state, gates, x));
      if (kHidden % 2 == 1 && !writes) h = 0;  // its sums are zeros times h, which may be infinite
      state.h = T::to_float(h);
      const uint32_t pair = h | __shfl_down_sync(0xffffffff, uint32_t(h), 1) << 16;
      const bool sends = writes && within % 2 == 0;
      if (sends && t + 1 < layer.timesteps) store_mailbox(mailbox(step, n, unit), pair, step);
      if (kHidden % 2 == 1 && writes) layer.y[at] = h;
      if (kHidden % 2 == 0 && sends) *reinterpret_cast<uint32_t*>(layer.y + at) = pair;
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
