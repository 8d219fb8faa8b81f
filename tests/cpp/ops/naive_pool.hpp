// Pooling and local response normalization in plain loops in double, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deepbench/ops/lrn/lrn.hpp"
#include "deepbench/ops/pool/pool.hpp"

namespace deepbench::testing {

// The exact outputs. `error` names what a kernel does wrong; empty: nothing.
class NaivePool {
 public:
  NaivePool(const Pool& pool, uint64_t seed, std::string error = "")
      : p_(pool), seed_(seed), error_(std::move(error)) {}

  std::vector<double> output() const {
    std::vector<double> out(size_t(p_.planes() * p_.output_plane()));
    for (int64_t plane = 0; plane < p_.planes(); ++plane)
      for (int64_t i = 0; i < p_.p(); ++i)
        for (int64_t j = 0; j < p_.q(); ++j) pool_window(plane, i, j, out);
    return out;
  }

 private:
  double x(int64_t plane, int64_t row, int64_t column) const {
    return deepbench_element(p_.type(), seed_, Pool::kStreamX,
                             uint64_t((plane * p_.h + row) * p_.w + column));
  }
  bool is_inside(int64_t row, int64_t column) const {
    return row >= 0 && row < p_.h && column >= 0 && column < p_.w;
  }

  void pool_window(int64_t plane, int64_t i, int64_t j, std::vector<double>& out) const {
    const int64_t y_index = (plane * p_.p() + i) * p_.q() + j;
    const int64_t top = i * p_.stride_h - p_.pad_h, left = j * p_.stride_w - p_.pad_w;
    const int64_t bottom = top + p_.r - (error_ == "the last row of windows dropped" ? 1 : 0);
    double sum = 0, most = -2, places = 0;
    int64_t most_at = 0;
    for (int64_t row = top; row < bottom; ++row)
      for (int64_t column = left; column < left + p_.s; ++column) {
        places += is_inside(row, column) || error_ == "padding counted";
        if (!is_inside(row, column)) {
          if (error_ == "padding counted") most = std::max(most, 0.0);
          continue;
        }
        const double value = x(plane, row, column);
        sum += value;
        if (value > most) most = value, most_at = (plane * p_.h + row) * p_.w + column;
      }
    if (!p_.is_backward) {
      out[size_t(y_index)] = p_.is_average ? sum / places : most;
      return;
    }
    const double dy = deepbench_element(p_.type(), seed_, Pool::kStreamDy, uint64_t(y_index));
    if (!p_.is_average) return add(dy, most_at, out);
    for (int64_t row = top; row < bottom; ++row)
      for (int64_t column = left; column < left + p_.s; ++column)
        if (is_inside(row, column)) add(dy / places, (plane * p_.h + row) * p_.w + column, out);
  }

  void add(double gradient, int64_t at, std::vector<double>& out) const {
    if (error_ == "the gradient overwrites") out[size_t(at)] = 0;
    out[size_t(at)] += gradient;
  }

  const Pool p_;
  const uint64_t seed_;
  const std::string error_;
};

inline std::vector<double> naive_lrn(const Lrn& l, uint64_t seed, const std::string& error = "") {
  std::vector<double> out(size_t(l.elements()));
  const auto x = [&](int64_t image, int64_t channel, int64_t place) {
    return deepbench_element(l.type(), seed, Lrn::kStreamX,
                             uint64_t((image * l.c + channel) * l.plane() + place));
  };
  const double divisor = error == "alpha not divided" ? 1 : double(l.size);
  const int64_t around = l.size / 2, shift = error == "channels off by one" ? 1 : 0;
  for (int64_t image = 0; image < l.n; ++image)
    for (int64_t channel = 0; channel < l.c; ++channel)
      for (int64_t place = 0; place < l.plane(); ++place) {
        double squares = 0;
        for (int64_t other = channel - around; other <= channel + around; ++other)
          if (other + shift >= 0 && other + shift < l.c)
            squares += std::pow(x(image, other + shift, place), 2);
        const double base = Lrn::kK + Lrn::kAlpha / divisor * squares;
        out[size_t((image * l.c + channel) * l.plane() + place)] =
            x(image, channel, place) * std::pow(base, error == "beta 1" ? -1 : -Lrn::kBeta);
      }
  return out;
}

}  // namespace deepbench::testing
