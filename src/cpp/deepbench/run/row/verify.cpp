// Compares the outputs of kernels with those that the operation expects.
#include "deepbench/run/row/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/projection_bound.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

// An 8-bit output may equal the poison, and then it is compared. A larger share of such outputs
// means that the kernel did not write them.
constexpr double kPoisonByChance = 0.02;

// A comparison of the gradients does not show such an error: it changes them just as little.
constexpr const char* kForwardPassInaccurate =
    "the forward pass that the gradients start from is off by a small part everywhere, which "
    "rounding does not explain";

constexpr uint64_t kComparedBlock = 1 << 20;  // outputs compared at a time when all are compared

// Elements that a brief check compares in an output without projections.
constexpr uint64_t kBriefElements = 256;
constexpr uint32_t kBriefStream = 21;     // random stream of their places
constexpr uint64_t kReadElements = 4096;  // read of an output none of whose elements is compared
constexpr uint64_t kSumElements = 4096;   // compared in the sum of several calls
// A projection of this many outputs takes at most 1 ms.
constexpr uint64_t kBriefProjection = 1 << 20;

// The limit of a slope over sqrt(sum of (b r)^2) / sum of r^2, which one correct row in 10^10
// exceeds by chance (docs/explanation/verification.md).
constexpr double kSlopeLimit = 4;

constexpr std::string_view kFillPrefix = "fill.";

double projected_outputs(const ExpectedOutput& expected) {
  return double(expected.outputs) / double(expected.projection_rows);
}

bool is_fill(std::string_view name) { return name.substr(0, kFillPrefix.size()) == kFillPrefix; }

bool is_default_condition(std::string_view name, const Value& value) {
  return (name == "beta" && to_text(value) == "1") || to_text(value).empty();
}

void require_permitted(const Problem& problem, const std::string& name, const Value& value) {
  if (problem.operation().permits_condition(problem, name, value)) return;
  throw RowFailure(Status::kFailed, "describe_kernel: the backend gave an impossible answer: " +
                                        printable(name) + "=" + printable(to_text(value)) +
                                        ", which " + problem.op() + " does not permit here");
}

// The facts about arithmetic decide which ceiling the row is compared with.
void require_permitted_arithmetic(const Problem& problem, const Attributes& facts) {
  const double factor = facts.real("transform_factor", 1);
  if (factor > 1) require_permitted(problem, "transform_factor", factor);
  const std::string arithmetic = facts.text("arithmetic");
  if (!arithmetic.empty()) require_permitted(problem, "arithmetic", arithmetic);
}

KernelConditions kernel_conditions(const Attributes& facts, uint64_t seed,
                                   const std::string& inputs, uint64_t verification_seed,
                                   int rank) {
  KernelConditions conditions;
  conditions.seed = seed;
  conditions.verification_seed = verification_seed;
  conditions.inputs = inputs;
  conditions.rank = rank;
  conditions.beta = facts.real("beta", 1);
  conditions.accumulator = facts.text("accumulator");
  conditions.facts = facts;
  for (const auto& [name, value] : facts.items()) {
    if (is_fill(name))
      conditions.fill.emplace_back(name.substr(kFillPrefix.size()), to_text(value));
  }
  return conditions;
}

// The root mean square of the errors over their bounds. Outputs that must be exact do not count,
// since they are compared one by one.
double root_mean_square_error(const std::vector<double>& got, const std::vector<double>& expected,
                              const std::vector<double>& bounds) {
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double ratio = bounds[i] > 0 ? (got[i] - expected[i]) / bounds[i] : 0;
    sum += ratio * ratio;
  }
  return std::sqrt(sum / double(got.size()));
}

