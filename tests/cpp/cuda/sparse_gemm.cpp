// Sparse products on the device through cuSPARSE. Every precision, transposition, order and
// candidate is compared with three loops; further tests cover empty rows, restoring, cold regimes
// and memory.
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../ops/sparse_text.hpp"
#include "gpu.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {
namespace {

using testing::sparse_problem;
using testing::sparse_text;

std::string with_cusparse(const std::string& rest = "") { return "library=cusparse " + rest; }

// Returns the largest ratio of an output's error to its bound after `calls` calls in place, given
// sums in 32 bits that are rounded once per call. Above 1 the outputs are wrong; infinity for NaN.
double max_error_ratio(const SparseGemm& g, const std::vector<double>& got, int calls = 1) {
  const auto element = [&](deepbench_type type, uint32_t stream, uint64_t index) {
    return deepbench_element(type, kSeed, stream, index);
  };
  double worst = 0;
  for (int64_t j = 0; j < g.n; ++j)
    for (int64_t i = 0; i < g.m; ++i) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < g.k; ++l) {
        const uint64_t index = g.index_a(i, l);
        if (!g.is_nonzero(kSeed, index)) continue;
        const double product = element(g.precision.a, SparseGemm::kStreamA, index) *
                               element(g.precision.b, SparseGemm::kStreamB, g.index_b(l, j));
        sum += product, size += std::abs(product);
      }
      const double c = element(g.precision.c, SparseGemm::kStreamC, g.index_c(i, j));
      const double error = std::abs(got[size_t(i + j * g.m)] - (c + calls * sum));
      const double sums = 4 * kRoundoffFloat * (std::abs(c) + calls * size + 1e-30);
      const double stored = g.precision.output_roundoff * (std::abs(c) + calls * std::abs(sum));
      const double ratio = error / (calls * (sums + 1.01 * stored));
      if (std::isnan(ratio)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, ratio);
    }
  return worst;
}

void check_product(const SparseGemm& gemm, const std::string& options) {
  const std::string line = sparse_text(gemm);
  CAPTURE(line);
  CAPTURE(options);
  KernelRun run("sparse_gemm", line, with_cusparse(options));
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  const Emitted facts = run.describe();
  CHECK(facts.text("library").substr(0, 9) == "cusparse ");
  CHECK_FALSE(facts.text("algorithm").empty());
  CHECK(facts.number("workspace_bytes") >= 0);
  CHECK(facts.number("planning_ns") > 0);
  CHECK(facts.text("in_place") == "1");
  CHECK(facts.number("restore_every") >= 1);
  CHECK(facts.number("nnz") >= 0);
  const auto outputs = uint64_t(gemm.m * gemm.n);
  run.poison();
  deepbench_batch batch;
  const deepbench_status status = run.call(1, &batch);
  INFO(run.error());
  REQUIRE(status == DEEPBENCH_OK);
  const deepbench_scan scan = run.scan();
  CHECK(scan.count == outputs);
  CHECK(double(scan.untouched) <= 1 + 0.02 * double(outputs));
  CHECK(scan.non_finite == 0);
  const std::vector<double> got = run.read(outputs);
  CHECK(max_error_ratio(gemm, got) <= 1);
  const std::vector<double> sums = run.project(uint64_t(gemm.m), 7);
  for (int64_t i = 0; i < gemm.m; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < gemm.n; ++j)
      sum += deepbench_weight(7, uint64_t(j)) * got[size_t(i + j * gemm.m)];
    CHECK(sums[size_t(i)] == doctest::Approx(sum).epsilon(1e-12));
  }
}

void check_all_candidates(const SparseGemm& gemm) {
  const ProblemRequest request("sparse_gemm", sparse_text(gemm), with_cusparse(""));
  if (request.plan_status() != DEEPBENCH_OK) {
    const std::string reason = table().last_error();
    CAPTURE(reason);
    CHECK(gemm.trans_a);
    CHECK(gemm.precision.precision != Precision::kFloat);
    return;
  }
  for (const std::string& id : request.candidates()) check_product(gemm, "candidate=" + id);
}

TEST_CASE("gpu: sparse_gemm: every precision, transposition, order and candidate is correct") {
  REQUIRE_GPU();
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (int variant = 0; variant < 8; ++variant)
      for (const int64_t n : {1, 2, 33})
        check_all_candidates(sparse_problem(130, n, 70, 0.8, variant, precision));
}

TEST_CASE(
    "gpu: sparse_gemm: single elements, vectors, dense and nearly empty matrices are correct") {
  REQUIRE_GPU();
  for (const std::string precision : {"float", "half"})
    for (const SparseGemm& gemm :
         {sparse_problem(1, 1, 1, 0, 0, precision), sparse_problem(1, 1, 1, 0.999, 0, precision),
          sparse_problem(1, 7, 200, 0.5, 0, precision),
          sparse_problem(300, 5, 1, 0.5, 0, precision),
          sparse_problem(37, 300, 29, 0, 0, precision),
          sparse_problem(200, 9, 31, 0.999, 0, precision),
          sparse_problem(200, 9, 31, 0.999, 1, precision),
          sparse_problem(150, 9, 31, 0.99, 4, precision),
          sparse_problem(40, 530, 9, 0.9, 0, precision),
          sparse_problem(5, 3, 3000, 0.5, 0, precision)})
      check_all_candidates(gemm);
}

