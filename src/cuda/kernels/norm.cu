// Kernels that normalize. For sets within rows, the threads of a block, or a row of threads of a
// block, hold one set in registers and read it once; if the set is too long, they read it again for
// each pass. For sets that are columns, threads take neighboring columns and blocks share the rows;
// the sums over the rows of a block are stored in memory, and another kernel adds them up. All
// accesses of x, dy, y and dx are of 16 bytes (kWidth elements) if the number of columns permits.
// Sums are of float.
//
// kType is a deepbench_type: DEEPBENCH_F32, DEEPBENCH_F16 or DEEPBENCH_BF16.
#include "fill.h"
#include "norm.h"
#include "numbers.h"

namespace norm_kernels {

template <int kType>
struct NumberOf {
  using Type = Bfloat16;
};
template <>
struct NumberOf<DEEPBENCH_F32> {
  using Type = Float;
};
template <>
struct NumberOf<DEEPBENCH_F16> {
  using Type = Half;
};

// kWidth elements as they are stored, which take fewer registers than their values.
template <int kWidth>
struct Stored {
  using Word = uint4;
};
template <>
struct Stored<1> {
  using Word = uint32_t;
};

// The elements from place `at` on, which is a multiple of kWidth.
template <int kType, int kWidth>
__device__ typename Stored<kWidth>::Word read(const void* from, uint64_t at) {
  if constexpr (kWidth > 1)
    return static_cast<const uint4*>(from)[at / kWidth];
  else if constexpr (kType == DEEPBENCH_F32)
    return static_cast<const uint32_t*>(from)[at];
  else
    return static_cast<const uint16_t*>(from)[at];
}

template <int kType, int kWidth>
__device__ void widen(const typename Stored<kWidth>::Word& stored, float (&to)[kWidth]) {
  using Number = typename NumberOf<kType>::Type;
  if constexpr (kWidth == 1)
    to[0] = Number::value_of(typename Number::Stored(stored));
  else
    Vector<Number>::widen(stored, to);
}

template <int kType, int kWidth>
__device__ void load(const void* from, uint64_t at, float (&to)[kWidth]) {
  widen<kType, kWidth>(read<kType, kWidth>(from, at), to);
}

template <int kType, int kWidth>
__device__ void store(void* to, uint64_t at, const float (&from)[kWidth]) {
  using Number = typename NumberOf<kType>::Type;
  if constexpr (kWidth == 1)
    store_number<Number>(to, at, from[0]);
  else
    static_cast<uint4*>(to)[at / kWidth] = Vector<Number>::rounded(from);
}

// kWidth floats of the columns from `at` on; 0 where there are none.
template <int kWidth>
__device__ void load_columns(const float* from, uint64_t at, float (&to)[kWidth]) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) to[i] = 0;
  if (!from) return;
  if constexpr (kWidth == 1) {
    to[0] = from[at];
  } else {
#pragma unroll
    for (int i = 0; i < kWidth / 4; ++i) {
      float four[4];
      load<DEEPBENCH_F32, 4>(from, at + 4 * i, four);
      for (int j = 0; j < 4; ++j) to[4 * i + j] = four[j];
    }
  }
}

template <int kWidth>
__device__ void store_columns(float* to, uint64_t at, const float (&from)[kWidth]) {
  if constexpr (kWidth == 1) {
    to[at] = from[0];
  } else {
#pragma unroll
    for (int i = 0; i < kWidth / 4; ++i) {
      const float four[4] = {from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]};
      store<DEEPBENCH_F32, 4>(to, at + 4 * i, four);
    }
  }
}

template <class Float>
__device__ Float sum_of_warp(Float value) {
  for (int distance = NORM_WARP / 2; distance > 0; distance /= 2)
    value +=
        deepbench_bits_float(__shfl_xor_sync(0xffffffffu, deepbench_float_bits(value), distance));
  return value;
}

