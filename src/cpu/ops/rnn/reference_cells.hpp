// The pointwise part of the reference: one step of one sequence through a cell, forward and
// backward, in float and directly from the formulas of ops/rnn/rnn.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace deepbench::cpu {

// Rows of `hidden` elements for one step of one sequence.
struct CellStep {
  int64_t hidden = 0;
  std::array<float*, 4> gate{};     // In: s, the recurrent product. Out: the gate's value.
  std::array<const float*, 4> b{};  // For gru, b' comes last.
  std::array<const float*, 4> wx{};
  float x = 0;                                           // The only input of the step.
  const float *h_before = nullptr, *c_before = nullptr;  // The states of the previous step.
  float *h = nullptr, *c = nullptr;
  float* reset_term = nullptr;      // gru: s_o + b'; gru_reset_before: r h'.
  bool rounds_to_bfloat16 = false;  // Whether h is rounded when it is passed on.
};

// The gradients of the same step. The step's values are those that the forward pass left in
// CellStep.
struct CellGradient {
  const float* dy = nullptr;  // The gradient of this step's output.
  // In: the gradient of h from the next step. Out: that of h' without the recurrent product.
  float* dh = nullptr;
  float* dc = nullptr;         // In: the gradient of c from the next step. Out: that of c'.
  std::array<float*, 4> ds{};  // The gradient of s; it may share memory with the gates.
  float* dreset = nullptr;     // gru_reset_before: the gradient of r h'.
  float* dx = nullptr;         // The gradient of the step's input.
};

struct Cell {
  void (*forward)(const CellStep& step);
  void (*backward)(const CellStep& step, const CellGradient& gradient);
  // Only for gru_reset_before, whose last gate needs the product of r h'. forward_reset runs before
  // that product; backward_reset runs after the product's gradient.
  void (*forward_reset)(const CellStep& step);
  void (*backward_reset)(const CellStep& step, const CellGradient& gradient);
};

const Cell& cell_named(const std::string& name);

}  // namespace deepbench::cpu