// One output of a kernel's last call.
class KernelOutput final : public ComputedOutput {
 public:
  KernelOutput(Kernel& kernel, uint32_t number) : kernel_(kernel), number_(number) {}
  std::vector<double> elements(const std::vector<uint64_t>& indices) override {
    return kernel_.read_output(number_, indices);
  }
  std::vector<double> project(uint64_t rows, uint64_t elements, uint64_t seed) override {
    return kernel_.project_output(number_, rows, elements, seed);
  }

 private:
  Kernel& kernel_;
  const uint32_t number_;
};

}  // namespace

// The slope of the outputs over the expected ones, less 1.
struct Verifier::Slope {
  double excess = 0, limit = 0;
};

// Rounding to nearest makes an error in [-b, b], of either sign and independent of the others,
// where b is `bound_share` of the bound.
Verifier::Slope Verifier::slope_of(const std::vector<double>& got,
                                   const std::vector<double>& expected,
                                   const std::vector<double>& bounds, double bound_share,
                                   double max_common_error) {
  double excess = 0, squares = 0, errors = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double r = expected[i], b = bound_share * bounds[i];
    excess += (got[i] - r) * r;
    squares += r * r;
    errors += b * b * r * r;
  }
  if (squares == 0) return {};
  return {excess / squares, kSlopeLimit * std::sqrt(errors) / squares + max_common_error};
}

Attributes stated_conditions(const Problem& problem, const Attributes& kernel_facts) {
  require_permitted_arithmetic(problem, kernel_facts);
  Attributes conditions;
  for (const auto& [name, value] : kernel_facts.items()) {
    if (name != "beta" && name != "accumulator" && !is_fill(name)) continue;
    if (is_default_condition(name, value)) continue;
    require_permitted(problem, name, value);
    conditions.set(name, value);
  }
  return conditions;
}

uint64_t draw_verification_seed() {
  constexpr uint64_t kBits = (uint64_t{1} << 48) - 1;
  std::random_device device;
  const uint64_t upper = device();
  return std::max<uint64_t>(1, ((upper << 32) ^ device()) & kBits);
}

Verifier::Verifier(const Problem& problem, const Attributes& kernel_facts, uint64_t seed,
                   const std::string& inputs, uint64_t verification_seed,
                   const MakeReference& make_reference, int rank, bool is_repeated)
    : problem_(problem),
      conditions_(kernel_conditions(kernel_facts, seed, inputs, verification_seed, rank)) {
  conditions_.is_repeated = is_repeated;
  result_.seed = verification_seed;
  result_.conditions = stated_conditions(problem, kernel_facts);
  for (const std::string& name : problem.operation().outputs(problem))
    outputs_.push_back({uint32_t(outputs_.size()), name + ": ", {}});
  if (outputs_.size() == 1) outputs_.front().name.clear();
  const ReferenceSource reference_source = problem.operation().reference_source(problem);
  if (reference_source == ReferenceSource::kInputs) compute_expected_outputs(nullptr);
  if (reference_source == ReferenceSource::kReferenceKernel) {
    Kernel reference = make_reference();
    if (reference.forward_states() == DEEPBENCH_STATES_WRONG) {
      fail(kForwardPassInaccurate);
      return;
    }
    reset_outputs(reference);
    reference.time_batch(1);
    conditions_.from_tested_forward = reference.forward_states() == DEEPBENCH_STATES_ADOPTED;
    compute_expected_outputs(&reference);
  }
}

// If the expected outputs derive from those of a kernel, `computed` is this kernel, and otherwise
// null.
void Verifier::compute_expected_outputs(Kernel* computed) {
  result_.what.clear();
  result_.checked = result_.outputs = 0;
  for (Output& output : outputs_) {
    std::optional<KernelOutput> source;
    if (computed) source.emplace(*computed, output.number);
    conditions_.output = output.number;
    conditions_.computed_output = source ? &*source : nullptr;
    output.expected = problem_.operation().expected_output(problem_, conditions_);
    conditions_.computed_output = nullptr;
    const ExpectedOutput& expected = output.expected;
    result_.what += (result_.what.empty() ? "" : "; ") + output.name + expected.coverage;
    result_.checked += expected.exact_values ? expected.outputs : expected.indices.size();
    result_.outputs += expected.outputs;
  }
}

