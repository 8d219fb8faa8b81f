// Several ranks: four threads with clocks of their own take the same decisions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "../fake.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/measure.hpp"

namespace deepbench {
namespace {

using testing::scripted_clock;

constexpr int kRanks = 4;

// What several ranks agree on: the slowest one's times, the slowest clock, anyone's trouble.
Batch slowest(const std::array<Batch, kRanks>& all) {
  Batch agreed = all[0];
  for (const Batch& one : all) {
    agreed.elapsed_ns = std::max(agreed.elapsed_ns, one.elapsed_ns);
    agreed.host_ns = std::max(agreed.host_ns, one.host_ns);
    agreed.clock_mhz = std::min(agreed.clock_mhz, one.clock_mhz);
    agreed.throttled = agreed.throttled || one.throttled;
    agreed.failed = agreed.failed || one.failed;
  }
  return agreed;
}

// Gathers a batch from every rank and gives all of them the same answer.
class Exchange {
 public:
  Batch combine(int rank, const Batch& mine) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int round = round_;
    batches_[size_t(rank)] = mine;
    if (++arrived_ == kRanks) {
      answer_ = slowest(batches_);
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
    } else {
      all_here_.wait(lock, [&] { return round_ != round; });
    }
    return answer_;
  }
  int rounds() const { return round_; }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::array<Batch, kRanks> batches_;
  Batch answer_;
  int arrived_ = 0, round_ = 0;
};

struct Outcome {
  std::array<Samples, kRanks> samples;
  std::array<std::string, kRanks> failures;
  int rounds = 0;
};

Outcome run(const std::array<std::string, kRanks>& scripts, const MeasureOptions& options = {}) {
  std::array<TimeBatch, kRanks> clocks;
  for (size_t rank = 0; rank < kRanks; ++rank) clocks[rank] = scripted_clock(scripts[rank]);
  Exchange exchange;
  Outcome outcome;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        outcome.samples[size_t(rank)] =
            measure(clocks[size_t(rank)], options,
                    [&](const Batch& mine) { return exchange.combine(rank, mine); });
      } catch (const RowFailure& failure) {
        outcome.failures[size_t(rank)] = failure.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  outcome.rounds = exchange.rounds();
  return outcome;
}

TEST_CASE("four ranks end with the same samples: the slowest rank's of every batch") {
  // Rank 1 and rank 2 take turns at being slow; rank 3 is quick, with 1 us of host time a batch.
  const Outcome outcome =
      run({"time 50000 900 hold", "time 900 1000", "time 1000 900", "time 700; host 1000"});
  for (const Samples& samples : outcome.samples) {
    CHECK(samples.first_call_ns == 50000);
    CHECK(samples.batch == 200);
    CHECK(samples.per_call_ns == std::vector<double>(100, 1000));
    CHECK(samples.stop == Stop::kConverged);
    CHECK(samples.spent_ns == 50000 + 1700 + 120 * 200e3);
    CHECK(samples.error == 1.0 / (1000 * 200));
    CHECK(samples.host_per_call_ns == 1000);
  }
}

TEST_CASE("ranks with noise of their own agree on every decision") {
  const Outcome outcome =
      run({"time 2e6; noise 1 0.1", "time 2e6; noise 2 0.1; mhz 1500*60 1000*3 1500 hold",
           "time 1.9e6; noise 3 0.2", "time 2e6; noise 4 0.1; flags 0*70 1 0 hold"});
  const Samples& first = outcome.samples[0];
  CHECK(first.per_call_ns.size() > 10);
  CHECK(first.retries == 1);  // rank 3's flag; a clock that one rank alone knows judges nothing
  for (const Samples& samples : outcome.samples) {
    CHECK(samples.per_call_ns == first.per_call_ns);
    CHECK(samples.stop == first.stop);
    CHECK(samples.batch == first.batch);
    CHECK(samples.error == first.error);
    CHECK(samples.retries == first.retries);
  }
}

TEST_CASE("a rank that is throttled makes all of them repeat") {
  const Outcome outcome =
      run({"time 2e6; mhz 1500", "time 2e6; mhz 1500", "time 2e6; mhz 1500; flags 0*25 1*2 0 hold",
           "time 2e6; mhz 1500*30 1000 1500 hold"});
  for (const Samples& samples : outcome.samples) {
    CHECK(samples.retries == 3);
    CHECK(samples.throttled == 0);
    CHECK(samples.per_call_ns == std::vector<double>(10, 2e6));
  }
  CHECK(outcome.rounds == 2 + 20 + 10 + 3);
}

TEST_CASE("a failure on one rank ends all of them, each with its own reason") {
  for (int batch : {0, 1, 10, 25}) {
    const std::string failing =
        "time 2e6; from " + std::to_string(batch) + " fail time_batch failed the cable is out";
    const Outcome outcome = run({"time 2e6", "time 2e6", failing, "time 2e6"});
    CHECK(outcome.failures[0] == "another rank failed");
    CHECK(outcome.failures[1] == "another rank failed");
    CHECK(outcome.failures[2] == "time_batch: the cable is out");
    CHECK(outcome.failures[3] == "another rank failed");
    CHECK(outcome.rounds == batch + 1);
  }
}

}  // namespace
}  // namespace deepbench
