// Examines the samples of a chain with the checks that rows have.
#include "deepbench/run/chain/chain_audit.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "deepbench/core/processor_wait.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/fill.h"
#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr uint64_t kRefills = 4;        // other operands may give the same outputs by chance
constexpr uint32_t kRefillStream = 23;  // random stream of the seeds of refills

// Makes batches of more chains than a backend is asked for at once.
BatchTimer in_parts(const BatchTimer& time, uint64_t most) {
  return [=](uint64_t count) {
    Batch all;
    double waited_ns = 0;
    while (all.count < count) {
      const Batch part = time(std::min(most, count - all.count));
      all.count += part.count;
      all.elapsed_ns += part.elapsed_ns;
      all.waited_ns = waited_ns += part.waited_ns.value_or(0);
    }
    return all;
  };
}

}  // namespace

ChainAudit::ChainAudit(TimedKernel& timed, std::deque<LinkedProblem>& problems, BatchTimer time,
                       std::function<void()> reset_outputs)
    : timed_(timed),
      problems_(problems),
      time_(std::move(time)),
      reset_outputs_(std::move(reset_outputs)) {}

std::string ChainAudit::doubt(const Samples& samples, const MeasureOptions& how,
                              const VerifiedChain& verified, uint64_t least_many,
                              bool is_device_shared) {
  std::string why = doubt_about_count(time_, samples, how, least_many);
  if (why.empty()) why = doubt_about_further_calls(time_, samples, how, threads());
  if (why.empty()) why = doubt_about_resets(samples, how, verified.call_ns);
  if (timed_.is_simulated()) return why;
  if (why.empty() && !is_device_shared && verified.reading_ns >= suspect_reading_ns(samples))
    why = doubt_about_readings(samples);
  if (why.empty()) why = doubt_about_clock(samples, how);
  return why;
}

std::string ChainAudit::doubt_about_resets(const Samples& samples, const MeasureOptions& how,
                                           double verified_ns) {
  const double call_ns = median(samples.per_call_ns);
  const double cost_ns = reset_cost_ns(bytes(), threads());
  std::string why;
  if ((verified_ns - call_ns) * double(samples.batch) > cost_ns) {
    const bool simulated = timed_.is_simulated();
    const BatchTimer single = idles_before_later_batches(time_, simulated);
    why = doubt_about_call_after_reset(
        idles_before_later_batches(time_, simulated),
        [&](uint64_t count) { return time_after_reset(single, count); }, cost_ns);
  }
  if (!why.empty() || verified_ns <= kMaxVerifiedSlowdown * call_ns) return why;
  const BatchTimer parts = in_parts(time_, uint64_t(how.max_batch));
  return doubt_about_reset(parts, [&](uint64_t count) { return time_after_reset(parts, count); },
                           samples, {});
}

std::string ChainAudit::doubt_about_clock(const Samples& samples, const MeasureOptions& how) {
  std::string why;
  if (is_clock_slow(samples)) why = doubt_about_slow_clock(time_, samples, how).why;
  if (why.empty() && is_clock_fast(samples, how))
    why = doubt_about_fast_clock(time_, samples, how).why;
  return why;
}

// Reads the poison twice, since the device may still be writing it during the first reading.
std::string ChainAudit::doubt_about_readings(const Samples& samples) {
  const auto read = [&] {
    reset_outputs_();
    time_reading();
    ReadingTimes times;
    times.poisoned_ns = time_reading();
    time_(1);
    times.computed_ns = time_reading();
    return times;
  };
  return doubt_about_reading(read, samples);
}

uint64_t ChainAudit::verify_other_operands(uint64_t seed) {
  reset_outputs_();
  time_(1);
  std::vector<std::pair<LinkedProblem*, std::vector<double>>> unchanged;
  for (LinkedProblem& problem : problems_)
    if (problem.verifies()) unchanged.emplace_back(&problem, problem.read_some());
  const auto drop = [&](const auto& done) {
    const auto rest = std::remove_if(unchanged.begin(), unchanged.end(), done);
    const auto dropped = uint64_t(unchanged.end() - rest);
    unchanged.erase(rest, unchanged.end());
    return dropped;
  };
  uint64_t following = 0;
  for (uint64_t i = 0; i < kRefills && !unchanged.empty(); ++i) {
    const uint64_t other = deepbench_bits(seed, kRefillStream, i);
    drop([&](const auto& one) { return !one.first->refill(other); });
    reset_outputs_();
    time_(1);
    following += drop([](const auto& one) { return one.first->read_some() != one.second; });
  }
  for (const auto& one : unchanged)
    one.first->fail(
        "with other operands: the outputs are the same: they do not come from the calls that are "
        "timed");
  return following;
}

double ChainAudit::time_reading() {
  ProcessorWait wait;
  Stopwatch watch;
  for (LinkedProblem& problem : problems_)
    if (problem.verifies()) problem.read_briefly();
  const double took_ns = watch.lap_ns();
  return std::max(0.0, took_ns - wait.lap_ns().value_or(0));
}

Batch ChainAudit::time_after_reset(const BatchTimer& time, uint64_t count) {
  reset_outputs_();
  const Batch made = time(count);
  read_one();
  return made;
}

// Ends any special treatment of verified calls by the backend.
void ChainAudit::read_one() {
  for (LinkedProblem& problem : problems_)
    if (problem.verifies()) problem.read_some();
}

int64_t ChainAudit::threads() const {
  int64_t most = 1;
  for (const LinkedProblem& problem : problems_)
    most = std::max(most, timed_.working_threads(problem.kernel().facts()));
  return most;
}

double ChainAudit::bytes() const {
  double all = 0;
  for (const LinkedProblem& problem : problems_) all += problem.bytes_of_calls();
  return all;
}

}  // namespace deepbench
