// Measuring the limits of a device.
#include "deepbench/run/ceilings/ceilings.hpp"

#include <algorithm>

#include "deepbench/core/operation.hpp"

namespace deepbench {
namespace {

// The size of products grows until one takes this long, so that the start and the end of the call
// are negligible.
constexpr double kLargeProductNs = 2e6;
constexpr int64_t kLargestProduct = 8192;
// A ceiling that is doubted is measured again, but not for every row that doubts it.
constexpr int kMaxMeasurements = 2;
constexpr int64_t kDefaultBuffer = int64_t{1} << 28;

std::string gemm_problem_text(int64_t m, int64_t n, int64_t k, const char* transposes,
                              const std::string& precision) {
  return "gemm m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k) +
         " trans_a=" + transposes[0] + " trans_b=" + transposes[1] + " precision=" + precision;
}

// The precision of the smallest call that is the latency ceiling of a row of this precision.
std::string precision_of_call(const std::string& precision) {
  return precision.empty() ? "float" : precision;
}

int64_t whole_words(double bytes) { return (int64_t(bytes) + 3) / 4 * 4; }

SerialStep step_of(const Work& work) {
  return {whole_words(work.step_bytes), int64_t(work.step_weights)};
}

}  // namespace

void Ceilings::Best::offer(double other, const MeasuredProblem& measured) {
  if (other > figure || !row) row = measured.row;
  figure = std::max(figure, other);
}

Ceilings::Ceilings(const Attributes& device, CeilingConditions conditions, MeasureProblem measure,
                   Report report, const GivenCeilings& given)
    : last_level_bytes_(device.integer("last_level_cache_bytes")),
      conditions_(std::move(conditions)),
      measure_(std::move(measure)),
      report_(std::move(report)) {
  for (const auto& [key, ceiling] : given) {
    const bool is_measured = ceiling.figure.has_value();
    entries_[key] = {ceiling.figure.value_or(0), ceiling.raised, is_measured ? 1 : 0, is_measured};
  }
  const auto add_level = [&](const char* name, int64_t bytes) {
    levels_.push_back({name, bytes, levels_.empty() ? 0 : levels_.back().bytes});
  };
  for (const char* name : {"l1", "l2", "l3"}) {
    const int64_t bytes = device.integer("cache." + std::string(name) + "_bytes");
    if (bytes > 0 && bytes < last_level_bytes_) add_level(name, bytes);
  }
  if (last_level_bytes_ > 0) add_level("llc", last_level_bytes_);
}

MemoryLevel Ceilings::level_of(double bytes, bool cold) const {
  if (cold || levels_.empty()) return {"memory"};
  for (const auto& level : levels_)
    if (bytes <= double(level.bytes)) return level;
  return {"memory", 0, levels_.back().bytes};
}

MemoryLevel Ceilings::inner_level(const MemoryLevel& level) const {
  return *std::find_if(levels_.begin(), levels_.end(),
                       [&](const MemoryLevel& other) { return other.bytes == level.inner_bytes; });
}

CeilingKey Ceilings::arithmetic_key(const std::string& precision) const {
  return {"arithmetic", precision, "", 0, 0, conditions_};
}

CeilingKey Ceilings::bandwidth_key(const MemoryLevel& level) const {
  return {"bandwidth", "", level.name, 0, 0, conditions_};
}

CeilingKey Ceilings::latency_key(const std::string& precision) const {
  return {"latency", precision, "", 0, 0, conditions_};
}

CeilingKey Ceilings::serial_key(const SerialStep& step) const {
  return {"serial", "", "", step.bytes, step.weights, conditions_};
}

bool Ceilings::is_current(const CeilingKey& key) const {
  const auto entry = entries_.find(key.text());
  return entry != entries_.end() && entry->second.is_current;
}

bool Ceilings::needs_measuring(const Problem& problem, const MemoryLevel& level,
                               const std::string& computed) const {
  const Work work = problem.operation().work(problem);
  const std::string precision = problem.text("precision");
  const std::string& of_arithmetic = computed.empty() ? precision : computed;
  if (work.flops > 0 && !is_current(arithmetic_key(of_arithmetic))) return true;
  if (work.steps > 0 && !is_current(serial_key(step_of(work)))) return true;
  return !is_current(bandwidth_key(level)) ||
         !is_current(latency_key(precision_of_call(precision)));
}

RowCeilings Ceilings::for_problem(const Problem& problem, const MemoryLevel& level,
                                  const std::string& computed) {
  const Work work = problem.operation().work(problem);
  const std::string precision = problem.text("precision");
  RowCeilings ceilings;
  ceilings.precision = computed.empty() ? precision : computed;
  ceilings.level = level;
  ceilings.bytes_per_s = bandwidth(ceilings.level);
  ceilings.bandwidth_key = bandwidth_key(ceilings.level).text();
  const std::string of_call = precision_of_call(precision);
  ceilings.latency_ns = latency_ns(of_call);
  ceilings.latency_key = latency_key(of_call).text();
  if (work.flops > 0) {
    ceilings.flops_per_s = arithmetic(ceilings.precision);
    ceilings.arithmetic_key = arithmetic_key(ceilings.precision).text();
  }
  if (work.steps > 0) {
    ceilings.step_ns = step_ns(step_of(work));
    ceilings.serial_key = serial_key(step_of(work)).text();
  }
  return ceilings;
}

double Ceilings::arithmetic(const std::string& precision) {
  return current_figure(arithmetic_key(precision), [&] { return measure_arithmetic(precision); });
}

double Ceilings::bandwidth(const MemoryLevel& level) {
  return current_figure(bandwidth_key(level), [&] { return measure_bandwidth(level); });
}

double Ceilings::latency_ns(const std::string& precision) {
  return current_figure(latency_key(precision), [&] {
    const MeasuredProblem smallest = measure_(gemm_problem_text(1, 1, 1, "nn", precision));
    return Best{smallest.median_ns, smallest.row};
  });
}

double Ceilings::step_ns(const SerialStep& step) {
  return current_figure(serial_key(step), [&] {
    const Problem problem =
        Problem::parse("memory kind=exchange bytes=" + std::to_string(step.bytes) +
                       " weights=" + std::to_string(step.weights));
    const MeasuredProblem measured = measure_(problem.str());
    return Best{measured.median_ns / problem.operation().work(problem).steps, measured.row};
  });
}

void Ceilings::raise_arithmetic(const std::string& precision, double flops_per_s, const Row& row) {
  raise(arithmetic_key(precision), flops_per_s, row);
}

void Ceilings::raise_bandwidth(const MemoryLevel& level, double bytes_per_s, const Row& row) {
  raise(bandwidth_key(level), bytes_per_s, row);
}

void Ceilings::raise(const CeilingKey& key, double figure, const Row& row) {
  Entry& entry = entries_[key.text()];
  if (figure <= std::max(entry.figure, entry.raised)) return;
  entry.raised = figure;
  if (report_) report_(key, row, true);
}

void Ceilings::doubt_arithmetic(const std::string& precision) { doubt(arithmetic_key(precision)); }

void Ceilings::doubt_bandwidth(const MemoryLevel& level) { doubt(bandwidth_key(level)); }

void Ceilings::doubt(const CeilingKey& key) {
  Entry& entry = entries_[key.text()];
  if (entry.measurements < kMaxMeasurements) entry.is_current = false;
}

// The figure of a ceiling; measures it if it is unknown or doubted.
double Ceilings::current_figure(const CeilingKey& key, const std::function<Best()>& measure) {
  Entry& entry = entries_[key.text()];
  if (entry.is_current) return entry.figure;
  const Best best = measure();
  entry.is_current = true;
  const bool is_first = entry.measurements++ == 0;
  if (!is_first && best.figure <= entry.figure) return entry.figure;
  entry.figure = best.figure;
  if (report_ && best.row) report_(key, *best.row, false);
  return entry.figure;
}

Ceilings::Best Ceilings::measure_arithmetic(const std::string& precision) {
  int64_t size = kSmallestCeilingProduct;
  Best best;
  const auto try_product = [&](int64_t m, int64_t n, int64_t k, const char* transposes) {
    const MeasuredProblem measured = measure_(gemm_problem_text(m, n, k, transposes, precision));
    const double ns = measured.median_ns;
    best.offer(ns > 0 ? 2.0 * double(m) * double(n) * double(k) / ns * 1e9 : 0, measured);
    return ns;
  };
  for (double ns; size < kLargestProduct; size *= 2) {
    ns = try_product(size, size, size, "nn");
    if (ns == 0 || ns >= kLargeProductNs) break;
  }
  if (best.figure == 0) {
    try_product(size, size, size, "tn");  // the only layout of some precisions
    return best;
  }
  try_product(size, size, size, "tn");
  try_product(2 * size, size / 2, size, "nn");
  return best;
}

void Ceilings::offer_read_bandwidth(int64_t bytes, Best& best) {
  const int64_t whole = bytes / 64 * 64;
  const MeasuredProblem read = measure_("memory kind=read bytes=" + std::to_string(whole));
  best.offer(read.median_ns > 0 ? double(whole) / read.median_ns * 1e9 : 0, read);
}

Ceilings::Best Ceilings::measure_bandwidth(const MemoryLevel& level) {
  Best best;
  if (level.bytes > 0) {
    offer_read_bandwidth(level.bytes / 2, best);
    return best;
  }
  const int64_t bytes = std::max(kDefaultBuffer / 2, 4 * last_level_bytes_);
  const MeasuredProblem copy = measure_("memory kind=copy bytes=" + std::to_string(bytes));
  best.offer(copy.median_ns > 0 ? 2 * double(bytes) / copy.median_ns * 1e9 : 0, copy);
  offer_read_bandwidth(bytes, best);
  return best;
}

}  // namespace deepbench
