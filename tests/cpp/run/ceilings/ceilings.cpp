// Ceilings: which problems are measured for them, and what is made of the figures.
#include "deepbench/run/ceilings/ceilings.hpp"

#include <doctest/doctest.h>

#include <map>

#include "../../fake_backend.hpp"

namespace deepbench {
namespace {

using doctest::Approx;

constexpr double kMiB = 1 << 20;

Attributes device(int64_t last_level_bytes, int64_t l1 = 0, int64_t l2 = 0) {
  Attributes facts;
  facts.set("last_level_cache_bytes", last_level_bytes);
  if (l1) facts.set("cache.l1_bytes", l1);
  if (l2) facts.set("cache.l2_bytes", l2);
  return facts;
}

// Figures by problem; remembers what was asked for.
struct Measured {
  double flops_per_ns = 1000, bytes_per_ns = 100, latency_ns = 500;
  std::map<std::string, int> asked;

  double operator()(const std::string& text) {
    ++asked[text];
    const Problem problem = Problem::parse(text);
    const Work work = problem.operation().work(problem);
    if (problem.op() == "memory") return bytes_per_ns > 0 ? work.bytes / bytes_per_ns : 0;
    return flops_per_ns > 0 ? latency_ns + work.flops / flops_per_ns : 0;
  }
};

TEST_CASE("levels of the memory hierarchy") {
  const Ceilings ceilings(device(32 << 20, 32 << 10, 1 << 20),
                          [](const std::string&) { return 0; });
  const auto level = [&](double bytes, bool cold = false) {
    return ceilings.level_of(bytes, cold).name;
  };
  CHECK(level(1000) == "l1");
  CHECK(level(32 << 10) == "l1");
  CHECK(level((32 << 10) + 1) == "l2");
  CHECK(level(1 << 20) == "l2");
  CHECK(level(kMiB + 1) == "llc");
  CHECK(level(32 * kMiB) == "llc");
  CHECK(level(64 * kMiB) == "llc");  // up to twice the cache much of it still hits
  CHECK(level(64 * kMiB + 1) == "memory");
  CHECK(level(1000, true) == "memory");
}

TEST_CASE("a device that does not tell its caches has memory only") {
  const Ceilings ceilings(Attributes(), [](const std::string&) { return 0; });
  CHECK(ceilings.level_of(1, false).name == "memory");
  const Ceilings negative(device(-5), [](const std::string&) { return 0; });
  CHECK(negative.level_of(1, false).name == "memory");
}

TEST_CASE("a last-level cache that is a named level too is one level") {
  const Ceilings ceilings(device(1 << 20, 32 << 10, 1 << 20), [](const std::string&) { return 0; });
  CHECK(ceilings.level_of(kMiB, false).name == "llc");
}

TEST_CASE("arithmetic is the best of several large products, measured once") {
  Measured measured;
  Ceilings ceilings(device(32 << 20), [&](const std::string& text) { return measured(text); });
  CHECK(ceilings.arithmetic("float") == Approx(1000e9).epsilon(0.01));
  const auto asked = measured.asked;
  CHECK(asked.size() >= 3);
  for (const auto& [problem, times] : asked) CHECK(times == 1);
  ceilings.arithmetic("float");
  CHECK(measured.asked == asked);
  ceilings.arithmetic("half");
  CHECK(measured.asked.size() == 2 * asked.size());
}

TEST_CASE("bandwidth of the memory is the best of read and copy, of a cache that of reading") {
  Measured measured;
  Ceilings ceilings(device(32 << 20, 32 << 10), [&](const std::string& text) {
    const bool copy = text.find("kind=copy") != std::string::npos;
    return measured(text) * (copy ? 0.5 : 1.0);
  });
  CHECK(ceilings.bandwidth({"memory", 0}) == Approx(200e9));
  CHECK(ceilings.bandwidth({"llc", 32 << 20}) == Approx(100e9));
  CHECK(measured.asked.count("memory kind=read bytes=16777216") == 1);
  // The buffers for the memory are several times the cache.
  CHECK(measured.asked.count("memory kind=copy bytes=134217728") == 1);
}

TEST_CASE("what cannot be measured is zero, and is not tried again") {
  int calls = 0;
  Ceilings ceilings(device(32 << 20), [&](const std::string&) { return ++calls, 0.0; });
  CHECK(ceilings.arithmetic("fp8_e4m3") == 0);
  CHECK(ceilings.bandwidth({"memory", 0}) == 0);
  CHECK(ceilings.latency_ns("half") == 0);
  const int before = calls;
  ceilings.arithmetic("fp8_e4m3");
  ceilings.bandwidth({"memory", 0});
  ceilings.latency_ns("half");
  CHECK(calls == before);
}

TEST_CASE("latency is that of the smallest product") {
  Measured measured;
  Ceilings ceilings(device(32 << 20), [&](const std::string& text) { return measured(text); });
  CHECK(ceilings.latency_ns("float") == Approx(500).epsilon(1e-4));
}

TEST_CASE("a forgotten figure is measured again") {
  Measured measured;
  double factor = 1;
  Ceilings ceilings(device(32 << 20),
                    [&](const std::string& text) { return factor * measured(text); });
  const double first = ceilings.arithmetic("float"), memory = ceilings.bandwidth({"memory", 0});
  factor = 2;
  ceilings.invalidate_arithmetic("float");
  CHECK(ceilings.arithmetic("float") == Approx(first / 2));
  CHECK(ceilings.bandwidth({"memory", 0}) == memory);
}

TEST_CASE("figures are raised and forgotten") {
  Measured measured;
  Ceilings ceilings(device(32 << 20), [&](const std::string& text) { return measured(text); });
  const MemoryLevel memory = {"memory", 0};
  ceilings.arithmetic("float"), ceilings.bandwidth(memory);
  ceilings.raise_arithmetic("float", 5e12);
  ceilings.raise_bandwidth(memory, 7e11);
  CHECK(ceilings.arithmetic("float") == 5e12);
  CHECK(ceilings.bandwidth(memory) == 7e11);
  // What was seen to be steady holds, whatever is measured later.
  ceilings.invalidate_arithmetic("float"), ceilings.invalidate_bandwidth(memory);
  CHECK(ceilings.arithmetic("float") == 5e12);
  CHECK(ceilings.bandwidth(memory) == 7e11);
}

}  // namespace
}  // namespace deepbench
