// Sums in double over rows: many rows with one factor each, or the products of one row with many.
#pragma once

#include <cstdint>
#include <vector>

namespace deepbench {

constexpr int64_t kRowLanes = 4;

inline int64_t round_up_to_lanes(int64_t count) {
  return (count + kRowLanes - 1) / kRowLanes * kRowLanes;
}

struct RowTap {
  const double* from;
  double factor;
};

// sums[i] += the sum over all taps of factor * from[i].
void add_weighted_rows_of_taps(const std::vector<RowTap>& taps, int64_t count, double* sums);

// One sum in several lanes; total() adds them up.
struct LaneSum {
  double lanes[kRowLanes] = {};
  double total() const { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }
};

// sums[j] += the dot product of rows a and b[j]; `count` is a multiple of kRowLanes.
void add_products(const double* a, const std::vector<const double*>& b, int64_t count,
                  LaneSum* sums);

}  // namespace deepbench
