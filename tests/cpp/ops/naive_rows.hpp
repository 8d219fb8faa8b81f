// Softmax and activations in plain loops, in double or as float arithmetic gives them, and the
// errors that a kernel may make in them.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "deepbench/core/generated_array.hpp"
#include "deepbench/ops/activation/activation.hpp"
#include "deepbench/ops/softmax/softmax.hpp"

namespace deepbench::testing {

// What the inputs of a problem hold.
inline std::vector<std::vector<float>> read_inputs(const std::vector<InputArray>& inputs,
                                                   const std::string& mode, uint64_t seed) {
  KernelConditions conditions;
  conditions.inputs = mode;
  conditions.seed = seed;
  std::vector<std::vector<float>> all;
  for (const InputArray& input : inputs) {
    all.emplace_back(input.elements);
    GeneratedArray(input, conditions).read(0, int64_t(input.elements), all.back().data());
  }
  return all;
}

// `Real` is the type of the arithmetic, `sums` how a partial sum is stored.
template <class Real>
struct NaiveSoftmax {
  Softmax softmax;
  std::string error{};  // empty: none
  Real (*sums)(Real) = [](Real sum) { return sum; };

  std::vector<double> output(const std::string& mode, uint64_t seed = 1) const {
    const auto inputs = read_inputs(softmax.inputs(), mode, seed);
    std::vector<double> out(softmax.elements());
    for (int64_t row = 0; row < softmax.rows; ++row) {
      const size_t at = size_t(row * softmax.columns);
      const size_t from = error == "a row of another row" && row == softmax.rows / 2 ? 0 : at;
      if (softmax.is_forward)
        forward(inputs[0].data() + from, out.data() + at);
      else
        gradient(inputs[0].data() + from, inputs[1].data() + from, out.data() + at);
    }
    return out;
  }

 private:
  size_t columns() const { return size_t(softmax.columns); }
  size_t summed() const {
    return error == "a tail dropped" ? columns() - columns() / 16 : columns();
  }

  void forward(const float* x, double* y) const {
    const Real largest = error == "no maximum subtracted" ? 0 : *std::max_element(x, x + columns());
    Real sum = 0;
    for (size_t i = 0; i < summed(); ++i) sum = sums(sum + std::exp(Real(x[i]) - largest));
    if (error == "not normalized") sum = 1;
    for (size_t i = 0; i < columns(); ++i) y[i] = double(std::exp(Real(x[i]) - largest) / sum);
  }
  void gradient(const float* y, const float* dy, double* dx) const {
    Real sum = 0;
    for (size_t i = 0; i < summed(); ++i) sum = sums(sum + Real(y[i]) * Real(dy[i]));
    if (error == "no sum subtracted") sum = 0;
    for (size_t i = 0; i < columns(); ++i) dx[i] = double(Real(y[i]) * (Real(dy[i]) - sum));
  }
};

template <class Real>
Real naive_sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

template <class Real>
Real naive_activation(ActivationKind kind, Real x, const std::string& error) {
  switch (kind) {
    case ActivationKind::kRelu:
      return x > 0 ? x : error == "leaky" ? x / 100 : 0;
    case ActivationKind::kGelu:
      if (error == "gelu by tanh")
        return x / 2 * (1 + std::tanh(Real(0.7978845608) * (x + Real(0.044715) * x * x * x)));
      return x / 2 * (1 + std::erf(x * Real(0.70710678118654752)));
    case ActivationKind::kSilu:
      return x * naive_sigmoid(error == "silu of 1.702 x" ? Real(1.702) * x : x);
    case ActivationKind::kSigmoid:
      return error == "hard" ? std::clamp<Real>(x / 6 + Real(0.5), 0, 1) : naive_sigmoid(x);
    case ActivationKind::kTanh:
      return error == "hard" ? std::clamp<Real>(x, -1, 1) : std::tanh(x);
  }
  throw std::invalid_argument("no such activation");
}

// At x, or at the output of sigmoid and tanh.
template <class Real>
Real naive_derivative(ActivationKind kind, Real x, const std::string& error) {
  switch (kind) {
    case ActivationKind::kRelu:
      return x > 0 ? 1 : error == "leaky" ? Real(0.01) : 0;
    case ActivationKind::kGelu:
      return (1 + std::erf(x * Real(0.70710678118654752))) / 2 +
             (error == "derivative of one factor" ? 0 : x) * Real(0.39894228040143268) *
                 std::exp(-x * x / 2);
    case ActivationKind::kSilu: {
      const Real s = naive_sigmoid(x);
      return s * (1 + (error == "derivative of one factor" ? 0 : x) * (1 - s));
    }
    case ActivationKind::kSigmoid:
      return error == "output taken for x" ? naive_sigmoid(x) * (1 - naive_sigmoid(x))
                                           : x * (1 - x);
    case ActivationKind::kTanh:
      return 1 - (error == "output taken for x" ? std::tanh(x) * std::tanh(x) : x * x);
  }
  throw std::invalid_argument("no such activation");
}

template <class Real>
std::vector<double> naive_activations(const Activation& activation, const std::string& error = "",
                                      uint64_t seed = 1) {
  const auto inputs = read_inputs(activation.inputs(), "uniform", seed);
  std::vector<double> out;
  for (size_t i = 0; i < activation.elements; ++i) {
    const Real x = inputs[0][i];
    out.push_back(
        double(activation.is_forward
                   ? naive_activation<Real>(activation.kind, x, error)
                   : Real(inputs[1][i]) * naive_derivative<Real>(activation.kind, x, error)));
  }
  return out;
}

}  // namespace deepbench::testing