// Adds up the values of the threads of a set, which have the same threadIdx.y. Several warps belong
// to one set only if the block has no other set.
template <class Float>
__device__ Float sum_of_set(Float value) {
  __shared__ Float of_warp[NORM_WARP];
  value = sum_of_warp(value);
  if (blockDim.x == NORM_WARP) return value;
  if (threadIdx.x % NORM_WARP == 0) of_warp[threadIdx.x / NORM_WARP] = value;
  __syncthreads();
  value = threadIdx.x % NORM_WARP < blockDim.x / NORM_WARP ? of_warp[threadIdx.x % NORM_WARP] : 0;
  __syncthreads();
  return sum_of_warp(value);
}

// A set's elements, of which this thread holds kVectors times kWidth in registers. All its loads
// are in flight at once.
template <int kType, int kWidth, int kVectors>
struct SetElements {
  typename Stored<kWidth>::Word stored[kVectors];

  __device__ void read_from(const void* from, uint64_t begin, uint64_t count) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (place(k) < count) stored[k] = read<kType, kWidth>(from, begin + place(k));
  }
  __device__ void values(int k, float (&to)[kWidth]) const { widen<kType, kWidth>(stored[k], to); }
  static __device__ uint64_t place(int k) {
    return (uint64_t(k) * blockDim.x + threadIdx.x) * kWidth;
  }
  // Calls body(k, place within the set) for the vectors of this thread.
  template <class Body>
  static __device__ void for_each(uint64_t count, Body body) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (place(k) < count) body(k, place(k));
  }
};

// The row, and the part of it, of a block's threads. 64-bit divisions, of which a thread would need
// several, take as many instructions as all of its elements.
struct SetPlace {
  uint64_t row, group, begin, column, number;
  bool exists;

  // `first` is the row of the block's first threads.
  __device__ SetPlace(const NormArguments& of, uint64_t first)
      : row(first + threadIdx.y),
        group(blockIdx.y),
        begin(row * of.columns + group * of.set),
        column(group * of.set),
        number(row * gridDim.y + group),
        exists(row < of.rows) {}
  static __device__ uint64_t first_row() { return blockIdx.x * uint64_t(blockDim.y); }
  // Rows between those that a block takes one after the other.
  static __device__ uint64_t distance() { return gridDim.x * uint64_t(blockDim.y); }
  __device__ void store(const NormArguments& of, float mean, float deviation) const {
    if (threadIdx.x != 0 || !exists) return;
    if (of.mean) of.mean[number] = mean;
    if (of.spread) of.spread[number] = deviation;
  }
};

template <int kWidth>
__device__ void normalize(float (&x)[kWidth], float mean, float deviation,
                          const float (&scale)[kWidth], const float (&shift)[kWidth]) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) x[i] = scale[i] * ((x[i] - mean) * deviation) + shift[i];
}

}  // namespace norm_kernels
using namespace norm_kernels;

// Forward pass with sets in registers. If `out` is null, only the statistics are stored.
template <int kType, int kWidth, int kVectors>
__global__ void __launch_bounds__(kVectors* kWidth > 16 ? 512 : 1024)
    normalize_sets(NormArguments of) {
  using Elements = SetElements<kType, kWidth, kVectors>;
  for (uint64_t row = SetPlace::first_row(); row < of.rows; row += SetPlace::distance()) {
    const SetPlace set(of, row);
    const uint64_t count = set.exists ? of.set : 0;
    Elements x;
    x.read_from(of.x, set.begin, count);
    float mean = 0, squares = 0;
    if (of.has_mean) {
      float sum = 0;
      Elements::for_each(count, [&](int k, uint64_t) {
        float values[kWidth];
        x.values(k, values);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) sum += values[i];
      });
      mean = sum_of_set(sum) / float(of.set);
    }
    Elements::for_each(count, [&](int k, uint64_t) {
      float values[kWidth];
      x.values(k, values);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) squares += (values[i] - mean) * (values[i] - mean);
    });
    const float deviation = 1 / sqrtf(sum_of_set(squares) / float(of.set) + of.epsilon);
    set.store(of, mean, deviation);
    if (!of.out) continue;
    Elements::for_each(count, [&](int k, uint64_t at) {
      float values[kWidth], scale[kWidth], shift[kWidth];
      x.values(k, values);
      load_columns(of.scale, set.column + at, scale);
      load_columns(of.shift, set.column + at, shift);
      normalize(values, mean, deviation, scale, shift);
      store<kType, kWidth>(of.out, set.begin + at, values);
    });
  }
}

