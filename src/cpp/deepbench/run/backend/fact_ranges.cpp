// Checks that numeric facts are within the ranges that a device can have, and that metrics have
// names of their own.
#include "deepbench/run/backend/fact_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace deepbench {
namespace {

enum class Kind { kInteger, kReal };

struct Range {
  std::string_view name;  // a fact; with a '.' at its end, all facts with this prefix
  Kind kind;
  double least, most;
};

// More than any memory; a negative number that was converted to unsigned is far larger.
constexpr double kMemory = double(uint64_t{1} << 62);
constexpr double kCache = double(uint64_t{1} << 40);
constexpr double kCount = double(1 << 20);  // the largest number of ranks, threads or copies
constexpr double kMany = double(uint64_t{1} << 62);
constexpr double kLongNs = 1e15;      // eleven days
constexpr double kCoarsestNs = 20e6;  // no clock counts in longer ticks
constexpr double kSensor = 1e9;       // the largest reading of a sensor, whatever its unit

// The core refuses, allocates or repeats by these facts, or waits for as long as they say.
constexpr Range kRanges[] = {
    {"memory_bytes", Kind::kInteger, 0, kMemory},
    {"memory_available_bytes", Kind::kInteger, 0, kMemory},
    {"workspace_bytes", Kind::kInteger, 0, kMemory},
    {"last_level_cache_bytes", Kind::kInteger, 0, kCache},
    {"cache.", Kind::kInteger, 0, kCache},
    {"row_limit_ns", Kind::kReal, 1, kLongNs},
    {"min_span_ns", Kind::kReal, 0, kLongNs},
    {"min_total_ns", Kind::kReal, 0, kLongNs},
    {"timer_resolution_ns", Kind::kReal, 0, kCoarsestNs},
    {"planning_ns", Kind::kReal, 0, kLongNs},
    {"compiling_ns", Kind::kReal, 0, kLongNs},
    {"conversion_ns", Kind::kReal, 0, kLongNs},
    {"conversion_sample_ns.", Kind::kReal, 0, kLongNs},
    {"estimate.", Kind::kReal, 0, 1e30},
    {"most_clock_mhz", Kind::kReal, 0, kSensor},
    {"clock_mhz", Kind::kReal, 0, kSensor},
    {"memory_clock_mhz", Kind::kReal, 0, kSensor},
    {"power_w", Kind::kReal, 0, kSensor},
    {"temperature_c", Kind::kReal, -300, kSensor},
    {"threads", Kind::kInteger, 0, kCount},
    {"hardware_threads", Kind::kInteger, 0, kCount},
    {"cores", Kind::kInteger, 0, kCount},
    {"copies", Kind::kInteger, 1, kCount},
    {"ranks", Kind::kInteger, 1, kCount},
    {"local_ranks", Kind::kInteger, 1, kCount},
    {"outputs", Kind::kInteger, 1, 64},
    {"restore_every", Kind::kInteger, 1, kMany},
    {"padded.", Kind::kInteger, 0, kMany},
    {"inputs", Kind::kInteger, 0, kMany},
    {"nnz", Kind::kInteger, 0, kMany},
    {"transform_factor", Kind::kReal, 0, 1e6},
};

// The metrics that the core itself measures or derives, which a kernel's must not replace.
constexpr std::string_view kMetricsOfCore[] = {
    "energy",          "call",         "conversion", "call_and_conversion",
    "algbw",           "busbw",        "call_p50",   "call_p99",
    "slowest_rank",    "rank_spread",  "bitwise",    "nnz",
    "nnz_rate",        "dense_rate",   "dense_time", "speedup",
    "dense_time_tf32", "speedup_tf32", "float_time", "speedup_over_float",
};

bool is_metric_of_core(std::string_view name) {
  constexpr std::string_view kPrefix = "metric.";
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  name.remove_prefix(kPrefix.size());
  return std::find(std::begin(kMetricsOfCore), std::end(kMetricsOfCore), name) !=
         std::end(kMetricsOfCore);
}

bool covers(const Range& range, std::string_view name) {
  if (range.name.back() != '.') return name == range.name;
  return name.substr(0, range.name.size()) == range.name;
}

bool is_possible(const std::string& name, const Value& value) {
  const auto* const integer = std::get_if<int64_t>(&value);
  const auto* const real = std::get_if<double>(&value);
  if (real && !std::isfinite(*real)) return false;
  const auto* const range = std::find_if(std::begin(kRanges), std::end(kRanges),
                                         [&](const Range& one) { return covers(one, name); });
  if (range == std::end(kRanges)) return true;
  if (!integer && (range->kind == Kind::kInteger || !real)) return false;
  const double number = integer ? double(*integer) : *real;
  return number >= range->least && number <= range->most;
}

}  // namespace

std::string impossible_fact(const Attributes& facts) {
  for (const auto& [name, value] : facts.items())
    if (!is_possible(name, value) || is_metric_of_core(name))
      return name + "=" + printable(to_text(value));
  return "";
}

}  // namespace deepbench
