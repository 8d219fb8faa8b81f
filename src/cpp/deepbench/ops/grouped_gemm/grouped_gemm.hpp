// Products of groups of rows with a matrix of each group's own, C_g = A_g B_g, as the experts of a
// mixture compute them: the typed problem and the split of the rows. Header-only, for the core and
// for backends.
//
// A holds the rows of all groups one after another, `rows` x k; row g of groups takes rows_of(g) of
// them, and none in an empty group. B holds one k x n matrix for each group, C the results, `rows`
// x n. Memory is laid out as models have it: A and C by rows, and each matrix of B as the weights
// of a linear layer, n rows of k elements. The index of an element is thus l + i*k in A, l + j*k +
// g*k*n in B, and j + i*n in C.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"

namespace deepbench {

struct GroupedGemm {
  int64_t groups = 0, rows = 0, n = 0, k = 0;
  PrecisionInfo precision;
  std::vector<int64_t> first_rows;  // first row of each group, then the number of all rows

  // fill.h streams of the operands, and of the draws that assign rows to groups.
  static constexpr uint32_t kStreamA = 0, kStreamB = 1, kStreamSplit = 2;

  int64_t rows_of(int64_t group) const {
    return first_rows[size_t(group) + 1] - first_rows[size_t(group)];
  }
  int64_t first_row(int64_t group) const { return first_rows[size_t(group)]; }
  int64_t groups_with_rows() const {
    int64_t count = 0;
    for (int64_t group = 0; group < groups; ++group) count += rows_of(group) > 0;
    return count;
  }

  // The contents of the operand after a refill with "integers".
  deepbench_small_integers integers(uint32_t stream) const {
    return deepbench_gemm_integers(precision.c, uint64_t(k), stream);
  }
  // Whether the bounds of rounding are so wide that they may contain a result that lacks some of
  // the products, as for gemm.
  bool needs_exact_sums() const {
    constexpr int64_t kManyProducts = 100000;
    return k > kManyProducts;
  }
};

// The number of rows of each group. The random draws depend on the seed alone, so that host, device
// and reference compute the same split.
class RowSplit {
 public:
  RowSplit(int64_t groups, int64_t rows) : rows_(rows), counts_(size_t(groups)) {}

  // Makes the groups as equal as possible; the first ones have one row more.
  std::vector<int64_t> uniform() {
    const auto groups = int64_t(counts_.size());
    for (int64_t group = 0; group < groups; ++group)
      counts_[size_t(group)] = rows_ / groups + (group < rows_ % groups);
    return counts_;
  }

  // Each row draws one of the groups with equal probability.
  std::vector<int64_t> multinomial(uint64_t seed) {
    for (int64_t row = 0; row < rows_; ++row) ++counts_[draw(seed, row) % counts_.size()];
    return counts_;
  }

  // Each row draws a group, where group g has a probability in proportion to 1 / (g + 1).
  std::vector<int64_t> zipf(uint64_t seed) {
    std::vector<double> limits;
    double total = 0;
    for (size_t group = 0; group < counts_.size(); ++group)
      limits.push_back(total += 1 / double(group + 1));
    for (int64_t row = 0; row < rows_; ++row) {
      const double place = double(draw(seed, row) >> 11) * 0x1p-53 * total;
      const auto group = std::upper_bound(limits.begin(), limits.end() - 1, place);
      ++counts_[size_t(group - limits.begin())];
    }
    return counts_;
  }

 private:
  static uint64_t draw(uint64_t seed, int64_t row) {
    return deepbench_bits(seed, GroupedGemm::kStreamSplit, uint64_t(row));
  }

  const int64_t rows_;
  std::vector<int64_t> counts_;
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
GroupedGemm grouped_gemm_problem(const Attributes& attributes) {
  GroupedGemm problem;
  problem.groups = attributes.integer("groups");
  problem.rows = attributes.integer("rows");
  problem.n = attributes.integer("n");
  problem.k = attributes.integer("k");
  problem.precision = precision_info(attributes.text("precision"));
  const std::string split = attributes.text("split");
  const auto seed = uint64_t(attributes.integer("split_seed"));  // 0 if it is absent
  RowSplit rows(problem.groups, problem.rows);
  const std::vector<int64_t> counts = split == "multinomial" ? rows.multinomial(seed)
                                      : split == "zipf"      ? rows.zipf(seed)
                                                             : rows.uniform();
  problem.first_rows.push_back(0);
  for (const int64_t count : counts)
    problem.first_rows.push_back(problem.first_rows.back() + count);
  return problem;
}

}  // namespace deepbench
