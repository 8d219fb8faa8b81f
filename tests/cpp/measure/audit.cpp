// The audit of times: what lies is doubted, what is honest is believed, however noisy the machine.
#include "deepbench/measure/audit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr double kCallNs = 1000, kOverheadNs = 3000;

Samples samples_of(uint64_t batch, double per_call_ns = kCallNs) {
  Samples samples;
  samples.batch = batch;
  samples.per_call_ns = std::vector<double>(10, per_call_ns);
  samples.elapsed_ns = 10 * per_call_ns * double(batch);
  samples.own_elapsed_ns = samples.watched_ns = samples.elapsed_ns;
  return samples;
}

Batch batch_of(uint64_t count, double elapsed_ns, double watched_ns) {
  Batch batch;
  batch.count = count;
  batch.elapsed_ns = batch.own_elapsed_ns = elapsed_ns;
  batch.watched_ns = watched_ns;
  return batch;
}

// Calls that take kCallNs by the device's clock and `host` times as long by the host's.
BatchTimer steady(double host = 1) {
  return [=](uint64_t count) {
    const double ns = kCallNs * double(count);
    return batch_of(count, kOverheadNs + ns, kOverheadNs + host * ns + 20e3);
  };
}

// An honest kernel on a machine whose other work makes nearly all batches longer, by up to 50
// times, and launching them by up to 10 times.
BatchTimer disturbed(uint64_t seed) {
  return [seed, number = uint64_t{0}](uint64_t count) mutable {
    const auto chance = [&](uint32_t stream) {
      return std::abs(double(deepbench_uniform(seed, stream, number)));
    };
    const double ns = (kOverheadNs + kCallNs * double(count)) * std::pow(50, chance(0));
    const double launch_ns = 20e3 * std::pow(10, chance(1));
    ++number;
    return batch_of(count, ns, ns + launch_ns);
  };
}

TEST_CASE("half of the calls take half of the time, or the count is doubted") {
  CHECK(doubt_about_count(steady(), samples_of(200), {}).empty());
  CHECK(doubt_about_count(steady(), samples_of(3, 80e3), {}).empty());
  const BatchTimer once = [](uint64_t count) { return batch_of(count, 2000, 2000); };
  CHECK(doubt_about_count(once, samples_of(1 << 20, 2000.0 / (1 << 20)), {}) ==
        "1048576 calls take 2 us and 524288 calls 2 us: not every call is made");
  // A batch of the warm-up serves instead of half, if it is near.
  Samples warmed = samples_of(1 << 16, 2000.0 / (1 << 16));
  warmed.short_batch = 40000;
  CHECK(doubt_about_count(once, warmed, {}) ==
        "65536 calls take 2 us and 40000 calls 2 us: not every call is made");
  CHECK(doubt_about_count(steady(), warmed, {}).empty());
  warmed.short_batch = 10000;
  CHECK(doubt_about_count(once, warmed, {}) ==
        "65536 calls take 2 us and 32768 calls 2 us: not every call is made");
  // One call has no half.
  CHECK(doubt_about_count(once, samples_of(1, 2000), {}).empty());
  // In a short batch the launch may take most of the time, and so may a disturbance of half
  // batches.
  const BatchTimer launch = [](uint64_t count) {
    return batch_of(count, kOverheadNs + double(count), 0);
  };
  CHECK(doubt_about_count(launch, samples_of(2, 1500), {}).empty());
  const BatchTimer resonant = [odd = false](uint64_t count) mutable {
    odd = !odd;
    return batch_of(count, kCallNs * double(count) + (odd ? 4e6 : 0), 0);
  };
  CHECK(doubt_about_count(resonant, samples_of(200), {}).empty());
  MeasureOptions in_place;
  in_place.max_batch = 150;
  CHECK(doubt_about_count(once, samples_of(150, 2000.0 / 150), in_place).empty());
}

// The first call of a batch takes `first_ns` and each further one `further_ns`.
BatchTimer beginning(double first_ns, double further_ns) {
  return
      [=](uint64_t count) { return batch_of(count, first_ns + further_ns * double(count - 1), 0); };
}

