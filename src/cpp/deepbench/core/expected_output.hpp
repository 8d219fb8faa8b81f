// The expected output of a problem: single elements and a projection of the whole output, each with
// the error bound that rounding allows. An operation's reference computes it; run/row/verify
// compares it with the kernel's output.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/attributes.hpp"

namespace deepbench {

// The data that a reference needs in addition to the inputs that fill.h generates.
enum class ReferenceSource {
  kInputs,  // the inputs are sufficient
  // each time step is checked against a step computed from the tested output of the preceding one
  kTestedOutput,
  kReferenceKernel  // an independent computation by the backend's library called "reference"
};

// The output of a kernel that has run; the reference reads elements of it.
class ComputedOutput {
 public:
  virtual ~ComputedOutput() = default;
  virtual std::vector<double> elements(const std::vector<uint64_t>& indices) = 0;
  // Returns ExpectedOutput::projections of an output that has `outputs` elements.
  virtual std::vector<double> project(uint64_t rows, uint64_t outputs, uint64_t seed) = 0;
};

// The conditions of a kernel's run that determine its output.
struct KernelConditions {
  uint64_t seed = 1;
  // Of the places that are compared and of the weights of projections. Verification draws it after
  // the kernel was prepared, so that no backend knows what will be looked at.
  uint64_t verification_seed = 0x5eed;
  std::string inputs = "uniform";  // or "zeros", "ones", "integers"
  // Whether an earlier visit of the row has compared the outputs of the same algorithm. What costs
  // as much as a projection and finds less than it need not be repeated.
  bool is_repeated = false;
  double beta = 1;            // weight of the constant input C
  std::string accumulator{};  // "float" (int8), "fp22" (fp8) or "rounded_product"
  // operand -> value type, where it differs from the default
  std::vector<std::pair<std::string, std::string>> fill{};
  int rank = 0;         // of the process in its group, whose outputs these are
  Attributes facts{};   // all facts of the plan and the kernel
  uint32_t output = 0;  // the number of the output that is expected
  // The output named by the problem's ReferenceSource; null for kInputs.
  ComputedOutput* computed_output = nullptr;
  // kReferenceKernel only: the reference kernel starts from the forward state that the tested
  // kernel left.
  bool from_tested_forward = false;
};

// Elements that are compared: index, expected value, largest permitted difference.
struct ExpectedElements {
  std::vector<uint64_t> indices;
  std::vector<double> values;
  std::vector<double> bounds;

  void resize(size_t count) { indices.resize(count), values.resize(count), bounds.resize(count); }
};

// What is judged together: rounding errors of many outputs cancel, a factor does not.
struct ExpectedSlope {
  enum class Of {
    kComparedElements,  // those that are checked one by one
    kElements,          // `elements`
    kProjections        // the projections, each of which is a sum of many outputs
  };
  Of of = Of::kComparedElements;
  ExpectedElements elements{};
  // The error, relative to the output, that sums may have in the same direction in all outputs.
  double max_common_error = 0;
};

// The error of sums of so many products that all outputs may have in the same direction, relative
// to the output. Matrix units may cut off the sum of every four products towards zero, by a
// roundoff of sums on average, and these partial sums are half of the final one on average.
inline double common_error_of_sums(double products, double sum_roundoff) {
  return 0.25 * products * sum_roundoff;
}

// Consecutive elements of those that are checked one by one, whose bounds are so wide that an error
// of all of them could hide: their slope is judged, and how large their errors are on average.
struct ExpectedPart {
  size_t first = 0, count = 0;
  double max_error = 0;  // root mean square of the errors over their bounds
  double max_slope = 0;  // of the elements over the expected ones, less 1 and less the next
  // The same of the expected ones rounded to the type of the output. The outputs of one set are
  // often a linear function of few inputs, so that their roundings do not cancel.
  double rounding_slope = 0;
};

// Of an output to which every call in place adds the same, except for elements that every call
// overwrites with the same: what tells what several calls add up to.
struct ExpectedGrowth {
  // The result of each further call is rounded as part of a larger sum: the bound of that call is
  // wider by this share of what the output has grown by.
  double roundoff = 0;
  double largest = 0;  // value that the output holds
  // The projections of the first values; as many as the output has. None where calls overwrite a
  // part of the output, since the projections hold that part too.
  std::vector<double> initial_projections{};
};

struct ExpectedOutput : ExpectedElements {  // the elements that are checked one by one
  // What the elements hold before the first call, where calls in place add to it; NaN for elements
  // that calls overwrite.
  std::vector<double> initial_values;
  // Nothing: what several calls in place leave is not known.
  std::optional<ExpectedGrowth> growth;
  // Where an output of few bits would hide a small factor.
  std::optional<ExpectedSlope> slope;
  std::vector<ExpectedPart> parts;

  // The output is taken as a column-major matrix of `projection_rows` rows and multiplied by the
  // weights of fill.h. For a row-major output, `projection_rows` is its number of columns.
  uint64_t projection_rows = 0;  // 0: the output has no projection
  uint64_t projection_seed = 0;
  std::vector<double> projections;
  std::vector<double> projection_bounds;

  // Set where every output is known exactly: writes outputs [first, first + count) to `values`, and
  // run/row/verify compares all of them.
  std::function<void(uint64_t first, uint64_t count, double* values)> exact_values;

  uint64_t outputs = 0;
  // The largest share of outputs in place that keep their first values because what a call adds to
  // them rounds away. A larger one means that the kernel did not write them.
  double unchanged_share = 0.02;
  // Where correct outputs may equal the poison: what is expected of any of them.
  std::function<ExpectedElements(const std::vector<uint64_t>& indices)> elements_at;
  // for example "all 39501 outputs" or "576 of 225280 outputs and 1760 projections"
  std::string coverage;
};

}  // namespace deepbench
