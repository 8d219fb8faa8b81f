// Products of groups by their definition, in double over the elements of fill.h: the expected
// result of every library.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/problem.hpp"
#include "deepbench/ops/grouped_gemm/grouped_gemm.hpp"

namespace deepbench::testing {

inline GroupedGemm parse_grouped_gemm(const std::string& attributes) {
  return grouped_gemm_problem(Problem::parse("grouped_gemm " + attributes));
}

// Of each row of A.
inline std::vector<int64_t> groups_of_rows(const GroupedGemm& problem) {
  std::vector<int64_t> groups;
  for (int64_t group = 0; group < problem.groups; ++group)
    groups.insert(groups.end(), size_t(problem.rows_of(group)), group);
  return groups;
}

class NaiveGroupedGemm {
 public:
  NaiveGroupedGemm(const GroupedGemm& problem, uint64_t seed, bool integers = false)
      : problem_(problem), groups_(groups_of_rows(problem)), seed_(seed), integers_(integers) {}

  struct Sums {
    double products = 0, squares = 0;
  };
  // Of output j of a row.
  Sums sums(int64_t row, int64_t j) const {
    const int64_t k = problem_.k, first_b = (groups_[size_t(row)] * problem_.n + j) * k;
    Sums sums;
    for (int64_t l = 0; l < k; ++l) {
      const double product = element(problem_.precision.a, GroupedGemm::kStreamA, l + row * k) *
                             element(problem_.precision.b, GroupedGemm::kStreamB, l + first_b);
      sums.products += product, sums.squares += product * product;
    }
    return sums;
  }

  // How many of all outputs are wrong.
  uint64_t count_wrong(const std::vector<double>& got) const {
    uint64_t wrong = 0;
    for (int64_t row = 0; row < problem_.rows; ++row)
      for (int64_t j = 0; j < problem_.n; ++j) {
        const Sums expected = sums(row, j);
        const double bound =
            integers_ ? 0
                      : problem_.precision.output_roundoff * (std::abs(expected.products) + 1) +
                            4 * std::sqrt(double(problem_.k) * expected.squares) *
                                problem_.precision.sum_roundoff;
        wrong += !(std::abs(got[size_t(j + row * problem_.n)] - expected.products) <= bound);
      }
    return wrong;
  }

 private:
  double element(deepbench_type type, uint32_t stream, int64_t index) const {
    if (integers_)
      return deepbench_small_integer(problem_.integers(stream), seed_, stream, uint64_t(index));
    return deepbench_element(type, seed_, stream, uint64_t(index));
  }

  const GroupedGemm problem_;
  const std::vector<int64_t> groups_;
  const uint64_t seed_;
  const bool integers_;
};

}  // namespace deepbench::testing