TEST_CASE(
    "a further call takes most of the time of a single one, or the further ones are doubted") {
  const auto doubt = [](double first_ns, double further_ns, int64_t threads) {
    return doubt_about_further_calls(beginning(first_ns, further_ns), samples_of(20, further_ns),
                                     {}, threads);
  };
  CHECK(doubt(80e3, 10e3, 1) ==
        "a call takes 80 us in a batch of its own and 10 us as a further one of 20: not every call "
        "does the work");
  CHECK(doubt(200e3, 130e3, 1).empty());  // less than 1.6 times as long
  CHECK(doubt(200e3, 110e3, 1) != "");
  CHECK(doubt(60e3, 10e3, 1).empty());    // a device begins
  CHECK(doubt(300e3, 10e3, 64).empty());  // threads wake
  CHECK(doubt(400e3, 10e3, 64) != "");
  // The samples are single calls.
  CHECK(doubt_about_further_calls(beginning(80e3, 10e3), samples_of(1, 80e3), {}, 1).empty());
  // One round that fits ends the doubt.
  const BatchTimer once = [number = 0](uint64_t count) mutable {
    const double first = ++number == 54 ? 10e3 : 80e3;
    return batch_of(count, first + 10e3 * double(count - 1), 0);
  };
  CHECK(doubt_about_further_calls(once, samples_of(20, 10e3), {}, 1).empty());
}

TEST_CASE("verified calls take as long as the others, or the others are doubted") {
  const BatchTimer slow = [](uint64_t count) { return batch_of(count, 5e3 * double(count), 0); };
  CHECK(doubt_about_reset(steady(), steady(), samples_of(200), {}).empty());
  CHECK(doubt_about_reset(steady(), slow, samples_of(200), {}) ==
        "a call takes 5 us after its outputs were poisoned and 1 us otherwise: the calls that "
        "are timed do less than those that are verified");
  // The first call of a batch, whose operands are in no cache, is seven times as long.
  const BatchTimer cooled = [](uint64_t count) {
    return batch_of(count, kCallNs * double(count + 6), 0);
  };
  CHECK(doubt_about_reset(steady(), cooled, samples_of(1), {}).empty());
  // Threads that poisoned the outputs keep the processors busy for 8 ms.
  const BatchTimer delayed = [](uint64_t count) {
    return batch_of(count, kCallNs * double(count) + 8e6, 0);
  };
  CHECK(doubt_about_reset(steady(), delayed, samples_of(200), {}).empty());
  // A batch of fewer calls cannot tell.
  MeasureOptions flushed;
  flushed.max_batch = 1;
  CHECK(doubt_about_reset(steady(), slow, samples_of(1), flushed).empty());
}

// Batches that other work makes longer, of which `known_ns` are counted as a wait.
BatchTimer waiting(BatchTimer plain, double wait_ns, double known_ns) {
  return [=](uint64_t count) {
    Batch batch = plain(count);
    batch.elapsed_ns += wait_ns;
    batch.waited_ns = known_ns;
    return batch;
  };
}

TEST_CASE("time for which other work is known to have had the processor casts no doubt") {
  // Other work has the processor whenever a batch is short, or its outputs were poisoned.
  const auto of_count = [](double known_ns) {
    const BatchTimer short_ones = [=](uint64_t count) {
      return count == 1 << 16 ? steady()(count) : waiting(steady(), 60e6, known_ns)(count);
    };
    return doubt_about_count(short_ones, samples_of(1 << 16), {});
  };
  CHECK(of_count(0) != "");
  CHECK(of_count(60e6).empty());
  const auto of_first = [](double known_ns) {
    const BatchTimer first = [=](uint64_t count) {
      return count > 1 ? steady()(count) : waiting(steady(), 80e3, known_ns)(count);
    };
    return doubt_about_further_calls(first, samples_of(20), {}, 1);
  };
  CHECK(of_first(0) != "");
  CHECK(of_first(80e3).empty());
  const auto of_reset = [](double known_ns) {
    return doubt_about_reset(steady(), waiting(steady(), 1e9, known_ns), samples_of(200), {});
  };
  CHECK(of_reset(0) != "");
  CHECK(of_reset(1e9).empty());
}

