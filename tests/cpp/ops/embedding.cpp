// Tests embedding: work, validity, the rows that are looked up, and the reference.
#include "deepbench/ops/embedding/embedding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

Embedding embedding_of(const std::string& line) { return embedding_problem(Problem::parse(line)); }

ExpectedOutput expectation(const std::string& line, const KernelConditions& conditions = {}) {
  const Problem problem = Problem::parse(line);
  return problem.operation().expected_output(problem, conditions);
}

double bytes_of(const std::string& line) {
  const Problem problem = Problem::parse(line);
  CHECK(problem.operation().work(problem).flops == 0);
  return problem.operation().work(problem).bytes;
}

bool is_limited_by_device(const std::string& line) {
  const Problem problem = Problem::parse(line);
  return problem.operation().is_limited_by_device(problem);
}

TEST_CASE("embedding: every lookup counts, with its row and its index") {
  // 6 lookups of rows of 10 halves
  CHECK(bytes_of("embedding rows=99 dim=10 lookups=3 batch=2 precision=half") == 6 * (20 + 20 + 4));
  CHECK(bytes_of("embedding rows=99 dim=10 lookups=3 batch=2 precision=half mode=sum") ==
        6 * (20 + 4) + 2 * 20);
  // rows of the gradient are of float, read and written
  CHECK(bytes_of("embedding rows=99 dim=10 lookups=3 batch=2 precision=half phase=bwd") ==
        6 * (80 + 20 + 4));
  CHECK(bytes_of("embedding rows=99 dim=10 lookups=3 batch=2 precision=half phase=bwd mode=sum") ==
        6 * (80 + 4) + 2 * 20);
}

TEST_CASE("embedding: sizes that no memory can hold are invalid") {
  for (const char* const text :
       {"rows=0 dim=1 batch=1", "rows=2147483647 dim=1 batch=1", "rows=1 dim=0 batch=1",
        "rows=2147483646 dim=2147483648 batch=1", "rows=1 dim=1 batch=65536 lookups=32768",
        "rows=1 dim=4611686018427387904 batch=1", "rows=1 dim=1 batch=4611686018427387904",
        "rows=1 dim=1 batch=1 lookups=-1", "rows=1 dim=1 batch=1 indices=normal"})
    CHECK_THROWS_AS(Problem::parse(std::string("embedding ") + text), InvalidProblem);
  CHECK_NOTHROW(Problem::parse("embedding rows=2147483646 dim=1 batch=65536 lookups=32767"));
}

// Of the first lookups.
std::vector<int64_t> counts_of_rows(const Embedding& embedding, int64_t lookups) {
  std::vector<int64_t> counts(size_t(embedding.rows));
  for (int64_t i = 0; i < lookups; ++i) ++counts.at(size_t(embedding.row_of(7, i)));
  return counts;
}

TEST_CASE("embedding: uniform lookups reach all rows alike") {
  const auto counts = counts_of_rows(embedding_of("embedding rows=101 dim=1 batch=1"), 101000);
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  CHECK(*least > 800);
  CHECK(*most < 1200);
}

TEST_CASE("embedding: of Zipf's lookups each octave of ranks receives as many") {
  constexpr int64_t kLookups = 200000;
  for (const int64_t rows : {1, 2, 3, 63, 64, 1000, 1023}) {
    CAPTURE(rows);
    const Embedding e =
        embedding_of("embedding dim=1 batch=1 indices=zipf rows=" + std::to_string(rows));
    const auto counts = counts_of_rows(e, kLookups);
    const double octaves = double(e.octaves()) / (1 << 26);
    for (int64_t first = 1; first <= rows; first *= 2) {
      const int64_t end = std::min(2 * first, rows + 1);
      int64_t sum = 0;
      for (int64_t rank = first; rank < end; ++rank) sum += counts[size_t(rank - 1)];
      const double expected = kLookups / octaves * double(end - first) / double(first);
      CHECK(double(sum) > expected - 6 * std::sqrt(expected));
      CHECK(double(sum) < expected + 6 * std::sqrt(expected));
    }
  }
}

