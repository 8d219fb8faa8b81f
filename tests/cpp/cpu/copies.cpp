// Cache regimes: the number of copies, their order, and the flush; also buffers and workers.
#include "copies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "topology.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kCache = uint64_t{32} << 20, kMemory = uint64_t{16} << 30;

plugin::Options cold_options(int64_t max_copies = 1024) {
  plugin::Options options;
  options.cold = true;
  options.copies = max_copies;
  return options;
}

TEST_CASE("the hot regime has one copy") {
  const CopyPlan plan = plan_copies(1 << 20, plugin::Options(), kCache, kMemory);
  CHECK(plan.regime == Regime::kHot);
  CHECK(plan.copies == 1);
}

TEST_CASE("a cold round covers three caches with at least two copies") {
  for (const uint64_t bytes : {uint64_t{100000}, uint64_t{1} << 20, uint64_t{15} << 20}) {
    const CopyPlan plan = plan_copies(bytes, cold_options(), kCache, kMemory);
    CHECK(plan.regime == Regime::kRotation);
    CHECK(plan.copies * bytes >= 3 * kCache);
    CHECK((plan.copies - 1) * bytes < 3 * kCache);
    CHECK(plan.copies >= 2);
  }
  CHECK(plan_copies(uint64_t{1} << 30, cold_options(), kCache, kMemory).copies == 2);
}

TEST_CASE("a rotated kernel has as many copies as a cold one, or fewer, and no flush") {
  plugin::Options options;
  options.rotated = true;
  const auto copies = [&](uint64_t bytes, int64_t most) {
    options.copies = most;
    const CopyPlan plan = plan_copies(bytes, options, kCache, kMemory);
    CHECK(plan.flush_bytes == 0);
    CHECK((plan.regime == Regime::kHot) == (plan.copies == 1));
    return plan.copies;
  };
  CHECK(copies(1 << 20, 1024) == 96);
  CHECK(copies(1 << 20, 5) == 5);
  CHECK(copies(1 << 20, 1) == 1);
  CHECK(copies(64, 5000) == 1024);
  CHECK(copies(uint64_t{9} << 30, 1024) == 1);  // two do not fit in half of the memory
}

TEST_CASE("the caches are flushed if copies do not suffice") {
  for (const CopyPlan& plan :
       {plan_copies(64, cold_options(), kCache, kMemory),  // It would take more than 1024 copies.
        plan_copies(1 << 20, cold_options(16), kCache,
                    kMemory),  // It would take more copies than allowed.
        plan_copies(1 << 20, cold_options(1), kCache, kMemory),  // Only one copy is allowed.
        // The copies do not fit in memory.
        plan_copies(uint64_t{9} << 30, cold_options(), kCache, kMemory)}) {
    CHECK(plan.regime == Regime::kFlush);
    CHECK(plan.copies == 1);
    CHECK(plan.flush_bytes == 2 * kCache);
  }
}

TEST_CASE(
    "hot calls are sensitive to the schedule if the operands are about as large as the cache") {
  const auto is_sensitive = [](uint64_t bytes, const plugin::Options& options = {}) {
    const CopyPlan plan = plan_copies(bytes, options, kCache, kMemory);
    return plugin::mark_schedule_sensitive(plan, bytes, kCache).schedule_sensitive;
  };
  CHECK_FALSE(is_sensitive(kCache / 3 - 1));
  CHECK(is_sensitive(kCache / 3));
  CHECK(is_sensitive(kCache / 4 * 5));
  CHECK_FALSE(is_sensitive(kCache / 4 * 5 + 1));
  CHECK_FALSE(is_sensitive(kCache, cold_options()));
}

TEST_CASE("the rotation continues across batches") {
  Rotation rotation(3);
  CHECK(rotation.next() == 0);
  CHECK(rotation.next() == 1);
  CHECK(rotation.copy_after_calls(1) == 2);
  CHECK(rotation.copy_after_calls(2) == 0);
  rotation.advance(2);
  CHECK(rotation.last() == 0);
  CHECK(rotation.touched(2) == 2);
  CHECK(rotation.touched(7) == 3);
}

