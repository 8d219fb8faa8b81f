// Activations and their gradients, element by element: the typed problem. Header-only, for the core
// and for backends.
//
//   relu     max(x, 0)                       dy where x > 0, else 0
//   gelu     x Phi(x), by the error function  dy (Phi(x) + x phi(x))
//   silu     x s(x)                          dy s(x) (1 + x (1 - s(x)))
//   sigmoid  s(x) = 1 / (1 + exp(-x))        dy y (1 - y)
//   tanh     tanh(x)                         dy (1 - y^2)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/input_array.hpp"
#include "deepbench/core/precision.hpp"

namespace deepbench {

enum class ActivationKind { kRelu, kGelu, kSilu, kSigmoid, kTanh };

struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
  uint64_t elements = 0;
  bool is_forward = true;
  PrecisionInfo precision;

  // fill.h streams of the inputs: x or y, and dy.
  static constexpr uint32_t kStreamX = 0, kStreamDy = 1;
  // x lies in [-8, 8): the range in which the functions are curved, and parts where they are almost
  // straight.
  static constexpr float kScaleOfX = 8;

  deepbench_type type() const { return precision.c; }
  // Whether the gradient is computed from the output y instead of from x, as in frameworks.
  bool gradient_takes_output() const {
    return kind == ActivationKind::kSigmoid || kind == ActivationKind::kTanh;
  }
  // The inputs in the order of a call's operands.
  std::vector<InputArray> inputs() const {
    const bool takes_y = !is_forward && gradient_takes_output();
    const float scale = takes_y ? 1 : kScaleOfX;
    const InputArray x = {kStreamX, type(), elements, scale};
    if (is_forward) return {x};
    return {x, {kStreamDy, type(), elements}};
  }
  double traffic() const {
    return double(inputs().size() + 1) * double(elements) * double(size_of(type()));
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Activation activation_problem(const Attributes& attributes) {
  const std::string kind = attributes.text("kind");
  Activation activation;
  activation.kind = kind == "gelu"      ? ActivationKind::kGelu
                    : kind == "silu"    ? ActivationKind::kSilu
                    : kind == "sigmoid" ? ActivationKind::kSigmoid
                    : kind == "tanh"    ? ActivationKind::kTanh
                                        : ActivationKind::kRelu;
  activation.elements = uint64_t(attributes.integer("elements"));
  activation.is_forward = attributes.text("phase") == "fwd";
  activation.precision = precision_info(attributes.text("precision"));
  return activation;
}

}  // namespace deepbench