void Verifier::reset_outputs(Kernel& kernel) {
  if (kernel.in_place())
    kernel.restore();
  else
    kernel.poison_outputs();
}

void Verifier::check_reset(Kernel& kernel) {
  for (const Output& output : outputs_) {
    if (kernel.in_place()) {
      check_initial_values(kernel, output);
      continue;
    }
    const deepbench_scan scan = kernel.scan_output(output.number, output.expected.outputs);
    if (scan.untouched != scan.count)
      fail("after timing: " + output.name + "of " + std::to_string(scan.count) + " outputs only " +
           std::to_string(scan.untouched) + " hold the poison that was asked for");
  }
}

// Checks that restoring brings back the first values. Otherwise a kernel that does nothing after
// its first call in place would pass if its restore did nothing either.
bool Verifier::check_initial_values(Kernel& kernel, const Output& output) {
  const std::vector<double>& initial = output.expected.initial_values;
  if (initial.empty()) return true;
  const std::vector<double> got = kernel.read_output(output.number, output.expected.indices);
  const auto [off, right] =
      std::mismatch(got.begin(), got.end(), initial.begin(),
                    [](double is, double was) { return is == was || std::isnan(was); });
  if (off == got.end()) return true;
  return fail("after timing: " + output.name + "restore leaves " + to_text(*off) + " in output " +
              std::to_string(output.expected.indices[size_t(off - got.begin())]) +
              ", whose first value is " + to_text(*right));
}

bool Verifier::fail(const std::string& reason) {
  result_.state = Verification::State::kFailed;
  result_.reason = reason;
  return false;
}

void Verifier::record_error(double ratio, const std::string& when) {
  if (ratio <= result_.worst) return;
  result_.worst = ratio;
  result_.worst_check = when;
}

bool Verifier::is_within_bound(double got, double expected, double bound, const std::string& when) {
  const double error = std::abs(got - expected);
  const bool is_within = error <= bound && std::isfinite(bound);  // a NaN is outside every bound
  const bool has_ratio = bound > 0 && (is_within || std::isfinite(error));
  if (has_ratio || !is_within)
    record_error(has_ratio ? error / bound : std::numeric_limits<double>::infinity(), when);
  return is_within;
}

double Verifier::max_untouched_elements(const Kernel& kernel,
                                        const ExpectedOutput& expected) const {
  const auto outputs = double(expected.outputs);
  // Adding zero leaves an output unchanged, and sums of products of small integers are often zero.
  const bool adds_zero = conditions_.inputs == "zeros" || conditions_.inputs == "integers";
  const double by_chance = adds_zero ? 1 : expected.unchanged_share;
  if (kernel.in_place()) return std::max(1.0, by_chance * outputs);
  if (!expected.elements_at) return 0;
  // All outputs may equal the poison where each of them is compared.
  const uint64_t checked = expected.exact_values ? expected.outputs : expected.indices.size();
  return checked == expected.outputs ? outputs : kPoisonByChance * outputs;
}

bool Verifier::check_scan(Kernel& kernel, const Output& output, const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  const deepbench_scan scan = kernel.scan_output(output.number, expected.outputs);
  const std::string of = " of " + std::to_string(expected.outputs) + " outputs ";
  if (scan.count != expected.outputs)
    return fail(when + ": " + output.name + "only " + std::to_string(scan.count) + of +
                "were scanned");
  if (double(scan.untouched) > max_untouched_elements(kernel, expected))
    return fail(when + ": " + output.name + "" + std::to_string(scan.untouched) + of +
                "were not written");
  if (scan.non_finite)
    return fail(when + ": " + output.name + "" + std::to_string(scan.non_finite) + of +
                "are not finite");
  return check_poison(kernel, output, scan.untouched, when);
}

