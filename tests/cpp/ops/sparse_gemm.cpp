// sparse_gemm: useful work counts the non-zeros.
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

#include <doctest/doctest.h>

#include "../suite_totals.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::suite_totals;

TEST_CASE("sparse_gemm: the sets' totals") {
  CHECK(suite_totals("inference_server", "sparse_gemm").problems == 24);
  CHECK(suite_totals("inference_server", "sparse_gemm").work.flops ==
        Approx(184684500172.8).epsilon(1e-12));
  CHECK(suite_totals("inference_device", "sparse_gemm").problems == 8);
  CHECK(suite_totals("inference_device", "sparse_gemm").work.flops ==
        Approx(26205644390.4).epsilon(1e-12));
}

TEST_CASE("sparse_gemm: work of one problem") {
  const Problem problem = Problem::parse("sparse_gemm m=10 n=3 k=20 sparsity=0.75");
  const Work work = problem.operation().work(problem);
  CHECK(work.flops == 2 * 50 * 3);  // 50 of 200 are not zero
  // Values and column indices, row offsets, B once, C twice.
  CHECK(work.bytes == 50 * (4 + 4) + 11 * 4 + 20 * 3 * 4 + 2 * 10 * 3 * 4);
}

}  // namespace
}  // namespace deepbench