TEST_CASE("a clock that shows a part of the host's time is doubted; a fixed cost is not") {
  Samples samples = samples_of(200);
  CHECK_FALSE(is_clock_slow(samples));
  samples.watched_ns = 2 * samples.elapsed_ns;
  CHECK(is_clock_slow(samples));
  CHECK(doubt_about_slow_clock(steady(), samples, {}).why.empty());
  const ClockDoubt half = doubt_about_slow_clock(steady(2), samples, {});
  CHECK(half.why ==
        "100 calls take 100 us by the backend's clock and 200 us by the host's: the clock is "
        "wrong, or not all calls are timed");
  CHECK_FALSE(half.is_far);
  const BatchTimer decaying = [ns = 1e6](uint64_t count) mutable {
    ns *= 0.9;
    return batch_of(count, ns, 1e9 * double(count));
  };
  CHECK(doubt_about_slow_clock(decaying, samples, {}).is_far);
}

TEST_CASE("a clock is far off where it shows a quarter of the host's time, and that is no launch") {
  Samples samples = samples_of(200);
  samples.watched_ns = 10 * samples.elapsed_ns;
  CHECK_FALSE(doubt_about_slow_clock(steady(3.9), samples, {}).is_far);
  CHECK(doubt_about_slow_clock(steady(4.1), samples, {}).is_far);
  // A batch of 10 us is too short to tell.
  Samples few = samples_of(20);
  few.watched_ns = 10 * few.elapsed_ns;
  const ClockDoubt unclear = doubt_about_slow_clock(steady(10), few, {});
  CHECK(unclear.why != "");
  CHECK_FALSE(unclear.is_far);
}

TEST_CASE("a clock that lies only in batches of the size of the samples is doubted") {
  for (const int64_t rotation : {1, 2, 7, 35, 50, 70, 100, 139, 140, 141, 200}) {
    CAPTURE(rotation);
    MeasureOptions options;
    options.rotation = rotation;
    Samples samples = samples_of(140);
    samples.watched_ns = 2 * samples.elapsed_ns;
    const BatchTimer lying = [&](uint64_t count) {
      return count == 140
                 ? steady(2)(count)
                 : batch_of(count, 2 * kCallNs * double(count), 2 * kCallNs * double(count));
    };
    CHECK(doubt_about_slow_clock(lying, samples, options).why != "");
  }
}

// Ranks that wait for each other and for a processor may begin a batch some milliseconds late.
TEST_CASE("a clock is not far off because batches begin late on a busy machine") {
  Samples samples = samples_of(200);
  samples.watched_ns = 100 * samples.elapsed_ns;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    uint64_t number = 0;
    const BatchTimer late = [&](uint64_t count) {
      const double ns = kCallNs * double(count);
      return batch_of(count, ns, ns + 20e6 * std::abs(deepbench_uniform(seed, 1, number++)));
    };
    CHECK_FALSE(doubt_about_slow_clock(late, samples, {}).is_far);
  }
}

// Recording a call in a graph takes longer than the call, and a graph has the copies of its calls.
TEST_CASE("a clock is not slow because batches that begin at other copies are recorded again") {
  Samples samples = samples_of(200);
  samples.watched_ns = 30 * samples.elapsed_ns;
  const auto doubt = [&](int64_t rotation, int64_t max_batch) {
    MeasureOptions options;
    options.rotation = rotation;
    options.max_batch = max_batch;
    const BatchTimer recording =
        [&, next = uint64_t{0},
         known = std::set<std::pair<uint64_t, uint64_t>>()](uint64_t count) mutable {
          const bool is_new = known.emplace(next, count).second;
          next = (next + count) % uint64_t(rotation);
          const double ns = kCallNs * double(count);
          return batch_of(count, ns, is_new ? 30 * ns : ns);
        };
    return doubt_about_slow_clock(recording, samples, options).why;
  };
  for (const int64_t rotation : {1, 3, 64, 200, 499, 562, 1024}) {
    CAPTURE(rotation);
    CHECK(doubt(rotation, 1 << 20).empty());
  }
  CHECK(doubt(1021, 500) != "");      // no batch completes a rotation
  CHECK(doubt(1667, 1 << 20) != "");  // a rotation takes longer than 50 ms
}