bool Verifier::check_poison(Kernel& kernel, const Output& output, uint64_t untouched,
                            const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  if (!expected.elements_at || expected.indices.size() == expected.outputs) return true;
  uint64_t poisoned = 0;
  for (uint64_t first = 0; first < expected.outputs; first += kComparedBlock) {
    const std::vector<double> got =
        read_block(kernel, output, first, std::min(kComparedBlock, expected.outputs - first));
    std::vector<uint64_t> places;
    for (size_t i = 0; i < got.size(); ++i)
      if (got[i] == DEEPBENCH_POISON_BYTE) places.push_back(first + i);
    if (!check_elements(kernel, output, expected.elements_at(places), when)) return false;
    poisoned += places.size();
  }
  return poisoned >= untouched ||
         fail(when + ": " + output.name + std::to_string(untouched) +
              " outputs hold the poison, but only " + std::to_string(poisoned) + " are " +
              std::to_string(DEEPBENCH_POISON_BYTE));
}

bool Verifier::check_elements(Kernel& kernel, const Output& output,
                              const ExpectedElements& expected, const std::string& when) {
  return compare_elements(output, kernel.read_output(output.number, expected.indices), expected,
                          when);
}

bool Verifier::compare_elements(const Output& output, const std::vector<double>& got,
                                const ExpectedElements& expected, const std::string& when) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (!is_within_bound(got[i], expected.values[i], expected.bounds[i], when))
      return fail(when + ": " + output.name + "output " + std::to_string(expected.indices[i]) +
                  " is " + to_text(got[i]) + ", not " + to_text(expected.values[i]) + " within " +
                  to_text(expected.bounds[i]));
  }
  return true;
}

bool Verifier::check_part(const Output& output, const std::vector<double>& got,
                          const ExpectedPart& part, const std::string& when) {
  const auto slice = [&](const std::vector<double>& all) {
    const auto begin = all.begin() + ptrdiff_t(part.first);
    return std::vector<double>(begin, begin + ptrdiff_t(part.count));
  };
  const std::vector<double> some = slice(got), values = slice(output.expected.values),
                            bounds = slice(output.expected.bounds);
  const double error = root_mean_square_error(some, values, bounds);
  const std::string of = std::to_string(part.count) + " outputs from " +
                         std::to_string(output.expected.indices[part.first]) + " on";
  if (error > part.max_error)
    return fail(when + ": " + output.name + "the errors of " + of + " are " + to_text(error) +
                " of their bounds on average, not within " + to_text(part.max_error));
  Slope slope = slope_of(some, values, bounds, 0, part.max_slope);
  slope.excess -= part.rounding_slope;
  return judge_slope(output, of, slope, when);
}

bool Verifier::check_compared_elements(Kernel& kernel, const Output& output,
                                       const std::string& when) {
  const std::vector<double> got = kernel.read_output(output.number, output.expected.indices);
  const std::vector<ExpectedPart>& parts = output.expected.parts;
  return compare_elements(output, got, output.expected, when) &&
         std::all_of(parts.begin(), parts.end(),
                     [&](const ExpectedPart& part) { return check_part(output, got, part, when); });
}

std::vector<double> Verifier::project(Kernel& kernel, const Output& output) {
  const ExpectedOutput& expected = output.expected;
  if (expected.projection_rows == 0) return {};
  return kernel.project_output(output.number, expected.projection_rows, expected.outputs,
                               expected.projection_seed);
}

bool Verifier::check_projections(const Output& output, const std::vector<double>& got,
                                 const std::vector<double>& projections,
                                 const std::vector<double>& bounds, const std::string& when) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (!is_within_bound(got[i], projections[i], bounds[i], when))
      return fail(when + ": " + output.name + "the projection of row " + std::to_string(i) +
                  " is " + to_text(got[i]) + ", not " + to_text(projections[i]) + " within " +
                  to_text(bounds[i]));
  }
  return true;
}