// Forward pass for sets of any length, which are read three times.
template <int kType, int kWidth>
__global__ void __launch_bounds__(1024) normalize_long_sets(NormArguments of) {
  const SetPlace set(of, SetPlace::first_row());
  const uint64_t step = uint64_t(blockDim.x) * kWidth;
  float x[kWidth], sum = 0, squares = 0;
#pragma unroll 4
  for (uint64_t at = threadIdx.x * kWidth; at < of.set; at += step) {
    load<kType, kWidth>(of.x, set.begin + at, x);
    for (int i = 0; i < kWidth; ++i) sum += x[i];
  }
  const float mean = of.has_mean ? sum_of_set(sum) / float(of.set) : 0;
#pragma unroll 4
  for (uint64_t at = threadIdx.x * kWidth; at < of.set; at += step) {
    load<kType, kWidth>(of.x, set.begin + at, x);
    for (int i = 0; i < kWidth; ++i) squares += (x[i] - mean) * (x[i] - mean);
  }
  const float deviation = 1 / sqrtf(sum_of_set(squares) / float(of.set) + of.epsilon);
  set.store(of, mean, deviation);
  if (!of.out) return;
#pragma unroll 2
  for (uint64_t at = threadIdx.x * kWidth; at < of.set; at += step) {
    float scale[kWidth], shift[kWidth];
    load<kType, kWidth>(of.x, set.begin + at, x);
    load_columns(of.scale, set.column + at, scale);
    load_columns(of.shift, set.column + at, shift);
    normalize(x, mean, deviation, scale, shift);
    store<kType, kWidth>(of.out, set.begin + at, x);
  }
}

namespace norm_kernels {

struct SetStatistics {
  float mean, deviation;
  __device__ SetStatistics(const NormArguments& of, uint64_t set)
      : mean(of.mean ? of.mean[set] : 0), deviation(of.spread[set]) {}
};

}  // namespace norm_kernels

// All gradients, with sets in registers. A thread keeps its columns' scales, and their sums over
// the rows of its block.
template <int kType, int kWidth, int kVectors>
__global__ void __launch_bounds__(512) differentiate_sets(NormArguments of) {
  using Elements = SetElements<kType, kWidth, kVectors>;
  const SetPlace first(of, SetPlace::first_row());
  float scale[kVectors][kWidth], dscale[kVectors][kWidth] = {}, dshift[kVectors][kWidth] = {};
  Elements::for_each(
      of.set, [&](int k, uint64_t at) { load_columns(of.scale, first.column + at, scale[k]); });
  for (uint64_t row = SetPlace::first_row(); row < of.rows; row += SetPlace::distance()) {
    const SetPlace set(of, row);
    const uint64_t count = set.exists ? of.set : 0;
    Elements x, dy;
    x.read_from(of.x, set.begin, count);
    dy.read_from(of.dy, set.begin, count);
    const SetStatistics statistics(of, set.exists ? set.number : 0);
    const auto values = [&](int k, float(&z)[kWidth], float(&h)[kWidth]) {
      x.values(k, z);
      dy.values(k, h);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        z[i] = (z[i] - statistics.mean) * statistics.deviation;
        h[i] *= scale[k][i];
      }
    };
    float sum_h = 0, sum_hz = 0;
    Elements::for_each(count, [&](int k, uint64_t) {
      float z[kWidth], h[kWidth], plain[kWidth];
      values(k, z, h);
      dy.values(k, plain);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        dscale[k][i] += plain[i] * z[i];
        dshift[k][i] += plain[i];
        sum_h += h[i];
        sum_hz += h[i] * z[i];
      }
    });
    const float mean_h = of.has_mean ? sum_of_set(sum_h) / float(of.set) : 0;
    const float mean_hz = sum_of_set(sum_hz) / float(of.set);
    Elements::for_each(count, [&](int k, uint64_t at) {
      float z[kWidth], h[kWidth];
      values(k, z, h);
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        h[i] = statistics.deviation * (h[i] - mean_h - z[i] * mean_hz);
      store<kType, kWidth>(of.out, set.begin + at, h);
    });
  }
  const uint64_t parts = uint64_t(gridDim.x) * blockDim.y;
  float* const sums = of.partial + (blockIdx.x * uint64_t(blockDim.y) + threadIdx.y) * of.columns;
  Elements::for_each(of.set, [&](int k, uint64_t at) {
    store_columns(sums, first.column + at, dscale[k]);
    store_columns(sums + parts * of.columns, first.column + at, dshift[k]);
  });
}

