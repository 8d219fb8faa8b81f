// Tests memory: traffic, words and the exact reference.
#include "deepbench/ops/memory/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "deepbench/core/operation.hpp"
#include "deepbench/plugin.h"

namespace deepbench {
namespace {

Memory parse_memory(const std::string& line) { return memory_problem(Problem::parse(line)); }

ExpectedOutput expected_output_of(const std::string& line,
                                  const KernelConditions& conditions = {}) {
  const Problem problem = Problem::parse(line);
  return problem.operation().expected_output(problem, conditions);
}

TEST_CASE("memory: a copy reads and writes") {
  CHECK(parse_memory("memory kind=copy bytes=4096").traffic() == 8192);
  for (const std::string kind : {"read", "write", "h2d", "d2h"})
    CHECK(parse_memory("memory bytes=4096 kind=" + kind).traffic() == 4096);
  const Problem problem = Problem::parse("memory kind=copy bytes=4096");
  CHECK(problem.operation().work(problem).bytes == 8192);
  CHECK(problem.operation().work(problem).flops == 0);
}

TEST_CASE("memory: a read has one output word, all others have the buffer") {
  CHECK(parse_memory("memory kind=read bytes=4096").output_words() == 1);
  for (const std::string kind : {"write", "copy", "h2d", "d2h"})
    CHECK(parse_memory("memory bytes=4096 kind=" + kind).output_words() == 1024);
}

TEST_CASE("memory: an exchange hands every word on, 64 times") {
  for (const int64_t words : {1, 2, 63, 64, 1000, 5000}) {
    CAPTURE(words);
    const std::string line = "memory kind=exchange bytes=" + std::to_string(4 * words);
    const Memory memory = parse_memory(line);
    std::vector<double> state;
    KernelConditions conditions;
    conditions.seed = 7;
    for (int64_t i = 0; i < words; ++i) state.push_back(memory_word(7, uint64_t(i)));
    for (int step = 0; step < 64; ++step) {
      std::vector<double> next;
      for (int64_t i = 0; i < words; ++i)
        next.push_back(state[size_t((i + words / 2 + 1) % words)]);
      state = next;
    }
    const ExpectedOutput expected = expected_output_of(line, conditions);
    CHECK(expected.outputs == uint64_t(words));
    for (size_t i = 0; i < expected.indices.size(); ++i)
      CHECK(expected.values[i] == state[expected.indices[i]]);
    double projection = 0;
    for (int64_t i = 0; i < words; ++i)
      projection +=
          state[size_t(i)] * double(deepbench_weight(expected.projection_seed, uint64_t(i)));
    CHECK(expected.projections[0] == doctest::Approx(projection).epsilon(1e-9));
    const Work work = Problem::parse(line).operation().work(Problem::parse(line));
    CHECK(work.steps == 64);
    CHECK(work.bytes == 64. * 2 * 4 * double(words));
    CHECK_FALSE(Problem::parse(line).operation().is_limited_by_device(Problem::parse(line)));
    CHECK(memory.output_words() == words);
  }
}

TEST_CASE("memory: no word equals the poison") {
  CHECK(static_cast<uint32_t>(DEEPBENCH_POISON_INTEGER) % 2 == 1);
  for (uint64_t i = 0; i < 10000; ++i) CHECK(memory_word(1, i) % 2 == 0);
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    CHECK(write_pattern(seed) % 2 == 0);
    CHECK(write_pattern(seed) != 0);
  }
}

TEST_CASE("memory: a read is the xor of every word") {
  uint32_t all = 0;
  // more than the part of one thread
  for (uint64_t i = 0; i < 300000; ++i) all ^= memory_word(5, i);
  KernelConditions conditions;
  conditions.seed = 5;
  const ExpectedOutput expected = expected_output_of("memory kind=read bytes=1200000", conditions);
  CHECK(expected.outputs == 1);
  CHECK(expected.values == std::vector<double>{double(all)});
  CHECK(expected.bounds == std::vector<double>{0});
}

TEST_CASE("memory: a copy equals its source, and samples include the first and last word") {
  KernelConditions conditions;
  conditions.seed = 6;
  const ExpectedOutput expected = expected_output_of("memory kind=copy bytes=40000", conditions);
  CHECK(expected.outputs == 10000);
  CHECK(std::count(expected.indices.begin(), expected.indices.end(), 0) == 1);
  CHECK(std::count(expected.indices.begin(), expected.indices.end(), 9999) == 1);
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    CHECK(expected.values[i] == double(memory_word(6, expected.indices[i])));
    CHECK(expected.bounds[i] == 0);
  }
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i)
    sum += double(memory_word(6, i)) * deepbench_weight(expected.projection_seed, i);
  REQUIRE(expected.projections.size() == 1);
  CHECK(expected.projection_rows == 1);
  CHECK(std::abs(expected.projections[0] - sum) <= expected.projection_bounds[0]);
  CHECK(expected.projection_bounds[0] < 1);  // a wrong word differs by at least 2
}

TEST_CASE("memory: writes store the pattern, and constant inputs store their constant") {
  KernelConditions conditions;
  conditions.seed = 7;
  for (double value : expected_output_of("memory kind=write bytes=64", conditions).values)
    CHECK(value == double(write_pattern(7)));
  conditions.inputs = "ones";
  for (double value : expected_output_of("memory kind=copy bytes=64", conditions).values)
    CHECK(value == 1);
  conditions.inputs = "zeros";
  CHECK(expected_output_of("memory kind=read bytes=64", conditions).values[0] == 0);
}

}  // namespace
}  // namespace deepbench