// With A transposed, every row of A adds to the few outputs, so partial sums in 16 bits would cause
// large errors.
TEST_CASE("gpu: sparse_gemm: long sums of few outputs are correct, with A transposed or not") {
  REQUIRE_GPU();
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (const int variant : {0, 1})
      for (const auto& [m, k] : {std::pair<int64_t, int64_t>{8, 4096}, {4, 200000}})
        check_all_candidates(sparse_problem(m, 1, k, 0.5, variant, precision));
}

TEST_CASE("gpu: sparse_gemm: rows without a nonzero do not count as untouched") {
  REQUIRE_GPU();
  for (const int variant : {0, 1}) {
    const SparseGemm gemm =
        sparse_problem(500, 3, 10, 0.99, variant);  // about nine of ten rows are empty
    KernelRun run("sparse_gemm", sparse_text(gemm), with_cusparse(""));
    REQUIRE(run.status() == DEEPBENCH_OK);
    run.poison();
    CHECK(run.scan().untouched > 50);  // counts only the outputs of rows with nonzeros
    CHECK(run.scan().untouched < 1500 / 2);
    run.call(1);
    CHECK(run.scan().untouched == 0);
  }
}

TEST_CASE("gpu: sparse_gemm: in place, calls accumulate and restore resets C") {
  REQUIRE_GPU();
  const SparseGemm gemm = sparse_problem(90, 20, 60, 0.7);
  for (const char* id : {"spmm:default", "spmm:csr_alg3:preprocessed:other_b_c"}) {
    KernelRun run("sparse_gemm", sparse_text(gemm), with_cusparse(std::string("candidate=") + id));
    REQUIRE(run.status() == DEEPBENCH_OK);
    run.restore();
    run.call(3);
    CHECK(max_error_ratio(gemm, run.read(1800), 3) <= 1);
    run.restore();
    run.call(1);
    CHECK(max_error_ratio(gemm, run.read(1800)) <= 1);
  }
}

TEST_CASE(
    "gpu: sparse_gemm: cold regimes are correct, with a workspace per copy if preprocessing needs "
    "it") {
  REQUIRE_GPU();
  const SparseGemm gemm = sparse_problem(300, 40, 200, 0.9);
  for (const std::string id :
       {"spmm:default", "spmm:csr_alg3:preprocessed", "spmm:csr_alg1:preprocessed:other_b_c"})
    for (const char* copies : {"copies=1024", "copies=1"}) {
      KernelRun run("sparse_gemm", sparse_text(gemm),
                    with_cusparse("cache=cold candidate=" + id + " " + copies));
      INFO(run.error());
      REQUIRE(run.status() == DEEPBENCH_OK);
      const bool flushed = run.describe().text("cold") == "flush";
      run.poison();
      CHECK(run.call(3).copies_touched == (flushed ? 1 : 3));
      CHECK(max_error_ratio(gemm, run.read(12000), flushed ? 3 : 1) <= 1);
    }
}

TEST_CASE("gpu: sparse_gemm: memory_needed covers the memory of prepare") {
  REQUIRE_GPU();
  const SparseGemm gemm = sparse_problem(4000, 500, 3000, 0.9);
  const auto needed = [&](const std::string& options) {
    return ProblemRequest("sparse_gemm", sparse_text(gemm), with_cusparse(options)).memory_needed();
  };
  const uint64_t plain = needed("");
  CHECK(plain > uint64_t(4000 * 3000 * 0.1) * 8 + (3000 * 500 + 2 * 4000 * 500) * 4);
  CHECK(needed("candidate=spmm:csr_alg1:other_b_c") == plain + 7000 * 500 * 4);
  CHECK(needed("cache=cold") > 2 * plain);
}

TEST_CASE("gpu: sparse_gemm: refusals name the reason") {
  REQUIRE_GPU();
  const auto reason = [](const std::string& precision, int variant, const std::string& options) {
    std::string line = sparse_text(sparse_problem(20, 5, 30, 0.5, variant));
    line.replace(line.find("precision=float"), 15, "precision=" + precision);
    const ProblemRequest request("sparse_gemm", line, with_cusparse(options));
    CHECK(request.plan_status() != DEEPBENCH_OK);
    return std::string(table().last_error());
  };
  for (const std::string precision : {"tf32", "int8", "fp8_e4m3"})
    CHECK(reason(precision, 0, "").find("not in " + precision) != std::string::npos);
  CHECK(reason("half", 1, "").find("supports only a matrix that is not transposed") !=
        std::string::npos);
  CHECK(reason("float", 0, "candidate=nonsense").find("no candidate") != std::string::npos);
  CHECK(reason("float", 1, "candidate=spmm:csr_alg3").find("no candidate") != std::string::npos);
}

}  // namespace
}  // namespace deepbench::cuda_test