bool Verifier::check_slope(Kernel& kernel, const Output& output,
                           const std::vector<double>& projections, const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  if (!expected.slope) return true;
  const double common = expected.slope->max_common_error;
  if (expected.slope->of == ExpectedSlope::Of::kProjections)
    return judge_slope(
        output, std::to_string(projections.size()) + " projections",
        slope_of(projections, expected.projections, expected.projection_bounds,
                 typical_share_of_projection_bound(projected_outputs(expected)), common),
        when);
  const bool own = expected.slope->of == ExpectedSlope::Of::kElements;
  const ExpectedElements& elements = own ? expected.slope->elements : expected;
  return judge_slope(output, std::to_string(elements.indices.size()) + " outputs",
                     slope_of(kernel.read_output(output.number, elements.indices), elements.values,
                              elements.bounds, 1, common),
                     when);
}

bool Verifier::judge_slope(const Output& output, const std::string& of, const Slope& slope,
                           const std::string& when) {
  if (std::abs(slope.excess) <= slope.limit) return true;
  return fail(when + ": " + output.name + "the slope of " + of +
              " over the expected ones is off by " + to_text(slope.excess) + ", not within " +
              to_text(slope.limit));
}

std::vector<double> Verifier::read_block(Kernel& kernel, const Output& output, uint64_t first,
                                         uint64_t count) {
  std::vector<uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), first);
  return kernel.read_output(output.number, indices);
}

bool Verifier::check_block(Kernel& kernel, const Output& output, uint64_t first, uint64_t count,
                           const std::string& when) {
  std::vector<double> values(count);
  output.expected.exact_values(first, count, values.data());
  const std::vector<double> got = read_block(kernel, output, first, count);
  const auto [off, right] = std::mismatch(got.begin(), got.end(), values.begin());
  if (off == got.end()) return true;
  record_error(std::numeric_limits<double>::infinity(), when);
  return fail(when + ": " + output.name + "output " +
              std::to_string(first + uint64_t(off - got.begin())) + " is " + to_text(*off) +
              ", not " + to_text(*right));
}

bool Verifier::check_all_elements(Kernel& kernel, const Output& output, const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  if (!expected.exact_values) return true;
  for (uint64_t first = 0; first < expected.outputs; first += kComparedBlock)
    if (!check_block(kernel, output, first, std::min(kComparedBlock, expected.outputs - first),
                     when))
      return false;
  return true;
}

uint64_t Verifier::random_place(uint64_t number, uint64_t i, uint64_t size) const {
  return deepbench_bits(conditions_.verification_seed, kBriefStream, number * kBriefElements + i) %
         size;
}

std::vector<size_t> Verifier::random_positions(const ExpectedOutput& expected, uint64_t number,
                                               uint64_t count) const {
  const size_t all = expected.indices.size();
  std::vector<size_t> positions(std::min<size_t>(count, all));
  for (size_t i = 0; i < positions.size(); ++i)
    positions[i] = all <= count ? i : size_t(random_place(number, i, all));
  return positions;
}

bool Verifier::check_briefly(Kernel& kernel, uint64_t number, uint64_t calls) {
  if (problem_.operation().reference_source(problem_) == ReferenceSource::kTestedOutput)
    return true;  // the expected values derive from the whole output
  const std::string when = "while timing";
  return std::all_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
    const ExpectedOutput& expected = output.expected;
    if (kernel.in_place() && calls > 1) {
      const auto sum = sum_of(kernel, output, calls, number, kBriefElements);
      return !sum || check_sum_of(kernel, output, *sum, calls, when);
    }
    if (expected.projection_rows > 0)
      return check_projections(output, project(kernel, output), expected.projections,
                               expected.projection_bounds, when);
    if (expected.exact_values) {
      const uint64_t count = std::min(kBriefElements, expected.outputs);
      return check_block(kernel, output, random_place(number, 0, expected.outputs - count + 1),
                         count, when);
    }
    ExpectedElements some;
    for (const size_t position : random_positions(expected, number, kBriefElements)) {
      some.indices.push_back(expected.indices[position]);
      some.values.push_back(expected.values[position]);
      some.bounds.push_back(expected.bounds[position]);
    }
    return check_elements(kernel, output, some, when);
  });
}

