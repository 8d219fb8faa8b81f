// What a correct output looks like: single elements and a projection of the whole, each with the
// bound that rounding allows. Made by an operation's reference, compared by run/verify.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/attributes.hpp"

namespace deepbench {

// What an expectation is made from, beside the inputs that fill.h gives.
enum class ReferenceSource {
  kInputs,        // nothing
  kTestedOutput,  // the output under test: a step is checked as the successor of the library's own
  kReferenceKernel  // an independent computation by the backend, the library called "reference"
};

// An output that was computed, whose elements can be looked at.
class ComputedOutput {
 public:
  virtual ~ComputedOutput() = default;
  virtual std::vector<double> elements(const std::vector<uint64_t>& indices) = 0;
  // As ExpectedOutput::projections, of an output of `outputs` elements.
  virtual std::vector<double> project(uint64_t rows, uint64_t outputs, uint64_t seed) = 0;
};

// Under which conditions a kernel computed, as far as its output depends on them.
struct KernelConditions {
  uint64_t seed = 1;
  std::string inputs = "uniform";  // or "zeros", "ones"
  double beta = 1;                 // weight of the constant input C
  std::string accumulator{};       // "float" of int8, "fp22" of fp8, "rounded_product"
  std::vector<std::pair<std::string, std::string>> fill{};  // operand -> value type, if not usual
  Attributes facts{};                                       // all that the kernel says of itself
  ComputedOutput* computed_output =
      nullptr;  // what the problem's ReferenceSource names; none for kInputs
  // Of kReferenceKernel: it started from what the forward pass of the kernel under test left.
  bool from_tested_forward = false;
};

struct ExpectedOutput {
  // Elements checked one by one: where, what, how far off they may be.
  std::vector<uint64_t> indices;
  std::vector<double> values;
  std::vector<double> bounds;

  // The output as a column-major matrix of projection_rows rows, times fill.h's weights.
  uint64_t projection_rows = 0;  // 0: no projection
  uint64_t projection_seed = 0;
  std::vector<double> projections;
  std::vector<double> projection_bounds;

  // Where every output is known exactly: writes those of [first, first + count). All are compared.
  std::function<void(uint64_t first, uint64_t count, double* values)> exact_values;

  uint64_t outputs = 0;           // elements of the output
  bool may_equal_poison = false;  // outputs may rightly be the value that marks them as not written
  std::string coverage;  // "all 39501 outputs", "576 of 225280 outputs and 1760 projections"
};

}  // namespace deepbench