TEST_CASE("copies are equal, aligned and restored together") {
  Copies copies(5001, 4);
  CHECK(copies.needed_bytes(5001, 4) == 4 * 8192);
  for (uint64_t i = 0; i < 4; ++i) CHECK(reinterpret_cast<uintptr_t>(copies.at(i)) % 4096 == 0);
  std::memset(copies.at(0), 7, 5001);
  copies.replicate();
  for (uint64_t i = 1; i < 4; ++i) CHECK(std::memcmp(copies.at(0), copies.at(i), 5001) == 0);
  const std::vector<std::byte> other(5001, std::byte{9});
  copies.overwrite(other.data());
  for (uint64_t i = 0; i < 4; ++i) CHECK(std::memcmp(copies.at(i), other.data(), 5001) == 0);
  const Copies small(100, 3);
  CHECK(reinterpret_cast<uintptr_t>(small.at(1)) % 64 == 0);
  CHECK(small.at(1) - small.at(0) == 128);
}

TEST_CASE("buffers are aligned and zeroed, and a refusal states the size") {
  const Buffer small(100), large(uint64_t{5} << 20), other(uint64_t{5} << 20);
  CHECK(reinterpret_cast<uintptr_t>(small.data()) % 4096 == 0);
  const auto in_page = [](const Buffer& buffer) {
    return reinterpret_cast<uintptr_t>(buffer.data()) % (2 << 20);
  };
  CHECK(in_page(large) % 64 == 0);
  CHECK(in_page(large) != in_page(other));  // The buffers do not share cache sets either.
  CHECK(std::max(in_page(large), in_page(other)) < 1 << 17);
  CHECK(large.data()[(uint64_t{5} << 20) - 1] == std::byte{0});
  try {
    const Buffer impossible(uint64_t{1} << 62);
    FAIL("the allocation succeeded");
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_OUT_OF_MEMORY);
    CHECK(std::string(error.what()).find("4.6 EB") != std::string::npos);
  }
  CHECK_THROWS_AS(require_memory(uint64_t{1} << 60, "this"), plugin::Error);
  CHECK_NOTHROW(require_memory(1 << 20, "this"));
}

TEST_CASE("sizes saturate instead of wrapping around") {
  CHECK(saturating_multiply(uint64_t{1} << 40, uint64_t{1} << 40) == UINT64_MAX);
  CHECK(saturating_add(UINT64_MAX, 1) == UINT64_MAX);
  CHECK(saturating_multiply(3, 5) == 15);
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(12'300'000'000) == "12.3 GB");
}

TEST_CASE("parts are contiguous, disjoint and complete") {
  for (const uint64_t count :
       {uint64_t{0}, uint64_t{1}, uint64_t{63}, uint64_t{64}, uint64_t{1000}})
    for (const size_t workers : {size_t{1}, size_t{3}, size_t{7}}) {
      CHECK(part_begin(count, 16, 0, workers) == 0);
      CHECK(part_begin(count, 16, workers, workers) == count);
      for (size_t worker = 0; worker < workers; ++worker) {
        const uint64_t begin = part_begin(count, 16, worker, workers);
        CHECK(begin <= part_begin(count, 16, worker + 1, workers));
        CHECK((begin % 16 == 0 || begin == count));
      }
    }
}

TEST_CASE("workers run every part once and pass on exceptions") {
  WorkerPool workers(topology().cpus_for_threads(3));
  std::vector<std::atomic<int>> seen(10000);
  workers.parallel_for(10000, 64, [&](uint64_t begin, uint64_t end, size_t) {
    for (uint64_t i = begin; i < end; ++i) ++seen[i];
  });
  int wrong = 0;
  for (const auto& times : seen) wrong += times != 1;
  CHECK(wrong == 0);
  CHECK_THROWS_AS(workers.run([](size_t worker) {
    if (worker == 1) throw std::runtime_error("worker 1");
  }),
                  std::runtime_error);
  std::atomic<int> calls{0};
  workers.run([&](size_t) { ++calls; });
  CHECK(calls == 3);
}

TEST_CASE("a barrier releases no worker before all have arrived") {
  WorkerPool workers(topology().cpus_for_threads(2));
  Barrier barrier(2);
  std::atomic<int> arrived{0}, early{0};
  workers.run([&](size_t) {
    for (int round = 1; round <= 200; ++round) {
      ++arrived;
      barrier.wait();
      early += arrived < 2 * round;
      barrier.wait();
    }
  });
  CHECK(early == 0);
}

}  // namespace
}  // namespace deepbench::cpu