TEST_CASE("embedding: rows of the largest tables are within the table, and the last is reached") {
  const uint32_t rows = 2147483646;
  CHECK(deepbench_octaves(rows) <= (31u << 26));
  uint32_t most_uniform = 0, most_zipf = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    most_uniform = std::max(most_uniform, deepbench_lookup(3, 2, rows, 0, i));
    most_zipf = std::max(most_zipf, deepbench_lookup(3, 2, rows, deepbench_octaves(rows), i));
  }
  CHECK(most_uniform < rows);
  CHECK(most_uniform > rows - rows / 1000);
  CHECK(most_zipf < rows);
  CHECK(most_zipf > rows - rows / 100);
}

TEST_CASE("embedding: the rows that lookups reach are as many as expected") {
  for (const char* const indices : {"uniform", "zipf"})
    for (const char* const size : {"rows=1 batch=5", "rows=300 batch=200", "rows=1000 batch=20000",
                                   "rows=9999 batch=5000"}) {
      CAPTURE(indices);
      CAPTURE(size);
      const Embedding e =
          embedding_of(std::string("embedding dim=1 ") + size + " indices=" + indices);
      const auto counts = counts_of_rows(e, e.all_lookups());
      const auto hit = double(
          std::count_if(counts.begin(), counts.end(), [](int64_t count) { return count > 0; }));
      const double expected = e.expected_distinct_rows();
      CHECK(hit > expected - 5 * std::sqrt(expected) - 1e-9);
      CHECK(hit < expected + 5 * std::sqrt(expected) + 1e-9);
    }
}

TEST_CASE("embedding: a row that caches serve is compared with no ceiling of memory") {
  CHECK(is_limited_by_device("embedding rows=1000000 dim=8 batch=10000"));
  CHECK_FALSE(is_limited_by_device("embedding rows=1000000 dim=8 batch=10000 phase=bwd"));
  CHECK_FALSE(is_limited_by_device("embedding rows=10000 dim=8 batch=10000"));
  CHECK_FALSE(is_limited_by_device("embedding rows=1000000 dim=8 batch=10000 indices=zipf"));
}

TEST_CASE("embedding: the reference copies rows exactly") {
  const std::string line = "embedding rows=50 dim=3 lookups=2 batch=4 precision=half";
  const ExpectedOutput expected = expectation(line);
  CHECK(expected.outputs == 24);
  REQUIRE(expected.exact_values);
  for (const uint64_t first : {0, 1, 7, 23}) {
    std::vector<double> values(24 - first);
    expected.exact_values(first, values.size(), values.data());
    for (uint64_t i = first; i < 24; ++i) {
      const auto row = uint64_t(embedding_of(line).row_of(1, int64_t(i / 3)));
      CHECK(values[i - first] == deepbench_element(DEEPBENCH_F16, 1, 0, row * 3 + i % 3));
    }
  }
}

TEST_CASE("embedding: the reference adds up rows, and gradients to what the table held") {
  KernelConditions ones;
  ones.inputs = "ones";
  for (const double value :
       expectation("embedding rows=9 dim=4 lookups=5 batch=3 mode=sum", ones).values)
    CHECK(value == 5);
  const std::string line = "embedding rows=9 dim=4 lookups=5 batch=3 mode=sum phase=bwd";
  const ExpectedOutput gradient = expectation(line, ones);
  CHECK(gradient.outputs == 36);
  const auto counts = counts_of_rows(embedding_of(line), 0);
  std::vector<double> expected(9, 1.0);
  for (int64_t i = 0; i < 15; ++i) expected[size_t(embedding_of(line).row_of(1, i))] += 1;
  for (size_t i = 0; i < 36; ++i) CHECK(gradient.values[i] == expected[i / 4]);
  CHECK(gradient.initial_values == std::vector<double>(36, 1.0));
}

TEST_CASE("embedding: large outputs are sampled, with a projection of all columns") {
  for (const char* const phase : {" phase=fwd", " phase=bwd"}) {
    const ExpectedOutput expected = expectation(
        "embedding rows=9000 dim=20 lookups=3 batch=8000 mode=sum" + std::string(phase));
    CHECK(expected.indices.front() == 0);
    CHECK(expected.indices.back() == expected.outputs - 1);
    CHECK(expected.indices.size() >= 1 << 16);
    CHECK(expected.indices.size() < expected.outputs / 2);
    CHECK(expected.projection_rows == 20);
    CHECK(expected.projection_bounds[0] < 1e-3);
  }
}

}  // namespace
}  // namespace deepbench
