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

KernelConditions conditions_of(const Attributes& facts, uint64_t seed, const std::string& inputs) {
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

// The outputs of a kernel's last call.
class KernelOutput final : public ComputedOutput {
 public:
  explicit KernelOutput(Kernel& kernel) : kernel_(kernel) {}
  std::vector<double> elements(const std::vector<uint64_t>& indices) override {
    return kernel_.read_output(indices);
  }
  std::vector<double> project(uint64_t rows, uint64_t outputs, uint64_t seed) override {
    return kernel_.project_output(rows, outputs, seed);
  }

 private:
  Kernel& kernel_;
};

}  // namespace

Verifier::Verifier(const Problem& problem, const Attributes& kernel_facts, uint64_t seed,
                   const std::string& inputs, const MakeReference& make_reference)
    : problem_(problem), conditions_(conditions_of(kernel_facts, seed, inputs)) {
  const ReferenceSource reference_source = problem.operation().reference_source(problem);
  if (reference_source == ReferenceSource::kInputs) expect(nullptr);
  if (reference_source == ReferenceSource::kReferenceKernel) {
    Kernel reference = make_reference();
    if (reference.following() == DEEPBENCH_ASTRAY) {
      fail(kForwardPassInaccurate);
      return;
    }
    reset_outputs(reference);
    reference.time_batch(1);
    KernelOutput output(reference);
    conditions_.from_tested_forward = reference.follows();
    expect(&output);
  }
}

void Verifier::expect(ComputedOutput* computed) {
  conditions_.computed_output = computed;
  expected_ = problem_.operation().expected_output(problem_, conditions_);
  conditions_.computed_output = nullptr;
  result_.what = expected_.coverage;
  result_.checked = expected_.exact_values ? expected_.outputs : expected_.indices.size();
  result_.outputs = expected_.outputs;
}

void Verifier::reset_outputs(Kernel& kernel) {
  if (kernel.in_place())
    kernel.restore();
  else
    kernel.poison_outputs();
}

void Verifier::check_reset(Kernel& kernel) {
  if (kernel.in_place()) return;  // the restored operand replaces the poison
  const deepbench_scan scan = kernel.scan_output(expected_.outputs);
  if (scan.untouched != scan.count)
    fail("after timing: of " + std::to_string(scan.count) + " outputs only " +
         std::to_string(scan.untouched) + " hold the poison that was asked for");
}

bool Verifier::fail(const std::string& reason) {
  result_.state = Verification::State::kFailed;
  result_.reason = reason;
  return false;
}

bool Verifier::within(double got, double expected, double bound) {
  const double error = std::abs(got - expected);
  if (!(error <= bound) || !std::isfinite(bound)) {  // a NaN is outside every bound
    result_.worst = bound > 0 && std::isfinite(error) ? std::max(result_.worst, error / bound)
                                                      : std::numeric_limits<double>::infinity();
    return false;
  }
  if (bound > 0) result_.worst = std::max(result_.worst, error / bound);
  return true;
}

double Verifier::max_untouched(const Kernel& kernel) const {
  const auto outputs = double(expected_.outputs);
  const double by_chance = conditions_.inputs == "zeros" ? 1 : kUntouchedByChance;  // C + 0 is C
  if (kernel.in_place()) return std::max(1.0, by_chance * outputs);
  if (!expected_.may_equal_poison) return 0;
  // Few of them can all be that, but then each is compared.
  return result_.checked == expected_.outputs ? outputs : kUntouchedByChance * outputs;
}

bool Verifier::check_scan(Kernel& kernel, const std::string& when) {
  const deepbench_scan scan = kernel.scan_output(expected_.outputs);
  const std::string of = " of " + std::to_string(expected_.outputs) + " outputs ";
  if (scan.count != expected_.outputs)
    return fail(when + ": only " + std::to_string(scan.count) + of + "were scanned");
  if (double(scan.untouched) > max_untouched(kernel))
    return fail(when + ": " + std::to_string(scan.untouched) + of + "were not written");
  if (scan.non_finite)
    return fail(when + ": " + std::to_string(scan.non_finite) + of + "are not finite");
  return true;
}

bool Verifier::check_elements(Kernel& kernel, const std::string& when) {
  const std::vector<double> got = kernel.read_output(expected_.indices);
  for (size_t i = 0; i < got.size(); ++i) {
    if (!within(got[i], expected_.values[i], expected_.bounds[i]))
      return fail(when + ": output " + std::to_string(expected_.indices[i]) + " is " +
                  to_text(got[i]) + ", not " + to_text(expected_.values[i]) + " within " +
                  to_text(expected_.bounds[i]));
  }
  return true;
}

bool Verifier::check_projection(Kernel& kernel, const std::string& when) {
  if (expected_.projection_rows == 0) return true;
  const std::vector<double> got = kernel.project_output(
      expected_.projection_rows, expected_.outputs, expected_.projection_seed);
  for (size_t i = 0; i < got.size(); ++i) {
    if (!within(got[i], expected_.projections[i], expected_.projection_bounds[i]))
      return fail(when + ": the projection of row " + std::to_string(i) + " is " + to_text(got[i]) +
                  ", not " + to_text(expected_.projections[i]) + " within " +
                  to_text(expected_.projection_bounds[i]));
  }
  return true;
}

bool Verifier::check_all_elements(Kernel& kernel, const std::string& when) {
  if (!expected_.exact_values) return true;
  std::vector<double> expected;
  std::vector<uint64_t> indices;
  for (uint64_t first = 0; first < expected_.outputs; first += indices.size()) {
    indices.resize(std::min(kComparedBlock, expected_.outputs - first));
    expected.resize(indices.size());
    std::iota(indices.begin(), indices.end(), first);
    expected_.exact_values(first, indices.size(), expected.data());
    const std::vector<double> got = kernel.read_output(indices);
    const auto [off, right] = std::mismatch(got.begin(), got.end(), expected.begin());
    if (off == got.end()) continue;
    result_.worst = std::numeric_limits<double>::infinity();
    return fail(when + ": output " + std::to_string(first + uint64_t(off - got.begin())) + " is " +
                to_text(*off) + ", not " + to_text(*right));
  }
  return true;
}

bool Verifier::check(Kernel& kernel, const std::string& when) {
  if (result_.state == Verification::State::kFailed) return false;
  result_.state = Verification::State::kPassed;
  if (problem_.operation().reference_source(problem_) == ReferenceSource::kTestedOutput) {
    KernelOutput output(kernel);  // every time anew
    expect(&output);
  }
  return check_scan(kernel, when) && check_elements(kernel, when) &&
         check_projection(kernel, when) && check_all_elements(kernel, when);
}

}  // namespace deepbench
