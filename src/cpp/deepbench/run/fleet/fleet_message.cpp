// Packing and unpacking the messages of a fleet.
#include "deepbench/run/fleet/fleet_message.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "deepbench/group/message.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxText = 300;  // bytes of a reason or a name; rank 0 keeps one of each rank

// Never cuts a UTF-8 character in two.
std::string truncated_text(const std::string& text) {
  if (text.size() <= kMaxText) return text;
  size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

Status unpack_status(Unpacker& unpacker) {
  const auto number = unpacker.number<int64_t>();
  return static_cast<Status>(std::clamp<int64_t>(number, 0, int64_t(Status::kFailed)));
}

void pack_samples(Packer& packer, const Samples& samples) {
  packer.number(int64_t(samples.per_call_ns.size()));
  for (const double one : samples.per_call_ns) packer.number(one);
  packer.number(samples.batch).number(samples.first_call_ns).number(samples.host_per_call_ns);
  packer.number(samples.spent_ns)
      .number(samples.rested_ns)
      .number(samples.error)
      .number(samples.clock_mhz);
  packer.number(samples.throttled).number(samples.retries).number(samples.power_capped);
  packer.number(uint64_t{samples.batches_per_sample}).number(int64_t{samples.shuffled});
  packer.number(int64_t(samples.stop)).text(samples.launch).text(samples.timer);
}

Samples unpack_samples(Unpacker& unpacker) {
  Samples samples;
  for (auto left = unpacker.number<int64_t>(); left > 0; --left)
    samples.per_call_ns.push_back(unpacker.number<double>());
  samples.batch = unpacker.number<uint64_t>();
  samples.first_call_ns = unpacker.number<double>();
  samples.host_per_call_ns = unpacker.number<double>();
  samples.spent_ns = unpacker.number<double>();
  samples.rested_ns = unpacker.number<double>();
  samples.error = unpacker.number<double>();
  samples.clock_mhz = unpacker.number<double>();
  samples.throttled = unpacker.number<int64_t>();
  samples.retries = unpacker.number<int64_t>();
  samples.power_capped = unpacker.number<int64_t>();
  samples.batches_per_sample = static_cast<size_t>(unpacker.number<uint64_t>());
  samples.shuffled = unpacker.number<int64_t>() != 0;
  const auto stop =
      std::clamp<int64_t>(unpacker.number<int64_t>(), 0, int64_t(StopReason::kTooFew));
  samples.stop = static_cast<StopReason>(stop);
  samples.launch = unpacker.text();
  samples.timer = unpacker.text();
  return samples;
}

void pack_verification(Packer& packer, const Verification& verification) {
  packer.number(int64_t(verification.state)).text(verification.what).text(verification.reason);
  packer.number(verification.checked).number(verification.outputs).number(verification.worst);
}

Verification unpack_verification(Unpacker& unpacker) {
  using State = Verification::State;
  Verification verification;
  const auto state = std::clamp<int64_t>(unpacker.number<int64_t>(), 0, int64_t(State::kFailed));
  verification.state = static_cast<State>(state);
  verification.what = unpacker.text();
  verification.reason = unpacker.text();
  verification.checked = unpacker.number<uint64_t>();
  verification.outputs = unpacker.number<uint64_t>();
  verification.worst = unpacker.number<double>();
  return verification;
}

void pack_attributes(Packer& packer, const Attributes& attributes) {
  packer.number(int64_t(attributes.items().size()));
  for (const auto& [name, value] : attributes.items()) {
    packer.text(name).number(int64_t(value.index()));
    if (const auto* whole = std::get_if<int64_t>(&value)) packer.number(*whole);
    if (const auto* real = std::get_if<double>(&value)) packer.number(*real);
    if (const auto* text = std::get_if<std::string>(&value)) packer.text(*text);
  }
}

Attributes unpack_attributes(Unpacker& unpacker) {
  Attributes attributes;
  for (auto left = unpacker.number<int64_t>(); left > 0; --left) {
    const std::string name = unpacker.text();
    const auto kind = unpacker.number<int64_t>();
    if (kind == 0)
      attributes.set(name, unpacker.number<int64_t>());
    else if (kind == 1)
      attributes.set(name, unpacker.number<double>());
    else
      attributes.set(name, unpacker.text());
  }
  return attributes;
}

void pack_metrics(Packer& packer, const std::vector<Metric>& metrics) {
  packer.number(int64_t(metrics.size()));
  for (const Metric& metric : metrics)
    packer.text(metric.name).text(metric.unit).text(metric.better).number(metric.value);
}

std::vector<Metric> unpack_metrics(Unpacker& unpacker) {
  std::vector<Metric> metrics;
  for (auto left = unpacker.number<int64_t>(); left > 0; --left) {
    Metric metric;
    metric.name = unpacker.text();
    metric.unit = unpacker.text();
    metric.better = unpacker.text();
    metric.value = unpacker.number<double>();
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

void pack_regime(Packer& packer, const Regime& regime) {
  packer.text(regime.cache).text(regime.cold).number(regime.copies);
  packer.number(int64_t{regime.resident.has_value()});
  packer.number(int64_t{regime.resident.value_or(false)});
  packer.text(regime.power).number(regime.threads).number(regime.ranks);
}

Regime unpack_regime(Unpacker& unpacker) {
  Regime regime;
  regime.cache = unpacker.text();
  regime.cold = unpacker.text();
  regime.copies = unpacker.number<int64_t>();
  const bool known = unpacker.number<int64_t>() != 0, resident = unpacker.number<int64_t>() != 0;
  if (known) regime.resident = resident;
  regime.power = unpacker.text();
  regime.threads = unpacker.number<int64_t>();
  regime.ranks = unpacker.number<int64_t>();
  return regime;
}

void pack_conversion(Packer& packer, const std::optional<Conversion>& conversion) {
  const Conversion value = conversion.value_or(Conversion());
  packer.number(int64_t{conversion.has_value()}).text(value.operand).number(value.ns);
  packer.number(int64_t{value.constant});
}

std::optional<Conversion> unpack_conversion(Unpacker& unpacker) {
  const bool made = unpacker.number<int64_t>() != 0;
  Conversion conversion;
  conversion.operand = unpacker.text();
  conversion.ns = unpacker.number<double>();
  conversion.constant = unpacker.number<int64_t>() != 0;
  return made ? std::optional(conversion) : std::nullopt;
}

void pack_notes(Packer& packer, const std::vector<std::string>& notes) {
  packer.number(int64_t(notes.size()));
  for (const std::string& note : notes) packer.text(note);
}

std::vector<std::string> unpack_notes(Unpacker& unpacker) {
  std::vector<std::string> notes;
  for (auto left = unpacker.number<int64_t>(); left > 0; --left) notes.push_back(unpacker.text());
  return notes;
}

void pack_baselines(Packer& packer, const BaselineTimes& baselines) {
  packer.number(int64_t(baselines.times.size()));
  for (const BaselineTime& time : baselines.times)
    packer.text(time.metric).text(time.speedup).number(time.median_ns);
  pack_notes(packer, baselines.notes);
}

BaselineTimes unpack_baselines(Unpacker& unpacker) {
  BaselineTimes baselines;
  for (auto left = unpacker.number<int64_t>(); left > 0; --left) {
    BaselineTime time;
    time.metric = unpacker.text();
    time.speedup = unpacker.text();
    time.median_ns = unpacker.number<double>();
    baselines.times.push_back(std::move(time));
  }
  baselines.notes = unpack_notes(unpacker);
  return baselines;
}

void pack_measurement(Packer& packer, const Measurement& measurement) {
  packer.number(int64_t{measurement.samples.has_value()});
  if (measurement.samples) pack_samples(packer, *measurement.samples);
  pack_verification(packer, measurement.verification);
  pack_attributes(packer, measurement.padded);
  pack_metrics(packer, measurement.metrics);
  pack_regime(packer, measurement.regime);
  pack_conversion(packer, measurement.conversion);
  packer.text(measurement.candidate).text(measurement.padding_rule);
  packer.text(measurement.library).text(measurement.algorithm);
  packer.number(measurement.workspace_bytes).number(measurement.planning_ns);
  pack_notes(packer, measurement.notes);
}

Measurement unpack_measurement(Unpacker& unpacker) {
  Measurement measurement;
  if (unpacker.number<int64_t>() != 0) measurement.samples = unpack_samples(unpacker);
  measurement.verification = unpack_verification(unpacker);
  measurement.padded = unpack_attributes(unpacker);
  measurement.metrics = unpack_metrics(unpacker);
  measurement.regime = unpack_regime(unpacker);
  measurement.conversion = unpack_conversion(unpacker);
  measurement.candidate = unpacker.text();
  measurement.padding_rule = unpacker.text();
  measurement.library = unpacker.text();
  measurement.algorithm = unpacker.text();
  measurement.workspace_bytes = unpacker.number<int64_t>();
  measurement.planning_ns = unpacker.number<double>();
  measurement.notes = unpack_notes(unpacker);
  return measurement;
}

}  // namespace

std::string pack_rank_result(const RankResult& result) {
  Packer packer;
  packer.number(int64_t(result.status)).text(truncated_text(result.reason));
  packer.number(result.median_ns).number(result.low_ns).number(result.high_ns);
  packer.number(result.error).number(result.clock_mhz).number(result.temperature_c);
  packer.number(result.power_w).number(result.throttled);
  return packer.text(truncated_text(result.algorithm)).bytes();
}

RankResult unpack_rank_result(const std::string& bytes) {
  Unpacker unpacker(bytes);
  RankResult result;
  result.status = unpack_status(unpacker);
  result.reason = unpacker.text();
  result.median_ns = unpacker.number<double>();
  result.low_ns = unpacker.number<double>();
  result.high_ns = unpacker.number<double>();
  result.error = unpacker.number<double>();
  result.clock_mhz = unpacker.number<double>();
  result.temperature_c = unpacker.number<double>();
  result.power_w = unpacker.number<double>();
  result.throttled = unpacker.number<int64_t>();
  result.algorithm = unpacker.text();
  return result;
}

std::string pack_findings(const Findings& found) {
  Packer packer;
  packer.number(int64_t{found.measurement.has_value()});
  if (found.measurement) pack_measurement(packer, *found.measurement);
  pack_metrics(packer, found.extras.metrics);
  pack_notes(packer, found.extras.notes);
  pack_attributes(packer, found.sensors.observed);
  pack_notes(packer, found.sensors.notes);
  pack_attributes(packer, found.clocks);
  pack_baselines(packer, found.baselines);
  return packer.bytes();
}

Findings unpack_findings(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Findings found;
  if (unpacker.number<int64_t>() != 0) found.measurement = unpack_measurement(unpacker);
  found.extras.metrics = unpack_metrics(unpacker);
  found.extras.notes = unpack_notes(unpacker);
  found.sensors.observed = unpack_attributes(unpacker);
  found.sensors.notes = unpack_notes(unpacker);
  found.clocks = unpack_attributes(unpacker);
  found.baselines = unpack_baselines(unpacker);
  return found;
}

std::string pack_rank_device(const RankDevice& rank_device) {
  Packer packer;
  packer.number(rank_device.device).text(truncated_text(rank_device.name));
  return packer.text(truncated_text(rank_device.uuid)).bytes();
}

RankDevice unpack_rank_device(const std::string& bytes) {
  Unpacker unpacker(bytes);
  RankDevice rank_device;
  rank_device.device = unpacker.number<int64_t>();
  rank_device.name = unpacker.text();
  rank_device.uuid = unpacker.text();
  return rank_device;
}

}  // namespace deepbench
