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
  // Each time step is compared with a step that is computed from the tested output of the preceding
  // one.
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
  // Determines the compared places and the weights of projections. Verification draws it after the
  // kernel was prepared, so that no backend can predict what is compared.
  uint64_t verification_seed = 0x5eed;
  std::string inputs = "uniform";  // or "zeros", "ones", "integers"
  // Whether an earlier visit of the row has compared the outputs of the same algorithm. Checks that
  // cost as much as a projection and find less than it are then omitted.
  bool is_repeated = false;
  double beta = 1;            // weight of the constant input C
  std::string accumulator{};  // "float" (int8), "fp22" (fp8) or "rounded_product"
  // Pairs of an operand and a type of value that differs from the default.
  std::vector<std::pair<std::string, std::string>> fill{};
  int rank = 0;         // number of the process in its group
  Attributes facts{};   // all facts of the plan and the kernel
  uint32_t output = 0;  // the number of the output that is expected
  // The output named by the problem's ReferenceSource; null for kInputs.
  ComputedOutput* computed_output = nullptr;
  // kReferenceKernel only: the reference kernel starts from the forward state that the tested
  // kernel left.
  bool from_tested_forward = false;
};

// Elements that are compared, with their indices, expected values and largest permitted
// differences.
struct ExpectedElements {
  std::vector<uint64_t> indices;
  std::vector<double> values;
  std::vector<double> bounds;

  void resize(size_t count) { indices.resize(count), values.resize(count), bounds.resize(count); }
};

// Elements whose errors are judged together: the rounding errors of many outputs cancel, but a
// common factor does not.
struct ExpectedSlope {
  enum class Of {
    kComparedElements,  // those that are checked one by one
    kElements,          // `elements`
    kProjections        // the projections, each of which is a sum of many outputs
  };
  Of of = Of::kComparedElements;
  ExpectedElements elements{};
  // The relative error that sums may have in the same direction in all outputs.
  double max_common_error = 0;
};

// The error that sums of this many products may have in the same direction in all outputs, relative
// to the output. Matrix units may truncate the sum of every four products toward zero, by a
// roundoff of sums on average, and these partial sums are half of the final one on average.
inline double common_error_of_sums(double products, double sum_roundoff) {
  return 0.25 * products * sum_roundoff;
}

// Consecutive elements that are compared one by one, but whose bounds are so wide that an error of
// all of them could remain hidden. Verification also checks their slope and the mean size of their
// errors.
struct ExpectedPart {
  size_t first = 0, count = 0;
  double max_error = 0;  // limit of the root mean square of the errors over their bounds
  // Limit of the slope over the expected elements, less 1, less rounding_slope.
  double max_slope = 0;
  // The same slope of the expected elements after rounding to the type of the output. The outputs
  // of a part are often a linear function of few inputs, so that their rounding errors do not
  // cancel.
  double rounding_slope = 0;
};

// Describes an output to which every call in place adds the same, except for elements that every
// call overwrites with the same value. The result of several calls follows from it.
struct ExpectedGrowth {
  // The result of each further call is rounded as part of a larger sum: the bound of that call is
  // wider by this share of the amount by which the output has grown.
  double roundoff = 0;
  double largest = 0;  // the largest value that the output can hold
  // The projections of the first values, one for each projection of the output. Empty where calls
  // overwrite a part of the output, since the projections include that part.
  std::vector<double> initial_projections{};
};

struct ExpectedOutput : ExpectedElements {  // the elements that are checked one by one
  // The values of the elements before the first call, where calls in place add to them; NaN for
  // elements that calls overwrite.
  std::vector<double> initial_values;
  // Empty: the result of several calls in place is not known.
  std::optional<ExpectedGrowth> growth;
  // Set where the low precision of the output would hide a small factor.
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
  // The largest share of outputs in place that may keep their first values because the addend of a
  // call rounds away. A larger share means that the kernel did not write them.
  double unchanged_share = 0.02;
  // Set where correct outputs may equal the poison: returns the expected values of any elements.
  std::function<ExpectedElements(const std::vector<uint64_t>& indices)> elements_at;
  // A description such as "all 39501 outputs" or "576 of 225280 outputs and 1760 projections".
  std::string coverage;
};

}  // namespace deepbench
