// An output that a test provides, and the check whether an expected output accepts it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/fill.h"

namespace deepbench::testing {

class FixedOutput : public ComputedOutput {
 public:
  template <class Real>
  explicit FixedOutput(const std::vector<Real>& values) : values_(values.begin(), values.end()) {}

  std::vector<double> elements(const std::vector<uint64_t>& indices) override {
    elements_read_ = indices.size();
    std::vector<double> found;
    for (const uint64_t index : indices) found.push_back(at(index));
    return found;
  }

  std::vector<double> project(uint64_t rows, uint64_t outputs, uint64_t seed) override {
    std::vector<double> sums(rows);
    for (uint64_t i = 0; i < outputs; ++i)
      sums[i % rows] += at(i) * deepbench_weight(seed, i / rows);
    return sums;
  }

  virtual double at(uint64_t index) const { return values_.at(index); }
  size_t elements_read() const { return elements_read_; }

 private:
  std::vector<double> values_;
  size_t elements_read_ = 0;
};

// The largest ratio of error to bound; the output is accepted up to 1.
inline double worst_error(const ExpectedOutput& expected, FixedOutput& output) {
  double worst = 0;
  const auto compare = [&](double got, double value, double bound) {
    const double error = std::abs(got - value);
    if (error > bound && bound == 0) worst = std::numeric_limits<double>::infinity();
    if (bound > 0) worst = std::max(worst, error / bound);
  };
  for (size_t i = 0; i < expected.indices.size(); ++i)
    compare(output.at(expected.indices[i]), expected.values[i], expected.bounds[i]);
  if (expected.projection_rows == 0) return worst;
  const std::vector<double> sums =
      output.project(expected.projection_rows, expected.outputs, expected.projection_seed);
  for (size_t i = 0; i < sums.size(); ++i)
    compare(sums[i], expected.projections[i], expected.projection_bounds[i]);
  return worst;
}

}  // namespace deepbench::testing
