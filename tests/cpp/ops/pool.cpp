// Tests pool: work, validity and the reference.
#include "deepbench/ops/pool/pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "naive_pool.hpp"

namespace deepbench {
namespace {

ExpectedOutput expectation(const std::string& line, const KernelConditions& conditions = {}) {
  const Problem problem = Problem::parse(line);
  return problem.operation().expected_output(problem, conditions);
}

double bytes_of(const std::string& line) {
  const Problem problem = Problem::parse(line);
  CHECK(problem.operation().work(problem).flops == 0);
  return problem.operation().work(problem).bytes;
}

std::string reason(const std::string& line) {
  try {
    Problem::parse(line);
  } catch (const InvalidProblem& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("pool: the input and the output count once") {
  const std::string line = "pool n=2 c=3 h=9 w=8 r=3 s=3 stride_h=2 stride_w=2 precision=half";
  CHECK(bytes_of(line) == 2 * 2 * 3 * (9 * 8 + 4 * 3));
  CHECK(bytes_of(line + " phase=bwd") == bytes_of(line));
}

TEST_CASE("pool: windows that do not fit, or that lie outside the image, are invalid") {
  CHECK(reason("pool n=1 c=1 h=4 w=9 r=5 s=3") ==
        "the output is empty: the window's r=5 exceeds the padded input's, h + 2 pad_h = 4");
  CHECK(reason("pool n=1 c=1 h=9 w=4 r=3 s=7 pad_w=1") ==
        "the output is empty: the window's s=7 exceeds the padded input's, w + 2 pad_w = 6");
  CHECK(
      reason("pool n=1 c=1 h=9 w=9 r=2 s=2 pad_h=2") ==
      "pad_h=2: must be less than the window's r=2, or some window has no place within the image");
  for (const char* const text :
       {"pool n=0 c=1 h=1 w=1 r=1 s=1", "pool n=1 c=1 h=1 w=1 r=1 s=1 stride_h=0",
        "pool n=1 c=1 h=1 w=1 r=1 s=1 pad_h=-1", "pool n=1 c=1 h=1 w=1 r=1 s=1 kind=median",
        "pool n=1000000000 c=1000000000 h=9 w=9 r=1 s=1"})
    CHECK_MESSAGE(reason(text).size() > 10, text);
}

TEST_CASE("pool: windows at the edge have the places within the image") {
  const Pool pool = pool_problem(
      Problem::parse("pool n=1 c=1 h=5 w=6 r=3 s=4 pad_h=1 pad_w=2 stride_h=2 stride_w=3"));
  CHECK(pool.p() == 3);
  CHECK(pool.q() == 3);
  CHECK(pool.rows_of(0).begin == 0);
  CHECK(pool.rows_of(0).end == 2);
  CHECK(pool.rows_of(2).begin == 3);
  CHECK(pool.rows_of(2).end == 5);
  CHECK(pool.columns_of(2).begin == 4);
  CHECK(pool.columns_of(2).end == 6);
}

constexpr const char* kShapes[] = {" n=2 c=3 h=9 w=8 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2",
                                   " n=1 c=2 h=5 w=6 r=3 s=2 pad_h=2 stride_h=3",
                                   " n=3 c=1 h=4 w=4 r=4 s=4"};

TEST_CASE("pool: the reference is that of plain loops") {
  for (const char* shape : kShapes)
    for (const char* kind : {" kind=max", " kind=average"})
      for (const char* phase : {" phase=fwd", " phase=bwd"}) {
        const std::string line = std::string("pool") + shape + kind + phase;
        CAPTURE(line);
        const std::vector<double> exact =
            testing::NaivePool(pool_problem(Problem::parse(line)), 1).output();
        const ExpectedOutput expected = expectation(line);
        REQUIRE(expected.outputs == exact.size());
        std::vector<double> values = expected.values;
        if (expected.exact_values) {
          values.resize(exact.size());
          expected.exact_values(0, exact.size(), values.data());
        }
        for (size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(values[i] - exact[i]) < 1e-14);
        for (const double bound : expected.bounds) CHECK(bound < 1e-5);
      }
}

TEST_CASE("pool: where several places hold the maximum, each may receive the gradient") {
  KernelConditions ones;
  ones.inputs = "ones";
  const ExpectedOutput expected = expectation("pool n=1 c=1 h=2 w=2 r=2 s=2 phase=bwd", ones);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(expected.values[i] == 0.5);
    CHECK(expected.bounds[i] >= 0.5);
    CHECK(expected.bounds[i] < 0.51);
  }
}

}  // namespace
}  // namespace deepbench