// Only dx, for sets of any length, which are read twice.
template <int kType, int kWidth>
__global__ void __launch_bounds__(1024) differentiate_long_sets(NormArguments of) {
  const SetPlace set(of, SetPlace::first_row());
  const SetStatistics statistics(of, set.number);
  const uint64_t step = uint64_t(blockDim.x) * kWidth;
  float z[kWidth], h[kWidth], scale[kWidth], sum_h = 0, sum_hz = 0;
  const auto read = [&](uint64_t at) {
    load<kType, kWidth>(of.x, set.begin + at, z);
    load<kType, kWidth>(of.dy, set.begin + at, h);
    load_columns(of.scale, set.column + at, scale);
    for (int i = 0; i < kWidth; ++i) {
      z[i] = (z[i] - statistics.mean) * statistics.deviation;
      h[i] *= scale[i];
    }
  };
#pragma unroll 2
  for (uint64_t at = threadIdx.x * kWidth; at < of.set; at += step) {
    read(at);
    for (int i = 0; i < kWidth; ++i) sum_h += h[i], sum_hz += h[i] * z[i];
  }
  const float mean_h = of.has_mean ? sum_of_set(sum_h) / float(of.set) : 0;
  const float mean_hz = sum_of_set(sum_hz) / float(of.set);
#pragma unroll 2
  for (uint64_t at = threadIdx.x * kWidth; at < of.set; at += step) {
    read(at);
    for (int i = 0; i < kWidth; ++i) h[i] = statistics.deviation * (h[i] - mean_h - z[i] * mean_hz);
    store<kType, kWidth>(of.out, set.begin + at, h);
  }
}

namespace norm_kernels {

// The sums that kernels over columns compute: statistics of a column, gradients of a column whose
// sets are columns, or gradients of a column whose sets are in rows.
enum ColumnSums { kMoments, kGradientsOfBatch, kGradientsOfRows };

// Calls read(k, row) for NORM_ROWS_IN_FLIGHT rows of this thread (k = 0, 1, ...), so that the loads
// of all are in flight at once, and then use(k, row) for the same rows, until it has no more.
template <class Read, class Use>
__device__ void for_rows(const NormArguments& of, Read read, Use use) {
  const uint64_t step = uint64_t(gridDim.y) * blockDim.y;
  uint64_t row = blockIdx.y * uint64_t(blockDim.y) + threadIdx.y;
  for (; row < of.rows; row += NORM_ROWS_IN_FLIGHT * step) {
#pragma unroll
    for (int k = 0; k < NORM_ROWS_IN_FLIGHT; ++k)
      if (row + k * step < of.rows) read(k, row + k * step);
#pragma unroll
    for (int k = 0; k < NORM_ROWS_IN_FLIGHT; ++k)
      if (row + k * step < of.rows) use(k, row + k * step);
  }
}

template <int kWidth>
__device__ uint64_t first_column() {
  return (blockIdx.x * uint64_t(blockDim.x) + threadIdx.x) * kWidth;
}

}  // namespace norm_kernels

