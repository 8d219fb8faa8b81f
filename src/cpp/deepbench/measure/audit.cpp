// Interleaved batches, and the verdict on them.
#include "deepbench/measure/audit.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr size_t kRounds = 9;       // without an exception cast doubt
constexpr int kClockRounds = 15;    // the same, of the clock
constexpr int kMinClockRounds = 9;  // in fewer, every batch of one size may have been delayed
// Twice the calls take at least so many times as long.
constexpr double kMinGrowth = 1.5;
// So many calls are not shorter because of a disturbance, and their launch is negligible.
constexpr uint64_t kManyCalls = 1 << 16;
// Calls that make the first one, whose operands are not in the caches, negligible.
constexpr uint64_t kCoolingCalls = 8;
// Batches of a doubted kernel grow to this length, so that no short disturbance explains them, such
// as threads that poisoned the outputs and keep the processors busy for some milliseconds.
constexpr double kSettlingNs = 50e6;
// The host's time over the device's. Graphs and streams of an H200 have 1.0 to 1.4.
constexpr double kMaxHostTime = 1.6;

double smallest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}
double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g us", ns / 1e3);
  return text;
}

// The least host time of a batch that the backend's clock does not show. The first of two batches
// may prepare what later ones of its size use again.
double unseen_ns(const BatchTimer& plain, uint64_t count) {
  plain(count);
  const Batch batch = plain(count);
  return batch.watched_ns - batch.elapsed_ns;
}

}  // namespace

std::string doubt_about_count(const BatchTimer& plain, const Samples& samples,
                              const MeasureOptions& options) {
  if (samples.batch < 2) return "";
  const auto most = static_cast<uint64_t>(options.max_batch);
  uint64_t whole = std::min(samples.batch, most);
  std::vector<double> half_ns, whole_ns;
  while (whole_ns.size() < kRounds) {
    const double half = plain(whole / 2).elapsed_ns;
    const double all = plain(whole).elapsed_ns;
    if (all >= kMinGrowth * half) return "";
    if (all >= kSettlingNs || whole >= kManyCalls) {
      half_ns.push_back(half);
      whole_ns.push_back(all);
    } else if (whole == most) {
      return "";
    } else {
      half_ns.clear();
      whole_ns.clear();
      whole = std::min(4 * whole, most);
    }
  }
  if (largest(whole_ns) >= kMinGrowth * smallest(half_ns)) return "";
  return std::to_string(whole) + " calls take " + microseconds(smallest(whole_ns)) + " and " +
         std::to_string(whole / 2) + " calls " + microseconds(smallest(half_ns)) +
         ": not every call is made";
}

std::string doubt_about_reset(const BatchTimer& plain, const BatchTimer& after_reset,
                              const Samples& samples, const MeasureOptions& options) {
  const auto most = static_cast<uint64_t>(options.max_batch);
  uint64_t count = std::min(kCoolingCalls * samples.batch, most);
  std::vector<double> plain_ns, verified_ns;
  while (plain_ns.size() < kRounds) {
    const Batch usual = plain(count);
    const double verified = after_reset(count).per_call_ns();
    if (verified <= kMaxVerifiedSlowdown * usual.per_call_ns()) return "";
    if (count >= kCoolingCalls && usual.elapsed_ns >= kSettlingNs) {
      plain_ns.push_back(usual.per_call_ns());
      verified_ns.push_back(verified);
    } else if (count == most) {
      return "";
    } else {
      count = std::min(4 * count, most);
    }
  }
  if (smallest(verified_ns) <= kMaxVerifiedSlowdown * largest(plain_ns)) return "";
  return "a call takes " + microseconds(smallest(verified_ns)) +
         " after its outputs were poisoned and " + microseconds(largest(plain_ns)) +
         " otherwise: the calls that are timed do less than those that are verified";
}

bool is_clock_suspect(const Samples& samples) {
  return samples.watched_ns > kMaxHostTime * samples.elapsed_ns;
}

std::string doubt_about_clock(const BatchTimer& plain, const Samples& samples,
                              const MeasureOptions& options) {
  if (samples.launch == "isolated" || options.max_batch < 2) return "";
  const uint64_t whole = std::max<uint64_t>(2, samples.batch), half = whole / 2;
  const double shown_ns = median(samples.per_call_ns) * double(whole - half);
  std::vector<double> of_half_ns, of_whole_ns;
  double more_ns = 0;
  for (int round = 1; round <= kClockRounds; ++round) {
    of_half_ns.push_back(unseen_ns(plain, half));
    of_whole_ns.push_back(unseen_ns(plain, whole));
    more_ns = smallest(of_whole_ns) - smallest(of_half_ns);
    if (round >= kMinClockRounds && more_ns <= (kMaxHostTime - 1) * shown_ns) return "";
  }
  return std::to_string(whole - half) + " calls take " + microseconds(shown_ns) +
         " by the backend's clock and " + microseconds(shown_ns + more_ns) +
         " by the host's: the clock is wrong, or not all calls are timed";
}

}  // namespace deepbench
