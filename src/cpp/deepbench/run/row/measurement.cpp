// Turning the facts of a kernel and its samples into a measurement.
#include "deepbench/run/row/measurement.hpp"

#include <algorithm>
#include <string_view>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxNotes = 20;   // notes of a kernel
constexpr size_t kMaxNote = 4000;  // bytes of a note

bool starts_with(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// `unit_and_direction` is a unit and the direction that is better, such as "us lower".
Metric metric_of(const std::string& name, const std::string& unit_and_direction, double value) {
  const size_t gap = std::min(unit_and_direction.rfind(' '), unit_and_direction.size());
  const std::string better =
      gap < unit_and_direction.size() ? unit_and_direction.substr(gap + 1) : "lower";
  return {name, unit_and_direction.substr(0, gap), better, value};
}

std::vector<double> conversion_samples(const Attributes& facts) {
  std::vector<double> samples_ns;
  for (const auto& [name, value] : facts.items())
    if (starts_with(name, "conversion_sample_ns.")) samples_ns.push_back(facts.real(name));
  return samples_ns;
}

void add_notes(const Attributes& facts, std::vector<std::string>& notes) {
  size_t count = 0;
  for (const auto& [name, value] : facts.items())
    if (starts_with(name, "note.") && ++count <= kMaxNotes)
      notes.push_back(one_line(to_text(value), kMaxNote));
  if (count > kMaxNotes)
    notes.push_back(std::to_string(count - kMaxNotes) + " more notes of the backend");
}

void add_metrics(const Plan& plan, const Attributes& facts, Measurement& measurement) {
  std::vector<Metric>& metrics = measurement.metrics;
  const double call_ns = measurement.median_ns();
  for (const auto& [name, value] : facts.items()) {
    const std::string unit = facts.text(name + ".unit");
    if (starts_with(name, "metric.") && !unit.empty())
      metrics.push_back(metric_of(name.substr(7), unit, facts.real(name)));
  }
  for (Metric& metric : plan.problem.operation().derived_metrics(plan.problem, facts, call_ns))
    metrics.push_back(std::move(metric));
  if (!measurement.conversion) return;
  const double conversion_ns = measurement.conversion->ns;
  metrics.push_back({"call", "ns", "lower", call_ns});
  metrics.push_back({"conversion", "ns", "lower", conversion_ns});
  metrics.push_back({"call_and_conversion", "ns", "lower", call_ns + conversion_ns});
}

}  // namespace

double Measurement::median_ns() const { return samples ? median(samples->per_call_ns) : 0; }

Regime requested_regime(const RowRequest& request, const Attributes& device) {
  Regime regime;
  regime.cache = request.options.cold ? "cold" : "hot";
  regime.power = request.options.is_sustained() ? "sustained" : "rested";
  const double cache = device.real("last_level_cache_bytes");
  if (!request.options.cold && cache > 0)
    regime.resident = request.problem.operation().work(request.problem).bytes <= cache;
  return regime;
}

void require_possible_padding(const Plan& plan, const Attributes& facts) {
  constexpr std::string_view kPrefix = "padded.";
  for (const auto& [name, value] : facts.items()) {
    if (!starts_with(name, kPrefix)) continue;
    const std::string dimension = name.substr(kPrefix.size());
    if (facts.integer(name) >= plan.problem.attributes().integer(dimension)) continue;
    throw RowFailure(Status::kFailed,
                     "describe_kernel: the backend gave an impossible answer: " + name + "=" +
                         printable(to_text(value)) + ", less than the problem has");
  }
}

void require_requested_caches(const Plan& plan, const Attributes& facts, double last_level_bytes) {
  const int64_t copies = facts.integer("copies", 1);
  const auto refuse = [&](const std::string& why) {
    throw RowFailure(Status::kFailed,
                     "describe_kernel: the backend gave an impossible answer: copies=" +
                         std::to_string(copies) + ", " + why);
  };
  if (!plan.options.cold && copies > 1) refuse("where the caches are hot");
  // Calls that follow a flush are not compared with the host's clock.
  if (!plan.options.cold && facts.has("cold"))
    refuse("cold=" + printable(facts.text("cold")) + ", where the caches are hot");
  if (facts.text("cold") != "rotation") return;
  // Padding counts only in the number that the backend states itself.
  const double operands = double(copies) * plan.problem.operation().work(plan.problem).bytes;
  if (std::max(operands, double(plan.backend_plan().memory_bytes())) < last_level_bytes)
    refuse("which all fit the last-level cache, where the caches are cold");
}

Measurement describe_measurement(const Plan& plan, const Regime& requested, const Attributes& facts,
                                 const std::optional<Samples>& samples,
                                 const Verification& verification) {
  Measurement measurement;
  measurement.candidate = plan.candidate;
  measurement.library = facts.text("library");
  measurement.algorithm = facts.text("algorithm");
  measurement.workspace_bytes = facts.integer("workspace_bytes");
  measurement.planning_ns = facts.real("planning_ns");
  measurement.samples = samples;
  measurement.verification = verification;
  measurement.regime = requested;
  measurement.regime.cold = facts.text("cold");
  measurement.regime.copies = facts.integer("copies", 1);
  measurement.regime.threads = facts.integer("threads");
  measurement.regime.ranks = facts.integer("ranks");
  measurement.transform_factor = std::max(1.0, facts.real("transform_factor", 1));
  measurement.arithmetic = facts.text("arithmetic");
  measurement.padding_rule = facts.text("padding_rule");
  for (const auto& [name, value] : facts.items())
    if (starts_with(name, "padded.")) measurement.padded.set(name.substr(7), value);
  const std::string converted = facts.text("converted");
  if (!converted.empty())
    measurement.conversion = {converted, facts.real("conversion_ns"),
                              plan.options.is_constant(converted), conversion_samples(facts)};
  if (!measurement.arithmetic.empty())
    measurement.notes.push_back("computed in " + measurement.arithmetic + ", not in " +
                                plan.problem.text("precision") + ", and held against the ceiling " +
                                "of " + measurement.arithmetic);
  add_notes(facts, measurement.notes);
  if (samples && verification.state != Verification::State::kFailed)
    add_metrics(plan, facts, measurement);
  return measurement;
}

}  // namespace deepbench