TEST_CASE("a clock that is right only when it is looked at does not speak for the samples") {
  Samples samples = samples_of(200);
  samples.watched_ns = 100 * samples.elapsed_ns;
  const BatchTimer cured = [](uint64_t count) {
    const double ns = 100 * kCallNs * double(count);
    return batch_of(count, ns, ns);
  };
  CHECK(doubt_about_slow_clock(cured, samples, {}).is_far);
  Samples unwatched = samples;
  unwatched.watched_ns = 0;
  CHECK_FALSE(doubt_about_slow_clock(cured, unwatched, {}).is_far);
  CHECK(doubt_about_slow_clock(steady(100), unwatched, {}).is_far);
  // Right in batches of other sizes than that of the samples.
  const BatchTimer elsewhere = [](uint64_t count) {
    const double ns = 100 * kCallNs * double(count);
    return batch_of(count, count == 200 ? ns / 100 : ns, ns);
  };
  CHECK(doubt_about_slow_clock(elsewhere, samples, {}).is_far);
  // Right in one batch of three.
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const BatchTimer mostly = [seed, number = uint64_t{0}](uint64_t count) mutable {
      const double ns = 100 * kCallNs * double(count);
      return batch_of(count, deepbench_bits(seed, 0, number++) % 3 ? ns / 100 : ns, ns);
    };
    CHECK(doubt_about_slow_clock(mostly, samples, {}).is_far);
  }
}

TEST_CASE("a clock that lies for most batches is looked at, whatever all of them add up to") {
  Samples samples = samples_of(200);
  samples.typical_own_ns = 2e3;
  samples.typical_watched_ns = 200e3;
  CHECK(is_clock_slow(samples));
  CHECK_FALSE(is_clock_fast(samples, {}));
  samples.typical_own_ns = 400e3;
  CHECK_FALSE(is_clock_slow(samples));
  CHECK(is_clock_fast(samples, {}));
}

TEST_CASE("the first call after poisoning takes as long as others and as operands take to read") {
  const double cost_ns = reset_cost_ns(4e6, 8);
  CHECK(cost_ns == 50e3 + 8 * 5e3 + 2e6);
  const auto calls_of = [](double ns) -> BatchTimer {
    return [=](uint64_t count) { return batch_of(count, ns * double(count), 0); };
  };
  const auto doubt = [&](double reset_ns, double plain_ns) {
    return doubt_about_call_after_reset(calls_of(plain_ns), calls_of(reset_ns), cost_ns);
  };
  CHECK(doubt(3e6, 1000) ==
        "a single call takes 3000 us after its outputs were poisoned and 1 us otherwise: the calls "
        "that are timed do less than those that are verified");
  CHECK(doubt(2e6, 1000).empty());
  CHECK(doubt(19e6, 10e6).empty());  // twice at most
  CHECK(doubt(21e6, 10e6) != "");
  // One round that fits ends the doubt.
  const BatchTimer once = [number = 0](uint64_t count) mutable {
    return batch_of(count, ++number == 9 ? 1e6 : 3e6, 0);
  };
  CHECK(doubt_about_call_after_reset(calls_of(1000), once, cost_ns).empty());
}

// Ten batches of `calls` that take `shown_ns` by the backend's clock and `watched_ns` by the
// host's.
ClockDoubt doubt_about_launches(uint64_t calls, double shown_ns, double watched_ns,
                                const std::string& launch = "stream") {
  Samples samples = samples_of(calls, shown_ns / double(calls));
  samples.watched_ns = 10 * watched_ns;
  samples.launch = launch;
  MeasureOptions single;
  single.max_batch = int64_t(calls);
  return doubt_about_slow_clock(
      [=](uint64_t count) { return batch_of(count, shown_ns, watched_ns); }, samples, single);
}

TEST_CASE("single calls are doubted where the host's time is too long for a launch") {
  const ClockDoubt tenth = doubt_about_launches(1, 1e6, 10e6);
  CHECK(tenth.is_far);
  CHECK(tenth.why ==
        "1 call takes 1000 us by the backend's clock and 1e+04 us by the host's: the clock is "
        "wrong, or not all calls are timed");
  CHECK(doubt_about_launches(1, 1e6, 4.9e6).why.empty());    // less than four times and 1 ms
  CHECK(doubt_about_launches(1, 10e3, 1.03e6).why.empty());  // a long launch of a short call
  CHECK(doubt_about_launches(1, 10e3, 1.05e6).is_far);
  // Each isolated call is launched.
  CHECK(doubt_about_launches(20, 20 * 10e3, 20 * 1.03e6, "isolated").why.empty());
  CHECK(doubt_about_launches(20, 20 * 10e3, 20 * 1.05e6, "isolated").is_far);
}

