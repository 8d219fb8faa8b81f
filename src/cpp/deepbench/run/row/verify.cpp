// Verification of kernels against their operation's expectation.
#include "deepbench/run/row/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "deepbench/core/operation.hpp"

namespace deepbench {
namespace {

// In place, an output keeps its restored value if the product rounds away, and an 8-bit output may
// equal the poison. A larger share of such outputs means that the kernel did not write them.
constexpr double kUntouchedByChance = 0.02;

// Gradients cannot tell: they are off as little.
constexpr const char* kForwardPassInaccurate =
    "the forward pass that the gradients start from is off by a small part everywhere, which "
    "rounding is not";

constexpr uint64_t kComparedBlock = 1 << 20;  // outputs compared at a time when all are compared

constexpr std::string_view kFillPrefix = "fill.";

KernelConditions kernel_conditions(const Attributes& facts, uint64_t seed,
                                   const std::string& inputs) {
  KernelConditions conditions;
  conditions.seed = seed;
  conditions.inputs = inputs;
  conditions.beta = facts.real("beta", 1);
  conditions.accumulator = facts.text("accumulator");
  conditions.facts = facts;
  for (const auto& [name, value] : facts.items()) {
    if (name.compare(0, kFillPrefix.size(), kFillPrefix) == 0)
      conditions.fill.emplace_back(name.substr(kFillPrefix.size()), to_text(value));
  }
  return conditions;
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

Verifier::Verifier(const Problem& problem, const Attributes& kernel_facts, uint64_t seed,
                   const std::string& inputs, const MakeReference& make_reference)
    : problem_(problem), conditions_(kernel_conditions(kernel_facts, seed, inputs)) {
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

// `computed`: the kernel whose outputs the expectation derives from, or null.
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

void Verifier::check_outputs_are_poisoned(Kernel& kernel) {
  if (kernel.in_place()) return;  // the restored operand replaces the poison
  for (const Output& output : outputs_) {
    const deepbench_scan scan = kernel.scan_output(output.number, output.expected.outputs);
    if (scan.untouched != scan.count)
      fail("after timing: " + output.name + "of " + std::to_string(scan.count) + " outputs only " +
           std::to_string(scan.untouched) + " hold the poison that was asked for");
  }
}

bool Verifier::fail(const std::string& reason) {
  result_.state = Verification::State::kFailed;
  result_.reason = reason;
  return false;
}

bool Verifier::is_within_bound(double got, double expected, double bound) {
  const double error = std::abs(got - expected);
  if (!(error <= bound) || !std::isfinite(bound)) {  // a NaN is outside every bound
    result_.worst = bound > 0 && std::isfinite(error) ? std::max(result_.worst, error / bound)
                                                      : std::numeric_limits<double>::infinity();
    return false;
  }
  if (bound > 0) result_.worst = std::max(result_.worst, error / bound);
  return true;
}

double Verifier::max_untouched_elements(const Kernel& kernel,
                                        const ExpectedOutput& expected) const {
  const auto outputs = double(expected.outputs);
  // C + 0 is C, and a sum of products of small integers is often 0.
  const bool adds_zero = conditions_.inputs == "zeros" || conditions_.inputs == "integers";
  const double by_chance = adds_zero ? 1 : kUntouchedByChance;
  if (kernel.in_place()) return std::max(1.0, by_chance * outputs);
  if (!expected.may_equal_poison) return 0;
  // Few of them can all be that, but then each is compared.
  const uint64_t checked = expected.exact_values ? expected.outputs : expected.indices.size();
  return checked == expected.outputs ? outputs : kUntouchedByChance * outputs;
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
  return true;
}

bool Verifier::check_elements(Kernel& kernel, const Output& output, const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  const std::vector<double> got = kernel.read_output(output.number, expected.indices);
  for (size_t i = 0; i < got.size(); ++i) {
    if (!is_within_bound(got[i], expected.values[i], expected.bounds[i]))
      return fail(when + ": " + output.name + "output " + std::to_string(expected.indices[i]) +
                  " is " + to_text(got[i]) + ", not " + to_text(expected.values[i]) + " within " +
                  to_text(expected.bounds[i]));
  }
  return true;
}

bool Verifier::check_projection(Kernel& kernel, const Output& output, const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  if (expected.projection_rows == 0) return true;
  const std::vector<double> got = kernel.project_output(output.number, expected.projection_rows,
                                                        expected.outputs, expected.projection_seed);
  for (size_t i = 0; i < got.size(); ++i) {
    if (!is_within_bound(got[i], expected.projections[i], expected.projection_bounds[i]))
      return fail(when + ": " + output.name + "the projection of row " + std::to_string(i) +
                  " is " + to_text(got[i]) + ", not " + to_text(expected.projections[i]) +
                  " within " + to_text(expected.projection_bounds[i]));
  }
  return true;
}

bool Verifier::check_all_elements(Kernel& kernel, const Output& output, const std::string& when) {
  const ExpectedOutput& expected = output.expected;
  if (!expected.exact_values) return true;
  std::vector<double> values;
  std::vector<uint64_t> indices;
  for (uint64_t first = 0; first < expected.outputs; first += indices.size()) {
    indices.resize(std::min(kComparedBlock, expected.outputs - first));
    values.resize(indices.size());
    std::iota(indices.begin(), indices.end(), first);
    expected.exact_values(first, indices.size(), values.data());
    const std::vector<double> got = kernel.read_output(output.number, indices);
    const auto [off, right] = std::mismatch(got.begin(), got.end(), values.begin());
    if (off == got.end()) continue;
    result_.worst = std::numeric_limits<double>::infinity();
    return fail(when + ": " + output.name + "output " +
                std::to_string(first + uint64_t(off - got.begin())) + " is " + to_text(*off) +
                ", not " + to_text(*right));
  }
  return true;
}

bool Verifier::check(Kernel& kernel, const std::string& when) {
  if (result_.state == Verification::State::kFailed) return false;
  result_.state = Verification::State::kPassed;
  if (problem_.operation().reference_source(problem_) == ReferenceSource::kTestedOutput)
    compute_expected_outputs(&kernel);  // every time anew
  return std::all_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
    return check_scan(kernel, output, when) && check_elements(kernel, output, when) &&
           check_projection(kernel, output, when) && check_all_elements(kernel, output, when);
  });
}

}  // namespace deepbench
