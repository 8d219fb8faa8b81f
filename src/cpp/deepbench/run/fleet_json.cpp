// A fleet's part of a row, as docs/results.md says: a list by rank for every figure, so that a
// thousand ranks take some ten bytes each; names only of those who are out of line.
#include "deepbench/run/fleet_json.hpp"

#include <algorithm>
#include <cmath>

namespace deepbench {
namespace {

constexpr size_t kMostReasons = 16;  // more ranks than that have failed of the same

// Six digits: more than any clock has.
double short_number(double number) {
  if (number == 0 || !std::isfinite(number)) return number;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(number))));
  return std::round(number * scale) / scale;
}

void number_or_null(JsonWriter& json, double number) {
  if (number == 0) {
    json.null();
  } else {
    json.value(short_number(number));
  }
}

// null where no rank knows.
void write_by_rank(JsonWriter& json, const char* name, const Fleet& fleet,
                   double RankFigures::*figure) {
  json.key(name);
  const auto known = [&](const RankFigures& one) { return one.*figure != 0; };
  if (std::none_of(fleet.ranks.begin(), fleet.ranks.end(), known)) {
    json.null();
    return;
  }
  json.begin_array();
  for (const RankFigures& one : fleet.ranks) number_or_null(json, one.*figure);
  json.end_array();
}

void write_statuses(JsonWriter& json, const Fleet& fleet) {
  json.key("status");
  if (fleet.status == Status::kOk) {
    json.null();
    return;
  }
  json.begin_array();
  for (const RankFigures& one : fleet.ranks) json.value(name_of(one.status));
  json.end_array();
}

void write_place(JsonWriter& json, const Fleet& fleet, size_t rank) {
  const RankPlace& place = fleet.places[rank];
  json.member("rank", int64_t(rank)).member("host", place.host).member("device", place.device);
  json.member_or_null("name", place.name).member_or_null("uuid", place.uuid);
}

void write_outliers(JsonWriter& json, const Fleet& fleet) {
  json.key("outliers").begin_array();
  for (const Outlier& outlier : fleet.outliers) {
    const RankFigures& figures = fleet.ranks[size_t(outlier.rank)];
    json.begin_object();
    write_place(json, fleet, size_t(outlier.rank));
    json.member("off", short_number(outlier.off)).member("throttled", figures.throttled);
    json.end_object();
  }
  json.end_array();
}

void write_failures(JsonWriter& json, const Fleet& fleet) {
  json.key("failures").begin_array();
  size_t written = 0;
  for (size_t rank = 0; rank < fleet.ranks.size() && written < kMostReasons; ++rank) {
    const RankFigures& one = fleet.ranks[rank];
    if (one.status == Status::kOk) continue;
    json.begin_object();
    write_place(json, fleet, rank);
    json.member("status", name_of(one.status)).member("reason", one.reason).end_object();
    ++written;
  }
  json.end_array();
}

void rank_or_null(JsonWriter& json, const char* name, int rank) {
  json.key(name);
  if (rank < 0) {
    json.null();
  } else {
    json.value(int64_t{rank});
  }
}

}  // namespace

void write_fleet(JsonWriter& json, const Fleet& fleet) {
  json.begin_object().member("count", int64_t(fleet.ranks.size()));
  rank_or_null(json, "of", fleet.of);
  json.key("middle_ns");
  number_or_null(json, fleet.middle_ns);
  json.key("spread");
  if (fleet.quickest == fleet.slowest) {  // fewer than two ranks count
    json.null();
  } else {
    json.value(short_number(fleet.spread));
  }
  json.key("limit");
  number_or_null(json, fleet.limit);
  rank_or_null(json, "quickest", fleet.quickest);
  rank_or_null(json, "slowest", fleet.slowest);
  write_by_rank(json, "median_ns", fleet, &RankFigures::median_ns);
  write_by_rank(json, "error", fleet, &RankFigures::error);
  write_by_rank(json, "clock_mhz", fleet, &RankFigures::clock_mhz);
  write_by_rank(json, "temperature_c", fleet, &RankFigures::temperature_c);
  write_by_rank(json, "power_w", fleet, &RankFigures::power_w);
  write_statuses(json, fleet);
  write_outliers(json, fleet);
  write_failures(json, fleet);
  json.end_object();
}

}  // namespace deepbench