bool Verifier::adds_up() const {
  return std::all_of(outputs_.begin(), outputs_.end(),
                     [](const Output& output) { return output.expected.growth.has_value(); });
}

// The calls use the copies of a rotation in turn, so that only some of them wrote the last copy.
std::optional<SumOfCalls> Verifier::sum_of(const Kernel& kernel, const Output& output,
                                           uint64_t calls, uint64_t number, uint64_t count) const {
  const uint64_t calls_of_last_copy = (calls - 1) / kernel.copies() + 1;
  return sum_of_calls(output.expected, random_positions(output.expected, number, count),
                      calls_of_last_copy);
}

bool Verifier::check_sum_of(Kernel& kernel, const Output& output, const SumOfCalls& sum,
                            uint64_t calls, const std::string& when) {
  const std::string of = when + ", after " + std::to_string(calls) + " calls in place";
  if (!check_elements(kernel, output, sum.elements, of)) return false;
  return sum.projections.empty() || check_projections(output, project(kernel, output),
                                                      sum.projections, sum.projection_bounds, of);
}

bool Verifier::check_sum(Kernel& kernel, uint64_t calls, const std::string& when) {
  bool all_known = true;
  for (const Output& output : outputs_) {
    const auto sum = sum_of(kernel, output, calls, 0, kSumElements);
    if (sum && !check_sum_of(kernel, output, *sum, calls, when)) return false;
    all_known = all_known && sum;
  }
  result_.what += all_known ? ", what " + std::to_string(calls) + " calls in place add up to"
                            : ", in place only for single calls";
  return true;
}

// Reads evenly spaced compared elements of an output, or its first elements if none is compared.
std::vector<double> Verifier::read_elements(Kernel& kernel, const Output& output) const {
  const std::vector<uint64_t>& compared = output.expected.indices;
  const uint64_t all = compared.empty() ? output.expected.outputs : compared.size();
  std::vector<uint64_t> indices(std::min(kReadElements, all));
  for (uint64_t i = 0; i < indices.size(); ++i)
    indices[i] = compared.empty() ? i : compared[i * all / indices.size()];
  return kernel.read_output(output.number, indices);
}

std::vector<double> Verifier::read_some(Kernel& kernel) const {
  std::vector<double> all;
  for (const Output& output : outputs_) {
    const std::vector<double> some = read_elements(kernel, output);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void Verifier::read_briefly(Kernel& kernel) const {
  for (const Output& output : outputs_) {
    const ExpectedOutput& expected = output.expected;
    if (expected.projection_rows > 0 && expected.outputs <= kBriefProjection)
      kernel.project_output(output.number, expected.projection_rows, expected.outputs,
                            expected.projection_seed);
    else
      read_elements(kernel, output);
  }
}

bool Verifier::check(Kernel& kernel, const std::string& when) {
  if (result_.state == Verification::State::kFailed) return false;
  result_.state = Verification::State::kPassed;
  if (problem_.operation().reference_source(problem_) == ReferenceSource::kTestedOutput)
    compute_expected_outputs(&kernel);  // derives from the outputs of the last call
  return std::all_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
    if (!check_scan(kernel, output, when) || !check_compared_elements(kernel, output, when))
      return false;
    const std::vector<double> projections = project(kernel, output);
    return check_projections(output, projections, output.expected.projections,
                             output.expected.projection_bounds, when) &&
           check_slope(kernel, output, projections, when) &&
           check_all_elements(kernel, output, when);
  });
}

}  // namespace deepbench