// Two sums over some of the rows for each column. Moments are relative to the first row's element,
// so that the variance loses few digits.
template <int kType, int kWidth, int kSums>
__global__ void __launch_bounds__(NORM_COLUMN_THREADS) sum_columns(NormArguments of) {
  __shared__ float shared[2 * kWidth][NORM_COLUMN_THREADS];
  const uint64_t column = first_column<kWidth>();
  const uint64_t sets_of_row = of.columns / of.set, set_of_row = column / of.set;
  const bool exists = column < of.columns;
  float first[kWidth] = {}, second[kWidth] = {}, origin[kWidth] = {}, factor[kWidth] = {};
  if (exists && kSums == kMoments) load<kType, kWidth>(of.x, column, origin);
  if (exists && kSums == kGradientsOfBatch) {
    load_columns(of.mean, column, origin);
    load_columns(of.spread, column, factor);
  }
  typename Stored<kWidth>::Word xs[NORM_ROWS_IN_FLIGHT], dys[NORM_ROWS_IN_FLIGHT];
  const auto read_row = [&](int k, uint64_t row) {
    xs[k] = read<kType, kWidth>(of.x, row * of.columns + column);
    if (kSums != kMoments) dys[k] = read<kType, kWidth>(of.dy, row * of.columns + column);
  };
  const auto add = [&](int k, uint64_t row) {
    float x[kWidth], dy[kWidth] = {};
    widen<kType, kWidth>(xs[k], x);
    if (kSums != kMoments) widen<kType, kWidth>(dys[k], dy);
    if (kSums == kGradientsOfRows) {
      const SetStatistics of_set(of, row * sets_of_row + set_of_row);
      for (int i = 0; i < kWidth; ++i) origin[i] = of_set.mean, factor[i] = of_set.deviation;
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float centered = x[i] - origin[i];
      first[i] += kSums == kMoments ? centered * centered : dy[i] * (centered * factor[i]);
      second[i] += kSums == kMoments ? centered : dy[i];
    }
  };
  if (exists) for_rows(of, read_row, add);
  const uint32_t thread = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    shared[2 * i][thread] = first[i];
    shared[2 * i + 1][thread] = second[i];
  }
  for (uint32_t half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half)
      for (int i = 0; i < 2 * kWidth; ++i)
        shared[i][thread] += shared[i][thread + half * blockDim.x];
  }
  if (threadIdx.y != 0 || !exists) return;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    first[i] = shared[2 * i][thread];
    second[i] = shared[2 * i + 1][thread];
  }
  float* const sums = of.partial + blockIdx.y * of.columns;
  store_columns(sums, column, first);
  store_columns(sums + uint64_t(gridDim.y) * of.columns, column, second);
}

// Adds up `parts` partial sums of each column. Gradients are stored as they are; from moments, the
// mean and the inverse deviation are stored. kType is the type of x.
template <int kType, int kSums>
__global__ void __launch_bounds__(NORM_COMBINING_THREADS* NORM_COMBINING_THREADS)
    combine_columns(NormArguments of, uint64_t parts) {
  __shared__ float firsts[NORM_COMBINING_THREADS][NORM_COMBINING_THREADS];
  __shared__ float seconds[NORM_COMBINING_THREADS][NORM_COMBINING_THREADS];
  const uint64_t column = blockIdx.x * uint64_t(NORM_COMBINING_THREADS) + threadIdx.x;
  const bool exists = column < of.columns;
  float first = 0, second = 0;
  if (exists)
    for (uint64_t part = threadIdx.y; part < parts; part += NORM_COMBINING_THREADS) {
      first += of.partial[part * of.columns + column];
      second += of.partial[(parts + part) * of.columns + column];
    }
  firsts[threadIdx.y][threadIdx.x] = first;
  seconds[threadIdx.y][threadIdx.x] = second;
  for (uint32_t half = NORM_COMBINING_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    firsts[threadIdx.y][threadIdx.x] += firsts[threadIdx.y + half][threadIdx.x];
    seconds[threadIdx.y][threadIdx.x] += seconds[threadIdx.y + half][threadIdx.x];
  }
  if (threadIdx.y != 0 || !exists) return;
  first = firsts[0][threadIdx.x], second = seconds[0][threadIdx.x];
  if (kSums != kMoments) {
    of.dscale[column] = first;
    if (of.dshift) of.dshift[column] = second;
    return;
  }
  float origin[1];
  load<kType, 1>(of.x, column, origin);
  const float distance = second / float(of.rows);
  const float variance = first / float(of.rows) - distance * distance;
  of.mean[column] = origin[0] + distance;
  of.spread[column] = 1 / sqrtf((variance > 0 ? variance : 0) + of.epsilon);
}

