// Writes the `ranks` member of a fleet's row (docs/reference/rows.md). Each figure is a list with
// one number per rank, which takes about ten bytes per rank. Only outliers are named.
#include "deepbench/run/fleet/fleet_json.hpp"

#include <algorithm>
#include <cmath>

#include "deepbench/run/row/json_writer.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxReasons = 16;  // if more ranks fail, they usually share a cause

// Six digits exceed the precision of any clock.
double rounded_to_six_digits(double number) {
  if (number == 0 || !std::isfinite(number)) return number;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(number))));
  return std::round(number * scale) / scale;
}

JsonWriter& write_number_or_null(JsonWriter& json, double number) {
  return json.value_or_null(number != 0, rounded_to_six_digits(number));
}

// Writes one figure of each rank; null where it is unknown.
template <class All, class WriteOne>
void write_list(JsonWriter& json, const char* name, bool known, const All& all, WriteOne one_of) {
  json.key(name);
  if (!known) {
    json.null();
    return;
  }
  json.begin_array();
  for (const auto& one : all) one_of(one);
  json.end_array();
}

// Writes null if no rank knows the figure.
void write_by_rank(JsonWriter& json, const char* name, const FleetSummary& fleet,
                   double RankResult::*figure) {
  const bool known = std::any_of(fleet.ranks.begin(), fleet.ranks.end(),
                                 [&](const RankResult& one) { return one.*figure != 0; });
  write_list(json, name, known, fleet.ranks,
             [&](const RankResult& one) { write_number_or_null(json, one.*figure); });
}

void write_rank_device(JsonWriter& json, const FleetSummary& fleet, size_t rank) {
  const RankDevice& rank_device = fleet.rank_devices[rank];
  json.member("rank", int64_t(rank))
      .member("host", rank_device.host)
      .member("device", rank_device.device);
  json.member_or_null("name", rank_device.name).member_or_null("uuid", rank_device.uuid);
}

void write_outliers(JsonWriter& json, const FleetSummary& fleet) {
  json.key("outliers").begin_array();
  for (const Outlier& outlier : fleet.outliers) {
    const RankResult& figures = fleet.ranks[size_t(outlier.rank)];
    json.begin_object();
    write_rank_device(json, fleet, size_t(outlier.rank));
    json.member("deviation", rounded_to_six_digits(outlier.deviation))
        .member("throttled", figures.throttled);
    json.end_object();
  }
  json.end_array();
}

void write_failures(JsonWriter& json, const FleetSummary& fleet) {
  json.key("failures").begin_array();
  size_t written = 0;
  for (size_t rank = 0; rank < fleet.ranks.size() && written < kMaxReasons; ++rank) {
    const RankResult& one = fleet.ranks[rank];
    if (one.status == Status::kOk) continue;
    json.begin_object();
    write_rank_device(json, fleet, rank);
    json.member("status", name_of(one.status)).member("reason", one.reason).end_object();
    ++written;
  }
  json.end_array();
}

void write_rank_or_null(JsonWriter& json, const char* name, int rank) {
  json.key(name).value_or_null(rank >= 0, int64_t{rank});
}

}  // namespace

std::string fleet_json(const FleetSummary& fleet) {
  JsonWriter json;
  json.begin_object().member("count", int64_t(fleet.ranks.size()));
  write_rank_or_null(json, "representative", fleet.representative);
  write_number_or_null(json.key("middle_ns"), fleet.median_ns);
  const bool two_count = fleet.fastest != fleet.slowest;
  json.key("spread").value_or_null(two_count, rounded_to_six_digits(fleet.spread));
  write_number_or_null(json.key("outlier_threshold"), fleet.outlier_limit);
  write_rank_or_null(json, "quickest", fleet.fastest);
  write_rank_or_null(json, "slowest", fleet.slowest);
  write_by_rank(json, "median_ns", fleet, &RankResult::median_ns);
  write_by_rank(json, "relative_standard_error", fleet, &RankResult::error);
  write_by_rank(json, "clock_mhz", fleet, &RankResult::clock_mhz);
  write_by_rank(json, "temperature_c", fleet, &RankResult::temperature_c);
  write_by_rank(json, "power_w", fleet, &RankResult::power_w);
  write_list(json, "status", fleet.status != Status::kOk, fleet.ranks,
             [&](const RankResult& one) { json.value(name_of(one.status)); });
  write_list(json, "mismatched", !fleet.other_algorithm_ranks.empty(), fleet.other_algorithm_ranks,
             [&](int rank) { json.value(int64_t{rank}); });
  write_outliers(json, fleet);
  write_failures(json, fleet);
  json.end_object();
  return json.str();
}

}  // namespace deepbench
