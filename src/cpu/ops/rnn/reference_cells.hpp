// The pointwise part of the reference: one sequence's step through a cell and back, straight from
// the formulas of ops/rnn/rnn.hpp, in float.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace deepbench::cpu {

// Rows of `hidden` elements, those of one step of one sequence.
struct CellStep {
  int64_t hidden = 0;
  std::array<float*, 4> gate{};     // before: s, the recurrent product; after: the gate's value
  std::array<const float*, 4> b{};  // of gru b' follows
  std::array<const float*, 4> wx{};
  float x = 0;                                           // the only input
  const float *h_before = nullptr, *c_before = nullptr;  // of the step before
  float *h = nullptr, *c = nullptr;
  float* reset_term = nullptr;      // gru: s_o + b'; gru_reset_before: r h'
  bool rounds_to_bfloat16 = false;  // h, as it is handed on
};

// Gradients of the same step; its values are those that CellStep left.
struct CellGradient {
  const float* dy = nullptr;   // of this step's output
  float* dh = nullptr;         // in: of h from behind; out: of h', but for the recurrent product
  float* dc = nullptr;         // in: of c from behind; out: of c'
  std::array<float*, 4> ds{};  // of s; may be where the gates are
  float* dreset = nullptr;     // gru_reset_before: of r h'
  float* dx = nullptr;         // of the step's input
};

struct Cell {
  void (*forward)(const CellStep& step);
  void (*backward)(const CellStep& step, const CellGradient& gradient);
  // gru_reset_before alone, whose last gate waits for the product of r h': before that product in
  // forward, after its gradient in backward.
  void (*forward_reset)(const CellStep& step);
  void (*backward_reset)(const CellStep& step, const CellGradient& gradient);
};

const Cell& cell_named(const std::string& name);

}  // namespace deepbench::cpu