TEST_CASE("a clock of single calls is believed after one round that fits, or if the samples do") {
  Samples samples = samples_of(1, 1e6);
  samples.watched_ns = 10 * 10e6;
  MeasureOptions single;
  single.max_batch = 1;
  const BatchTimer late = [number = 0](uint64_t count) mutable {
    return batch_of(count, 1e6, ++number == 9 ? 1.1e6 : 10e6);
  };
  CHECK(doubt_about_slow_clock(late, samples, single).why.empty());
  // Other work began after the samples.
  samples.watched_ns = 10 * 1.1e6;
  const BatchTimer delayed = [](uint64_t count) { return batch_of(count, 1e6, 10e6); };
  CHECK(doubt_about_slow_clock(delayed, samples, single).why.empty());
  // The clock is right again when it is looked at.
  samples.watched_ns = 10 * 10e6;
  const BatchTimer cured = [](uint64_t count) { return batch_of(count, 10e6, 10e6); };
  CHECK(doubt_about_slow_clock(cured, samples, single).is_far);
}

TEST_CASE("a clock that shows more time than the host saw is doubted; its resolution is not") {
  const MeasureOptions options;
  Samples samples = samples_of(200);
  CHECK_FALSE(is_clock_fast(samples, options));
  samples.watched_ns = 0;  // unknown
  CHECK_FALSE(is_clock_fast(samples, options));
  samples.watched_ns = samples.elapsed_ns / 2;
  CHECK(is_clock_fast(samples, options));
  const auto fast = [](double times) -> BatchTimer {
    return [=](uint64_t count) {
      return batch_of(count, 1000 * double(count), 1000 / times * double(count));
    };
  };
  const ClockDoubt twice = doubt_about_fast_clock(fast(2), samples, options);
  CHECK(twice.why ==
        "200 calls take 200 us by the backend's clock, and the host saw only 100 us pass: the "
        "clock is wrong");
  CHECK_FALSE(twice.is_far);
  CHECK_FALSE(doubt_about_fast_clock(fast(3.9), samples, options).is_far);
  CHECK(doubt_about_fast_clock(fast(4.1), samples, options).is_far);
  CHECK(doubt_about_fast_clock(steady(), samples, options).why.empty());
  // One batch whose time fits ends the doubt.
  const BatchTimer once = [number = 0](uint64_t count) mutable {
    return batch_of(count, 200e3, ++number == 7 ? 200e3 : 100e3);
  };
  CHECK(doubt_about_fast_clock(once, samples, options).why.empty());
  // A batch of 300 ns by a clock that counts in microseconds.
  MeasureOptions coarse;
  coarse.timer_resolution_ns = 1000;
  Samples ticks = samples_of(1, 1000);
  ticks.watched_ns = 10 * 300;
  CHECK_FALSE(is_clock_fast(ticks, coarse));
  CHECK(doubt_about_fast_clock([](uint64_t count) { return batch_of(count, 1000, 300); }, ticks,
                               coarse)
            .why.empty());
}

// Times of readings, one after the other.
std::function<ReadingTimes()> readings(std::vector<ReadingTimes> all) {
  return [all, number = size_t{0}]() mutable { return all[number++ % all.size()]; };
}

TEST_CASE("reading results takes as long as reading poison, or they are doubted") {
  const Samples samples = samples_of(200, 300e3);
  CHECK(suspect_reading_ns(samples) == 300e3);
  CHECK(suspect_reading_ns(samples_of(200)) == 200e3);
  CHECK(doubt_about_reading(readings({{5e3, 405e3}}), samples) ==
        "reading results takes 405 us after a call of 300 us and 5 us before it: they are computed "
        "when they are read");
  CHECK(doubt_about_reading(readings({{5e3, 295e3}}), samples).empty());  // less than a call
  CHECK(
      doubt_about_reading(readings({{800e3, 1500e3}}), samples).empty());  // caches, twice at most
  CHECK(doubt_about_reading(readings({{5e3, 205e3}}), samples_of(200)) != "");
  CHECK(doubt_about_reading(readings({{5e3, 195e3}}), samples_of(200)).empty());
  // One round that fits ends the doubt, whichever of its readings was disturbed.
  std::vector<ReadingTimes> rounds(8, {5e3, 405e3});
  rounds.push_back({5e3, 6e3});
  CHECK(doubt_about_reading(readings(rounds), samples).empty());
  rounds.back() = {300e3, 405e3};
  CHECK(doubt_about_reading(readings(rounds), samples).empty());
}

