// Loops over rows, compiled for every vector extension. The order of summation is fixed.
#include "deepbench/ops/conv/row_sums.hpp"

#include <cstring>

#include "deepbench/core/double_vectors.hpp"

namespace deepbench {
namespace {

template <int kTaps>
DEEPBENCH_ALWAYS_INLINE inline void add_weighted_rows(const RowTap* taps, int64_t count,
                                                      double* __restrict sums) {
  for (int64_t i = 0; i < count; ++i) {
    double sum = sums[i];
    for (int tap = 0; tap < kTaps; ++tap) sum += taps[tap].factor * taps[tap].from[i];
    sums[i] = sum;
  }
}

template <int kTaps>
DEEPBENCH_ALWAYS_INLINE inline void add_row_products(const double* a, const double* const* b,
                                                     int64_t count, LaneSum* sums) {
  Double4 total[kTaps] = {};
  for (int64_t i = 0; i < count; i += kRowLanes) {
    Double4 left, right;
    load(a + i, left);
    for (int tap = 0; tap < kTaps; ++tap) {
      load(b[tap] + i, right);
      total[tap] += left * right;
    }
  }
  for (int tap = 0; tap < kTaps; ++tap) {
    Double4 previous;
    load(sums[tap].lanes, previous);
    total[tap] += previous;
    std::memcpy(sums[tap].lanes, &total[tap], sizeof total[tap]);
  }
}

}  // namespace

void add_weighted_rows_of_taps(const std::vector<RowTap>& taps, int64_t count, double* sums) {
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    const RowTap *tap = taps.data(), *const end = tap + taps.size();
    for (; end - tap >= 4; tap += 4) add_weighted_rows<4>(tap, count, sums);
    if (end - tap == 3) add_weighted_rows<3>(tap, count, sums);
    if (end - tap == 2) add_weighted_rows<2>(tap, count, sums);
    if (end - tap == 1) add_weighted_rows<1>(tap, count, sums);
  });
}

void add_products(const double* a, const std::vector<const double*>& b, int64_t count,
                  LaneSum* sums) {
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    const auto taps = static_cast<int64_t>(b.size());
    int64_t tap = 0;
    for (; tap + 4 <= taps; tap += 4) add_row_products<4>(a, &b[size_t(tap)], count, sums + tap);
    if (tap + 2 <= taps) {
      add_row_products<2>(a, &b[size_t(tap)], count, sums + tap);
      tap += 2;
    }
    if (tap < taps) add_row_products<1>(a, &b[size_t(tap)], count, sums + tap);
  });
}

}  // namespace deepbench
