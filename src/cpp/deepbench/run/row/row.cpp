// Rows as JSON.
#include "deepbench/run/row/row.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "deepbench/run/row/json_writer.hpp"

namespace deepbench {
namespace {

// The most values of a list that only an audit of the row reads: clocks, rests, and samples of
// other measurements.
constexpr size_t kMaxAuditValues = 20;
constexpr double kSampleSteps = 1000;  // samples are rounded to 1/1000 ns

// Writes null for zero, which stands for "unknown" in every figure of a row.
void write_number_or_null(JsonWriter& json, std::string_view name, double number) {
  json.key(name).value_or_null(number != 0, number);
}

// Writes an evenly spaced selection of at most `most` of the values, in whole numbers of 1 /
// `steps`.
void write_selection(JsonWriter& json, std::string_view name, const std::vector<double>& values,
                     size_t most, double steps) {
  const size_t kept = std::min(values.size(), most);
  json.key(name).begin_array();
  for (size_t i = 0; i < kept; ++i)
    json.value(std::round(values[sample_index(i, kept, values.size())] * steps) / steps);
  json.end_array();
}

void write_audit_values(JsonWriter& json, std::string_view name,
                        const std::vector<double>& values) {
  write_selection(json, name, values, kMaxAuditValues, 1);
}

// Writes nothing if there is no sample.
void write_audit_samples(JsonWriter& json, std::string_view name,
                         const std::vector<double>& samples_ns) {
  if (samples_ns.empty()) return;
  write_selection(json, name, samples_ns, kMaxAuditValues, kSampleSteps);
}

void write_device(JsonWriter& json, const Row& row) {
  json.key("device").begin_object().key("index");
  json.value_or_null(row.device.has_value(), row.device.value_or(0));
  json.member_or_null("name", row.device_name).end_object();
}

void write_problem(JsonWriter& json, const Row& row) {
  json.member_or_null("problem", row.problem).member_or_null("op", row.op);
  json.member("attributes", row.attributes).member_or_null("application", row.application);
  json.member_or_null("backend", row.backend);
  write_device(json, row);
  json.member_or_null("library", row.library);
  json.member_or_null("started", row.started);
}

void write_tried(JsonWriter& json, const TriedCandidate& candidate) {
  json.begin_object().member_or_null("candidate", candidate.id);
  write_number_or_null(json, "screened_ns", candidate.screened_ns);
  json.key("compared_ns").begin_array();
  for (const double ns : candidate.compared_ns) json.value(ns);
  json.end_array();
  if (!candidate.refused.empty()) json.member("refused", candidate.refused);
  json.end_object();
}

void write_algorithm(JsonWriter& json, const Algorithm& algorithm) {
  json.key("algorithm").begin_object().member("mode", algorithm.mode);
  json.member_or_null("name", algorithm.name).member_or_null("candidate", algorithm.candidate);
  json.member("candidates", algorithm.candidates());
  json.member("workspace_bytes", algorithm.workspace_bytes);
  write_number_or_null(json, "planning_ns", algorithm.planning_ns);
  write_number_or_null(json, "default_ns", algorithm.default_ns);
  write_audit_samples(json, "default_samples_ns", algorithm.default_samples_ns);
  json.member_or_null("default_name", algorithm.default_name);
  json.member_or_null("default_candidate", algorithm.default_candidate);
  write_number_or_null(json, "speedup", algorithm.gain);
  if (!algorithm.tried.empty()) {
    json.member("listed", algorithm.listed);
    if (algorithm.budget_ns > 0) json.member("budget_ns", std::round(algorithm.budget_ns));
    json.member("searched_ns", std::round(algorithm.searched_ns));
    json.member_or_null("first", algorithm.first).key("tried").begin_array();
    for (const TriedCandidate& candidate : algorithm.tried) write_tried(json, candidate);
    json.end_array();
  }
  json.end_object();
}

void write_regime(JsonWriter& json, const Row& row) {
  const Regime& regime = row.regime;
  json.key("regime").begin_object().member("cache", regime.cache);
  json.member_or_null("cold", regime.cold).member("copies", regime.copies);
  json.key("fits_cache")
      .value_or_null(regime.resident.has_value(), regime.resident.value_or(false));
  json.member_or_null("launch", row.samples ? row.samples->launch : "");
  json.member_or_null("timer", row.samples ? row.samples->timer : "");
  json.member("power", regime.power).member("threads", regime.threads);
  if (row.samples && row.samples->schedule_perturbed) json.member("schedule_perturbed", true);
  if (regime.ranks > 0) json.member("ranks", regime.ranks);
  json.end_object();
}

void write_statistics(JsonWriter& json, const Samples& samples) {
  const Statistics s = summarize(samples.per_call_ns);
  json.key("statistics").begin_object();
  json.member("median_ns", s.median).member("min_ns", s.min).member("max_ns", s.max);
  json.member("q1_ns", s.q1).member("q3_ns", s.q3).member("p99_ns", s.p99);
  json.member("mean_ns", s.mean).member("stdev_ns", s.stdev).member("mad_ns", s.mad);
  json.member("relative_standard_error", samples.error)
      .member("low_ns", s.low)
      .member("high_ns", s.high);
  json.member("n", s.n).member("batch", static_cast<int64_t>(samples.batch));
  if (samples.batches_per_sample > 1)
    json.member("batches_per_sample", static_cast<int64_t>(samples.batches_per_sample));
  json.member("throttled", samples.throttled).member("retries", samples.retries);
  if (samples.waited_share) json.member("waited_share", *samples.waited_share);
  json.member("stop", name_of(samples.stop)).end_object();
}

void write_samples(JsonWriter& json, const std::vector<double>& samples) {
  write_selection(json, "samples_ns", samples, kMaxSamples, kSampleSteps);
  json.member("samples_kept", samples.size() <= kMaxSamples ? "all" : "thinned");
}

// Writes nothing if no batch was preceded by a rest.
void write_rests(JsonWriter& json, const std::vector<double>& rests_ns) {
  const bool any =
      std::any_of(rests_ns.begin(), rests_ns.end(), [](double rest_ns) { return rest_ns > 0; });
  write_audit_values(json, "rests_ns", any ? rests_ns : std::vector<double>());
}

void write_soak(JsonWriter& json, const std::vector<SoakPart>& parts) {
  json.key("soak").begin_array();
  for (const SoakPart& part : parts) {
    json.begin_object().member("calls", part.calls);
    json.member("elapsed_ns", std::round(part.elapsed_ns));
    write_number_or_null(json, "clock_mhz", std::round(part.clock_mhz));
    json.member("batches", part.batches).member("throttled", part.throttled);
    json.member("power_capped", part.power_capped).end_object();
  }
  json.end_array();
}

void write_times(JsonWriter& json, const Row& row) {
  if (!row.samples) {
    json.key("statistics").null().key("samples_ns").null().key("samples_kept").null();
    json.key("clocks_mhz").null().key("rests_ns").null();
    json.key("first_call_ns").null().key("host_ns").null();
    return;
  }
  write_statistics(json, *row.samples);
  write_samples(json, row.samples->per_call_ns);
  write_audit_values(json, "clocks_mhz", row.samples->clocks_mhz);
  write_rests(json, row.samples->rests_ns);
  if (!row.samples->soak.parts().empty()) write_soak(json, row.samples->soak.parts());
  write_number_or_null(json, "first_call_ns", row.samples->first_call_ns);
  write_number_or_null(json, "host_ns", row.samples->host_per_call_ns);
}

void write_work(JsonWriter& json, const Work& work) {
  json.key("work").begin_object().member("flops", work.flops);
  json.member("bytes", work.bytes);
  if (work.transform_factor != 1) json.member("transform_factor", work.transform_factor);
  if (!work.arithmetic.empty()) json.member("arithmetic", work.arithmetic);
  if (work.steps > 0) json.member("steps", work.steps);
  json.end_object();
}

void write_rates(JsonWriter& json, const Row& row) {
  json.key("rates");
  if (row.has_rates()) {
    json.begin_object();
    write_number_or_null(json, "tflops", row.work.flops / row.median_ns() / 1e3);
    write_number_or_null(json, "gbps", row.work.bytes / row.median_ns());
    json.end_object();
  } else {
    json.null();
  }
}

// Writes the keys of the ceilings but not their figures: a ceiling may change after the row is
// written.
void write_bound(JsonWriter& json, const Bound& bound) {
  json.key("bound").begin_object().member_or_null("level", bound.level);
  json.member_or_null("arithmetic", bound.arithmetic_key);
  json.member_or_null("bandwidth", bound.bandwidth_key);
  json.member_or_null("latency", bound.latency_key);
  if (!bound.serial_key.empty()) json.member("serial", bound.serial_key);
  json.end_object();
}

void write_operands(JsonWriter& json, const Row& row) {
  json.key("metrics").begin_array();
  for (const Metric& metric : row.metrics) {
    json.begin_object().member("name", metric.name).member("value", metric.value);
    json.member("unit", metric.unit).member_or_null("better", metric.better);
    write_audit_samples(json, "samples_ns", metric.samples_ns);
    json.end_object();
  }
  json.end_array();
  json.key("padding").begin_object().member_or_null("rule", row.padding_rule);
  json.member("dimensions", row.padded).end_object();
  json.key("conversion");
  if (row.conversion) {
    json.begin_object().member("operand", row.conversion->operand);
    json.member("ns", row.conversion->ns).member("constant", row.conversion->constant);
    write_audit_samples(json, "samples_ns", row.conversion->samples_ns);
    json.end_object();
  } else {
    json.null();
  }
}

void write_verification(JsonWriter& json, const Verification& verification) {
  constexpr std::string_view kNames[] = {"skipped", "passed", "failed"};
  json.key("verification").begin_object();
  json.member("status", kNames[static_cast<int>(verification.state)]);
  json.member_or_null("scope", verification.what);
  json.member("checked", static_cast<int64_t>(verification.checked));
  json.member("outputs", static_cast<int64_t>(verification.outputs));
  json.member("max_error_ratio", verification.worst);
  json.member_or_null("max_error_check", verification.worst_check);
  json.member_or_null("reason", verification.reason);
  if (verification.seed != 0) json.member("seed", static_cast<int64_t>(verification.seed));
  if (!verification.conditions.items().empty()) json.member("conditions", verification.conditions);
  json.end_object();
}

void write_stages(JsonWriter& json, const Stages& stages) {
  json.key("stages_ns").begin_object().member("prepare", std::round(stages.prepare_ns));
  json.member("verify", std::round(stages.verify_ns));
  json.member("measure", std::round(stages.measure_ns));
  json.member("ceilings", std::round(stages.ceilings_ns));
  json.member("other", std::round(stages.other_ns));
  json.member("device", std::round(stages.device_ns));
  json.member("rest", std::round(stages.rest_ns)).end_object();
}

void write_status(JsonWriter& json, const Row& row) {
  json.member("status", name_of(row.status)).member_or_null("reason", row.reason);
}

void write_notes(JsonWriter& json, const std::vector<std::string>& notes) {
  json.key("notes").begin_array();
  for (const auto& note : notes) json.value(note);
  json.end_array();
}

// Writes what the lines of rows and of ceilings share: how the problem was measured, and the
// result.
void write_measurement(JsonWriter& json, const Row& row) {
  write_algorithm(json, row.algorithm);
  write_status(json, row);
  write_regime(json, row);
  write_times(json, row);
  write_work(json, row.work);
  write_rates(json, row);
}

void write_result_members(JsonWriter& json, const Row& row) {
  write_measurement(json, row);
  write_bound(json, row.bound);
  write_operands(json, row);
  write_verification(json, row.verification);
  json.member("observed", row.observed);
  json.key("ranks");
  if (row.ranks_json.empty()) {
    json.null();
  } else {
    json.literal(row.ranks_json);
  }
  write_notes(json, row.notes);
  write_stages(json, row.stages);
}

void write_nulls(JsonWriter& json, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) json.key(name).null();
}

// Writes the same keys as write_result_members(), with null.
void write_null_result_members(JsonWriter& json, const Row& row) {
  write_nulls(json, {"algorithm"});
  write_status(json, row);
  write_nulls(json, {"regime", "statistics", "samples_ns", "samples_kept", "clocks_mhz", "rests_ns",
                     "first_call_ns", "host_ns"});
  write_work(json, row.work);
  write_nulls(json, {"rates", "bound"});
  json.key("metrics").begin_array().end_array();
  write_nulls(json, {"padding", "conversion", "verification"});
  json.key("observed");
  if (row.observed.items().empty()) {
    json.null();
  } else {
    json.value(row.observed);
  }
  write_nulls(json, {"ranks"});
  write_notes(json, row.notes);
  write_nulls(json, {"stages_ns"});
}

}  // namespace

