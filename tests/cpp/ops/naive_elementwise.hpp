// Elementwise work in plain loops, in double or as float arithmetic gives it, and the errors that a
// kernel may make in it.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "deepbench/ops/elementwise/elementwise.hpp"
#include "naive_rows.hpp"

namespace deepbench::testing {

// `Real` is the type of the arithmetic; `error`: empty for none.
template <class Real>
class NaiveElementwise {
 public:
  explicit NaiveElementwise(const Elementwise& elementwise, const std::string& error = "")
      : elementwise_(elementwise), error_(error) {}

  std::vector<double> output(uint64_t seed = 1) const {
    const auto inputs = read_inputs(elementwise_.inputs(), "uniform", seed);
    std::vector<double> out(elementwise_.elements());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = double(elementwise_.is_rotary() ? rotated(inputs, int64_t(i))
                                               : combined(inputs[0][i], inputs[1][i]));
    return out;
  }

 private:
  Real combined(Real a, Real b) const {
    if (error_ == "the first input alone") return a;
    if (error_ == "the second input twice") a = b;
    switch (elementwise_.kind) {
      case ElementwiseKind::kAdd:
        return error_ == "a difference" ? a - b : a + b;
      case ElementwiseKind::kMultiply:
        return a * b;
      default:
        if (error_ == "gate and up exchanged") std::swap(a, b);
        if (error_ == "a sigmoid alone") return naive_sigmoid(a) * b;
        return a * naive_sigmoid(error_ == "silu of 1.702 x" ? Real(1.702) * a : a) * b;
    }
  }

  Real rotated(const std::vector<std::vector<float>>& inputs, int64_t i) const {
    const int64_t half = elementwise_.half(), dim = elementwise_.dim;
    const int64_t head = i / dim, place = i % dim;
    const bool pairs_neighbors = error_ == "neighbors paired";
    const bool is_second = pairs_neighbors ? place % 2 == 1 : place >= half;
    const int64_t angle = pairs_neighbors ? place / 2 : place % half;
    const int64_t distance = pairs_neighbors ? 1 : half;
    int64_t row = head / elementwise_.heads();
    if (error_ == "the angles of the first row") row = 0;
    const Real own = inputs[0][size_t(i)];
    const Real other = inputs[0][size_t(is_second ? i - distance : i + distance)];
    const Real cosine = inputs[1][size_t(row * half + angle)];
    const Real sine = inputs[2][size_t(row * half + angle)];
    if (error_ == "no sines") return own * cosine;
    const bool adds = is_second != (error_ == "turned back");
    return own * cosine + (adds ? other * sine : -other * sine);
  }

  const Elementwise elementwise_;
  const std::string error_;
};

}  // namespace deepbench::testing
