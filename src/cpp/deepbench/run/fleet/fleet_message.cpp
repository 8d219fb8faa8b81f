// Packing and unpacking the messages of a fleet.
#include "deepbench/run/fleet/fleet_message.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
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

// Writer and Reader have the same functions, so that one visit() for each struct lists its fields
// for both directions. Writer takes references to variables as well, and changes none.
class Writer {
 public:
  template <class... Fields>
  void fields(Fields&... all) {
    (field(all), ...);
  }
  template <class Enum>
  void enumerator(Enum& value, Enum /*last*/) {
    packer_.number(int64_t(value));
  }
  const std::string& bytes() const { return packer_.bytes(); }

 private:
  template <class T>
  void field(T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      packer_.number(value);
    else
      visit(*this, value);
  }
  template <class T>
  void field(std::vector<T>& all) {
    packer_.number(int64_t(all.size()));
    for (T& one : all) field(one);
  }
  template <class T>
  void field(std::optional<T>& value) {
    packer_.number(int64_t{value.has_value()});
    if (value) field(*value);
  }
  void field(bool& truth) { packer_.number(int64_t{truth}); }
  void field(std::string& text) { packer_.text(text); }
  void field(Attributes& attributes) {
    packer_.number(int64_t(attributes.items().size()));
    for (const auto& [name, value] : attributes.items()) {
      packer_.text(name).number(int64_t(value.index()));
      if (const auto* whole = std::get_if<int64_t>(&value)) packer_.number(*whole);
      if (const auto* real = std::get_if<double>(&value)) packer_.number(*real);
      if (const auto* text = std::get_if<std::string>(&value)) packer_.text(*text);
    }
  }

  Packer packer_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : unpacker_(bytes) {}

  template <class... Fields>
  void fields(Fields&... all) {
    (field(all), ...);
  }
  // `last` is the enumerator with the highest number.
  template <class Enum>
  void enumerator(Enum& value, Enum last) {
    value = static_cast<Enum>(std::clamp<int64_t>(integer(), 0, int64_t(last)));
  }

 private:
  int64_t integer() { return unpacker_.number<int64_t>(); }

  template <class T>
  void field(T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      value = unpacker_.number<T>();
    else
      visit(*this, value);
  }
  template <class T>
  void field(std::vector<T>& all) {
    for (int64_t left = integer(); left > 0; --left) field(all.emplace_back());
  }
  template <class T>
  void field(std::optional<T>& value) {
    if (integer() != 0) field(value.emplace());
  }
  void field(bool& truth) { truth = integer() != 0; }
  void field(std::string& text) { text = unpacker_.text(); }
  void field(Attributes& attributes) {
    for (int64_t left = integer(); left > 0; --left) {
      const std::string name = unpacker_.text();
      const int64_t kind = integer();
      if (kind == 0)
        attributes.set(name, integer());
      else if (kind == 1)
        attributes.set(name, unpacker_.number<double>());
      else
        attributes.set(name, unpacker_.text());
    }
  }

  Unpacker unpacker_;
};

template <class Archive>
void visit(Archive& archive, SoakPart& part) {
  archive.fields(part.calls, part.batches, part.throttled, part.power_capped, part.clocked,
                 part.elapsed_ns, part.clock_mhz);
}

template <class Archive>
void visit(Archive& archive, Samples& samples) {
  std::vector<SoakPart> parts = samples.soak.parts();
  archive.fields(parts);
  samples.soak.set_parts(std::move(parts));
  archive.fields(samples.per_call_ns, samples.batch, samples.first_call_ns,
                 samples.host_per_call_ns, samples.spent_ns, samples.rested_ns, samples.error,
                 samples.clock_mhz, samples.clocks_mhz, samples.rests_ns, samples.throttled,
                 samples.retries, samples.waited_share, samples.power_capped,
                 samples.batches_per_sample, samples.schedule_perturbed, samples.launch,
                 samples.timer);
  archive.enumerator(samples.stop, StopReason::kTooFew);
}

template <class Archive>
void visit(Archive& archive, Verification& verification) {
  archive.enumerator(verification.state, Verification::State::kFailed);
  archive.fields(verification.what, verification.reason, verification.checked, verification.outputs,
                 verification.worst, verification.worst_check, verification.seed,
                 verification.conditions);
}

template <class Archive>
void visit(Archive& archive, Metric& metric) {
  archive.fields(metric.name, metric.unit, metric.better, metric.value, metric.samples_ns);
}

template <class Archive>
void visit(Archive& archive, Regime& regime) {
  archive.fields(regime.cache, regime.cold, regime.copies, regime.resident, regime.power,
                 regime.threads, regime.ranks);
}

template <class Archive>
void visit(Archive& archive, Conversion& conversion) {
  archive.fields(conversion.operand, conversion.ns, conversion.constant, conversion.samples_ns);
}

template <class Archive>
void visit(Archive& archive, BaselineTime& time) {
  archive.fields(time.metric, time.speedup, time.median_ns, time.samples_ns, time.name,
                 time.most_speed);
}

template <class Archive>
void visit(Archive& archive, Measurement& measurement) {
  archive.fields(measurement.samples, measurement.verification, measurement.padded,
                 measurement.metrics, measurement.regime, measurement.conversion,
                 measurement.candidate, measurement.padding_rule, measurement.library,
                 measurement.algorithm, measurement.workspace_bytes, measurement.planning_ns,
                 measurement.transform_factor, measurement.arithmetic, measurement.notes);
}

template <class Archive>
void visit(Archive& archive, Findings& found) {
  archive.fields(found.measurement, found.extras.metrics, found.extras.notes,
                 found.sensors.observed, found.sensors.notes, found.clocks, found.baselines.times,
                 found.baselines.notes);
}

template <class Archive>
void visit(Archive& archive, RankResult& result) {
  archive.enumerator(result.status, Status::kFailed);
  archive.fields(result.reason, result.median_ns, result.low_ns, result.high_ns, result.error,
                 result.clock_mhz, result.temperature_c, result.power_w, result.throttled,
                 result.algorithm);
}

template <class Archive>
void visit(Archive& archive, RankDevice& rank_device) {
  archive.fields(rank_device.device, rank_device.name, rank_device.uuid);
}

template <class Struct>
std::string packed(Struct content) {
  Writer writer;
  writer.fields(content);
  return writer.bytes();
}

template <class Struct>
Struct unpacked(const std::string& bytes) {
  Struct content;
  Reader(bytes).fields(content);
  return content;
}

}  // namespace

std::string pack_rank_result(RankResult result) {
  result.reason = truncated_text(result.reason);
  result.algorithm = truncated_text(result.algorithm);
  return packed(std::move(result));
}

RankResult unpack_rank_result(const std::string& bytes) { return unpacked<RankResult>(bytes); }

std::string pack_findings(Findings found) { return packed(std::move(found)); }

Findings unpack_findings(const std::string& bytes) { return unpacked<Findings>(bytes); }

std::string pack_rank_device(RankDevice rank_device) {
  rank_device.name = truncated_text(rank_device.name);
  rank_device.uuid = truncated_text(rank_device.uuid);
  return packed(std::move(rank_device));
}

RankDevice unpack_rank_device(const std::string& bytes) { return unpacked<RankDevice>(bytes); }

}  // namespace deepbench