double Row::median_ns() const { return samples ? median(samples->per_call_ns) : 0; }

std::string Row::to_json() const {
  JsonWriter json;
  json.begin_object().member("type", "row").member("position", position);
  write_problem(json, *this);
  if (has_answer)
    write_result_members(json, *this);
  else
    write_null_result_members(json, *this);
  json.end_object();
  return json.str();
}

std::string ceiling_line(const CeilingKey& key, const Row& row, bool is_raised) {
  JsonWriter json;
  json.begin_object().member("type", "ceiling").member("ceiling", key.text());
  json.member("kind", key.kind).member_or_null("precision", key.precision);
  json.member_or_null("level", key.level);
  json.key("raised_by").value_or_null(is_raised, row.position);
  write_problem(json, row);
  write_measurement(json, row);
  write_verification(json, row.verification);
  json.member("observed", row.observed);
  write_notes(json, row.notes);
  write_stages(json, row.stages);
  json.end_object();
  return json.str();
}

std::string chain_line(const Row& row, int64_t calls, int64_t kernels) {
  JsonWriter json;
  json.begin_object().member("type", "chain").member("calls", calls).member("kernels", kernels);
  json.member_or_null("backend", row.backend);
  write_device(json, row);
  json.member_or_null("started", row.started);
  write_status(json, row);
  json.member("power", row.regime.power);
  json.member_or_null("launch", row.samples ? row.samples->launch : "");
  json.member_or_null("timer", row.samples ? row.samples->timer : "");
  write_times(json, row);
  write_verification(json, row.verification);
  json.member("observed", row.observed);
  write_stages(json, row.stages);
  json.end_object();
  return json.str();
}

}  // namespace deepbench
