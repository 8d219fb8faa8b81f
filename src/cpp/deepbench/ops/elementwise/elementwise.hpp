// Elementwise work between the layers of models: the typed problem. Header-only, for the core and
// for backends. All arrays are matrices of `rows` x `columns`, stored by rows.
//
//   add       a + b                 the sum of a layer's output and its input
//   multiply  a b                   gates
//   swiglu    a s(a) b              with s(a) = 1 / (1 + exp(-a)), of gated feed-forward networks
//   rotary    each head of `dim` elements in a row x, with the cosines c and the sines s of the
//             row, of which there are dim / 2 for all its heads:
//             y[i]           = x[i] c[i] - x[i + dim / 2] s[i]
//             y[i + dim / 2] = x[i + dim / 2] c[i] + x[i] s[i]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/input_array.hpp"
#include "deepbench/core/precision.hpp"

namespace deepbench {

enum class ElementwiseKind { kAdd, kMultiply, kSwiglu, kRotary };

struct Elementwise {
  ElementwiseKind kind = ElementwiseKind::kAdd;
  int64_t rows = 0, columns = 0;
  int64_t dim = 1;  // elements of a head
  PrecisionInfo precision;

  // fill.h streams of the inputs: a and b, or x, the cosines and the sines.
  static constexpr uint32_t kStreamA = 0, kStreamB = 1;
  static constexpr uint32_t kStreamX = 0, kStreamCosines = 1, kStreamSines = 2;
  // The a of swiglu lies in [-8, 8): the range in which s is curved, and parts where it is almost
  // straight.
  static constexpr float kScaleOfGate = 8;

  deepbench_type type() const { return precision.c; }
  bool is_rotary() const { return kind == ElementwiseKind::kRotary; }
  uint64_t elements() const { return uint64_t(rows) * uint64_t(columns); }
  // Half of a head, which is also the number of columns of a table.
  int64_t half() const { return dim / 2; }
  int64_t heads() const { return columns / dim; }

  // The inputs in the order of a call's operands.
  std::vector<InputArray> inputs() const {
    if (is_rotary()) {
      const uint64_t angles = uint64_t(rows) * uint64_t(half());
      return {{kStreamX, type(), elements()},
              {kStreamCosines, type(), angles},
              {kStreamSines, type(), angles}};
    }
    const float scale = kind == ElementwiseKind::kSwiglu ? kScaleOfGate : 1;
    return {{kStreamA, type(), elements(), scale}, {kStreamB, type(), elements()}};
  }
  // Bytes that move if every array is read or written once.
  double traffic() const {
    double bytes = double(elements()) * double(size_of(type()));
    for (const InputArray& input : inputs()) bytes += double(input.bytes());
    return bytes;
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Elementwise elementwise_problem(const Attributes& attributes) {
  const std::string kind = attributes.text("kind");
  Elementwise elementwise;
  elementwise.kind = kind == "multiply" ? ElementwiseKind::kMultiply
                     : kind == "swiglu" ? ElementwiseKind::kSwiglu
                     : kind == "rotary" ? ElementwiseKind::kRotary
                                        : ElementwiseKind::kAdd;
  elementwise.rows = attributes.integer("rows");
  elementwise.columns = attributes.integer("columns");
  if (elementwise.is_rotary()) elementwise.dim = attributes.integer("dim");
  elementwise.precision = precision_info(attributes.text("precision"));
  return elementwise;
}

}  // namespace deepbench