TEST_CASE("ranks audit a clock with the same numbers of calls, although their clocks differ") {
  MeasureOptions options;
  options.rotation = 126;
  const auto counts = [&](double per_call_ns, bool other_is_long) {
    bool is_first = true;
    const AnyRank any = [&](bool mine) {
      return (std::exchange(is_first, false) && other_is_long) || mine;
    };
    std::set<uint64_t> counts;
    const BatchTimer plain = [&](uint64_t count) {
      counts.insert(count);
      return steady()(count);
    };
    doubt_about_slow_clock(plain, samples_of(20, per_call_ns), options, any);
    return counts;
  };
  CHECK(counts(300e3, false) == std::set<uint64_t>{10, 116, 20, 106});
  CHECK(counts(400e3, false) == std::set<uint64_t>{10, 20});
  CHECK(counts(300e3, true) == counts(400e3, false));
}

TEST_CASE("a rank that has no doubt makes as many rounds as one that has") {
  int rounds = 0;
  const AnyRank another = [](bool) { return true; };
  const auto fitting = [&] {
    ++rounds;
    return ReadingTimes{5e3, 6e3};
  };
  CHECK(doubt_about_reading(fitting, samples_of(200), another).empty());
  CHECK(rounds == 9);
  rounds = 0;
  const BatchTimer plain = [&](uint64_t count) {
    ++rounds;
    return steady()(count);
  };
  CHECK(doubt_about_fast_clock(plain, samples_of(200), {}, another).why.empty());
  CHECK(rounds == 9);
  rounds = 0;
  CHECK(doubt_about_slow_clock(plain, samples_of(200), {}, another).why.empty());
  // Twice a batch that is long enough for the other rank, its half, and nine of both.
  CHECK(rounds == 4 * 15 + 2 + 1 + 2 * 9);
  rounds = 0;
  MeasureOptions single;
  single.max_batch = 1;
  CHECK(doubt_about_slow_clock(plain, samples_of(1), single, another).why.empty());
  CHECK(rounds == 9);
}

// Readings of 20 us, which other work makes up to 200 times longer.
std::function<ReadingTimes()> disturbed_readings(uint64_t seed) {
  return [seed, number = uint64_t{0}]() mutable {
    const auto chance = [&](uint32_t stream) {
      return std::abs(double(deepbench_uniform(seed, stream, number)));
    };
    ++number;
    return ReadingTimes{20e3 * std::pow(200, chance(2)), 20e3 * std::pow(200, chance(3))};
  };
}

TEST_CASE("an honest kernel on a busy machine is believed") {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    CHECK(doubt_about_count(disturbed(seed), samples_of(200), {}).empty());
    CHECK(doubt_about_reset(disturbed(seed), disturbed(seed + 10000), samples_of(200), {}).empty());
    for (const double longer : {1.0, 100.0, 1000.0}) {
      const BatchTimer noise = disturbed(seed);
      const BatchTimer plain = [&](uint64_t count) {
        Batch batch = noise(count);
        batch.elapsed_ns *= longer;
        return batch;
      };
      for (const uint64_t batch : {2, 20, 200})
        CHECK(doubt_about_further_calls(plain, samples_of(batch), {}, 1).empty());
    }
    CHECK(doubt_about_slow_clock(disturbed(seed), samples_of(200), {}).why.empty());
    Samples delayed = samples_of(1);
    delayed.watched_ns = 1e9;
    MeasureOptions single;
    single.max_batch = 1;
    CHECK(doubt_about_slow_clock(disturbed(seed), delayed, single).why.empty());
    CHECK(doubt_about_fast_clock(disturbed(seed), samples_of(200), {}).why.empty());
    CHECK(doubt_about_reading(disturbed_readings(seed), samples_of(200)).empty());
  }
}

}  // namespace
}  // namespace deepbench
