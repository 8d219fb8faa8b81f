// Measuring the limits of a device.
#include "deepbench/run/ceilings/ceilings.hpp"

#include <algorithm>

#include "deepbench/core/operation.hpp"

namespace deepbench {
namespace {

// Products grow until one takes this long, which makes the start and end of the call negligible.
constexpr double kLargeProductNs = 2e6;
constexpr int64_t kSmallestProduct = 1024, kLargestProduct = 8192;
constexpr int64_t kDefaultBuffer = int64_t{1} << 28;

std::string product(int64_t m, int64_t n, int64_t k, const char* transposes,
                    const std::string& precision) {
  return "gemm m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k) +
         " trans_a=" + transposes[0] + " trans_b=" + transposes[1] + " precision=" + precision;
}

std::string arithmetic_key(const std::string& precision) { return "arithmetic " + precision; }
std::string bandwidth_key(const MemoryLevel& level) { return "bandwidth " + level.name; }

}  // namespace

Ceilings::Ceilings(const Attributes& device, MeasureProblem measure)
    : last_level_bytes_(device.integer("last_level_cache_bytes")), measure_(std::move(measure)) {
  for (const char* name : {"l1", "l2", "l3"}) {
    const int64_t bytes = device.integer("cache." + std::string(name) + "_bytes");
    if (bytes > 0 && bytes < last_level_bytes_) levels_.push_back({name, bytes});
  }
  if (last_level_bytes_ > 0) levels_.push_back({"llc", last_level_bytes_});
}

MemoryLevel Ceilings::level_of(double bytes, bool cold) const {
  if (!cold) {
    for (const auto& level : levels_)
      if (bytes <= double(level.bytes)) return level;
    if (bytes <= 2 * double(last_level_bytes_)) return levels_.back();
  }
  return {"memory", 0};
}

RowCeilings Ceilings::of(const Problem& problem, bool cold) {
  const std::string precision = problem.text("precision");
  const Work work = problem.operation().work(problem);
  RowCeilings ceilings;
  ceilings.level = level_of(work.bytes, cold);
  ceilings.bytes_per_s = bandwidth(ceilings.level);
  ceilings.latency_ns = latency_ns(precision.empty() ? "float" : precision);
  if (work.flops > 0) ceilings.flops_per_s = arithmetic(precision);
  return ceilings;
}

double Ceilings::arithmetic(const std::string& precision) {
  return cached(arithmetic_key(precision), [&] { return measure_arithmetic(precision); });
}

double Ceilings::bandwidth(const MemoryLevel& level) {
  return cached(bandwidth_key(level), [&] { return measure_bandwidth(level); });
}

double Ceilings::latency_ns(const std::string& precision) {
  return cached("latency " + precision,
                [&] { return measure_(product(1, 1, 1, "nn", precision)); });
}

void Ceilings::raise_arithmetic(const std::string& precision, double flops_per_s) {
  values_[arithmetic_key(precision)] = raised_[arithmetic_key(precision)] = flops_per_s;
}

void Ceilings::raise_bandwidth(const MemoryLevel& level, double bytes_per_s) {
  values_[bandwidth_key(level)] = raised_[bandwidth_key(level)] = bytes_per_s;
}

void Ceilings::invalidate_arithmetic(const std::string& precision) {
  invalidate(arithmetic_key(precision));
}
void Ceilings::invalidate_bandwidth(const MemoryLevel& level) { invalidate(bandwidth_key(level)); }

void Ceilings::invalidate(const std::string& key) {
  previous_[key] = values_[key];
  values_.erase(key);
}

// The figure cached under `key`; measures it if there is none.
double Ceilings::cached(const std::string& key, const std::function<double()>& measured) {
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  const double figure = measured();
  // A figure that cannot be measured again keeps its previous value.
  return values_[key] = std::max(figure > 0 ? figure : previous_[key], raised_[key]);
}

double Ceilings::measure_arithmetic(const std::string& precision) {
  int64_t size = kSmallestProduct;
  double best = 0;
  const auto rate = [&](int64_t m, int64_t n, int64_t k, const char* transposes) {
    const double ns = measure_(product(m, n, k, transposes, precision));
    if (ns > 0) best = std::max(best, 2.0 * double(m) * double(n) * double(k) / ns * 1e9);
    return ns;
  };
  for (double ns; size < kLargestProduct; size *= 2) {
    ns = rate(size, size, size, "nn");
    if (ns == 0 || ns >= kLargeProductNs) break;
  }
  if (best == 0) {
    rate(size, size, size, "tn");  // the only layout of some precisions
    return best;
  }
  rate(size, size, size, "tn");
  rate(2 * size, size / 2, size, "nn");
  return best;
}

double Ceilings::read_rate(int64_t bytes) {
  const double ns = measure_("memory kind=read bytes=" + std::to_string(bytes / 64 * 64));
  return ns > 0 ? double(bytes / 64 * 64) / ns * 1e9 : 0;
}

double Ceilings::measure_bandwidth(const MemoryLevel& level) {
  if (level.bytes > 0) return read_rate(level.bytes / 2);
  const int64_t bytes = std::max(kDefaultBuffer / 2, 4 * last_level_bytes_);
  const double ns = measure_("memory kind=copy bytes=" + std::to_string(bytes));
  const double copy = ns > 0 ? 2 * double(bytes) / ns * 1e9 : 0;
  return std::max(copy, read_rate(bytes));
}

}  // namespace deepbench