// Computes y for sets that are columns. If `is_variance` is set, `spread` holds variances.
template <int kType, int kWidth>
__global__ void __launch_bounds__(NORM_COLUMN_THREADS)
    normalize_columns(NormArguments of, uint32_t is_variance) {
  const uint64_t column = first_column<kWidth>();
  if (column >= of.columns) return;
  float mean[kWidth], spread[kWidth], scale[kWidth], shift[kWidth];
  load_columns(of.mean, column, mean);
  load_columns(of.spread, column, spread);
  load_columns(of.scale, column, scale);
  load_columns(of.shift, column, shift);
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    scale[i] *= is_variance ? 1 / sqrtf(spread[i] + of.epsilon) : spread[i];
  typename Stored<kWidth>::Word xs[NORM_ROWS_IN_FLIGHT];
  const auto read_row = [&](int k, uint64_t row) {
    xs[k] = read<kType, kWidth>(of.x, row * of.columns + column);
  };
  const auto write = [&](int k, uint64_t row) {
    float x[kWidth];
    widen<kType, kWidth>(xs[k], x);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) x[i] = scale[i] * (x[i] - mean[i]) + shift[i];
    store<kType, kWidth>(of.out, row * of.columns + column, x);
  };
  for_rows(of, read_row, write);
}

// Computes dx for sets that are columns, from the gradients of scale and shift.
template <int kType, int kWidth>
__global__ void __launch_bounds__(NORM_COLUMN_THREADS) differentiate_columns(NormArguments of) {
  const uint64_t column = first_column<kWidth>();
  if (column >= of.columns) return;
  float mean[kWidth], factor[kWidth], dscale[kWidth], dshift[kWidth], deviation[kWidth];
  load_columns(of.mean, column, mean);
  load_columns(of.spread, column, deviation);
  load_columns(of.scale, column, factor);
  load_columns(of.dscale, column, dscale);
  load_columns(of.dshift, column, dshift);
  const float rows = float(of.rows);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    factor[i] *= deviation[i];
    dscale[i] = deviation[i] * dscale[i] / rows;
    dshift[i] /= rows;
  }
  typename Stored<kWidth>::Word xs[NORM_ROWS_IN_FLIGHT], dys[NORM_ROWS_IN_FLIGHT];
  const auto read_row = [&](int k, uint64_t row) {
    xs[k] = read<kType, kWidth>(of.x, row * of.columns + column);
    dys[k] = read<kType, kWidth>(of.dy, row * of.columns + column);
  };
  const auto write = [&](int k, uint64_t row) {
    float x[kWidth], dy[kWidth];
    widen<kType, kWidth>(xs[k], x);
    widen<kType, kWidth>(dys[k], dy);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      dy[i] = factor[i] * (dy[i] - dshift[i] - (x[i] - mean[i]) * dscale[i]);
    store<kType, kWidth>(of.out, row * of.columns + column, dy);
  };
  for_rows(of, read_row, write);
}

// Fills an operand with the elements of NormValues (ops/norm/norm.hpp): random ones if `uniform` is
// set, and otherwise those of a constant.
template <int kType>
__global__ void fill_norm_values(void* to, uint64_t count, uint32_t uniform, float constant,
                                 uint64_t seed, uint32_t stream, float offset, float factor) {
  const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const float drawn = uniform ? deepbench_uniform(seed, stream, i) : constant;
    const float value[1] = {offset + factor * drawn};
    store<kType, 1>(to, i, value);
  }
}
