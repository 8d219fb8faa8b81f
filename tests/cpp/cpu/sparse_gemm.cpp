// Sparse products through every installed library: each transposition, order and candidate against
// three loops, with empty rows, restore, cold regimes, the dense baselines of rows, and refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../ops/sparse_text.hpp"
#include "deepbench/plugin.hpp"
#include "harness.hpp"
#include "isa.hpp"
#include "ops/sparse_gemm/csr.hpp"
#include "plugin_runner.hpp"

namespace deepbench::cpu_test {
namespace {

using testing::sparse_problem;
using testing::sparse_text;

constexpr uint64_t kSeed = 5;
constexpr const char* kLibraries[] = {"eigen", "mkl", "onednn"};

std::string library_options(const std::string& library, const std::string& rest = "") {
  return "library=" + library + " seed=" + std::to_string(kSeed) + " " + rest;
}

double a_element(const SparseGemm& g, int64_t i, int64_t l) {
  const uint64_t index = g.index_a(i, l);
  if (!g.is_nonzero(kSeed, index)) return 0;
  return deepbench_element(DEEPBENCH_F32, kSeed, SparseGemm::kStreamA, index);
}

// Returns how many elements of `got` are wrong after `calls` in-place calls.
uint64_t count_wrong(const SparseGemm& g, double beta, const std::vector<double>& got, int calls) {
  uint64_t wrong = 0;
  for (int64_t j = 0; j < g.n; ++j) {
    for (int64_t i = 0; i < g.m; ++i) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < g.k; ++l) {
        const double product =
            a_element(g, i, l) *
            deepbench_element(DEEPBENCH_F32, kSeed, SparseGemm::kStreamB, g.index_b(l, j));
        sum += product, size += std::abs(product);
      }
      const double c =
          beta * deepbench_element(DEEPBENCH_F32, kSeed, SparseGemm::kStreamC, g.index_c(i, j));
      const double error = std::abs(got[size_t(i + j * g.m)] - (c + calls * sum));
      wrong += !(error <= calls * 4 * kRoundoffFloat * (std::abs(c) + calls * size + 1e-30));
    }
  }
  return wrong;
}

void check_candidate(const SparseGemm& gemm, const std::string& options) {
  const std::string problem = sparse_text(gemm);
  CAPTURE(problem);
  CAPTURE(options);
  Kernel kernel("sparse_gemm", problem, options);
  const Emitted facts = kernel.describe();
  CHECK_FALSE(facts.text("library").empty());
  CHECK_FALSE(facts.text("algorithm").empty());
  CHECK(facts.number("workspace_bytes") >= 0);
  CHECK(facts.number("threads") >= 1);
  const double beta = facts.has("beta") ? facts.number("beta") : 1;
  CHECK((facts.text("in_place") == "1") == (beta == 1));
  const auto outputs = uint64_t(gemm.m * gemm.n);
  kernel.poison();
  kernel.run(1);
  const deepbench_scan scan = kernel.scan();
  CHECK(scan.count == outputs);
  CHECK(double(scan.untouched) <= 1 + 0.02 * double(outputs));
  CHECK(scan.non_finite == 0);
  const std::vector<double> got = kernel.read(outputs);
  CHECK(count_wrong(gemm, beta, got, 1) == 0);

  const std::vector<double> sums = kernel.project(uint64_t(gemm.m), 7);
  for (int64_t i = 0; i < gemm.m; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < gemm.n; ++j)
      sum += deepbench_weight(7, uint64_t(j)) * got[size_t(i + j * gemm.m)];
    CHECK(sums[size_t(i)] == doctest::Approx(sum).epsilon(1e-12));
  }
}

void check_every_candidate(const std::string& library, const SparseGemm& gemm) {
  const std::string problem = sparse_text(gemm);
  const SupportResult answer = plan_status("sparse_gemm", problem, library_options(library));
  if (answer.status != DEEPBENCH_OK) {
    CAPTURE(problem);
    CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
    CHECK(answer.error.size() > 10);
    return;
  }
  for (const std::string& id : candidates("sparse_gemm", problem, library_options(library)))
    check_candidate(gemm, library_options(library, "candidate=" + id));
}

TEST_CASE("sparse_gemm: every transposition, order and candidate of every library") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    for (int variant = 0; variant < 8; ++variant)
      for (const int64_t n : {1, 2, 33})
        check_every_candidate(library, sparse_problem(130, n, 70, 0.8, variant));
  }
}

TEST_CASE("sparse_gemm: single elements, vectors, dense and nearly empty matrices") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    for (const SparseGemm& gemm :
         {sparse_problem(1, 1, 1, 0), sparse_problem(1, 1, 1, 0.999),
          sparse_problem(1, 7, 200, 0.5), sparse_problem(300, 5, 1, 0.5),
          sparse_problem(37, 300, 29, 0), sparse_problem(200, 9, 31, 0.999),
          sparse_problem(200, 9, 31, 0.999, 1), sparse_problem(150, 9, 31, 0.99, 4),
          sparse_problem(40, 530, 9, 0.9)})
      check_every_candidate(library, gemm);
  }
}

TEST_CASE("sparse_gemm: rows without a non-zero do not count as untouched") {
  if (!is_installed("eigen")) return;
  const SparseGemm gemm = sparse_problem(500, 3, 10, 0.99);  // Nine of ten rows are empty.
  Kernel kernel("sparse_gemm", sparse_text(gemm), library_options("eigen"));
  kernel.poison();
  CHECK(kernel.scan().untouched > 50);  // Poison sits only in the outputs of the other rows.
  CHECK(kernel.scan().untouched < 1500 / 2);
  kernel.run(1);
  CHECK(kernel.scan().untouched == 0);
}

TEST_CASE("sparse_gemm: in place, calls accumulate, and restore resets C") {
  for (const char* library : {"eigen", "mkl"}) {
    if (!is_installed(library)) continue;
    const SparseGemm gemm = sparse_problem(90, 20, 60, 0.7);
    Kernel kernel("sparse_gemm", sparse_text(gemm), library_options(library));
    kernel.restore();
    kernel.run(3);
    CHECK(count_wrong(gemm, 1, kernel.read(1800), 3) == 0);
    kernel.restore();
    kernel.run(1);
    CHECK(count_wrong(gemm, 1, kernel.read(1800), 1) == 0);
  }
}

TEST_CASE("sparse_gemm: cold regimes") {
  if (!is_installed("eigen")) return;
  const SparseGemm gemm = sparse_problem(300, 40, 200, 0.9);
  for (const char* copies : {"", "copies=1"}) {
    Kernel kernel("sparse_gemm", sparse_text(gemm),
                  library_options("eigen", std::string("cache=cold ") + copies));
    const Emitted facts = kernel.describe();
    const bool flushed = facts.text("cold") == "flush";
    CHECK((flushed || *copies == '\0'));  // Caches may be too large for any number of copies.
    kernel.poison();
    const deepbench_batch batch = kernel.run(3);
    CHECK(batch.copies_touched == (flushed ? 1 : 3));
    CHECK(count_wrong(gemm, 1, kernel.read(12000), flushed ? 3 : 1) == 0);
  }
}

TEST_CASE("sparse_gemm: any number of threads") {
  if (!is_installed("eigen")) return;
  for (const int variant : {0, 1})
    for (const char* threads : {"1", "2", "3", "7"}) {
      const SparseGemm gemm = sparse_problem(50, 5, 40, 0.9, variant);
      check_candidate(gemm, library_options("eigen", std::string("threads=") + threads));
      if (variant == 0)
        check_candidate(
            gemm, library_options("eigen", std::string("candidate=tiles threads=") + threads));
    }
  // With a transposed A, a vector has one column, which one thread computes.
  Kernel kernel("sparse_gemm", sparse_text(sparse_problem(50, 1, 40, 0.9, 1)),
                library_options("eigen", "threads=2"));
  CHECK(kernel.describe().number("threads") == 1);
}

TEST_CASE("sparse_gemm: a row lists the kernel's metrics before those derived from its time") {
  if (!is_installed("eigen") || !is_installed("onednn")) return;
  const std::string line = "sparse_gemm m=300 n=20 k=200 sparsity=0.9 order=row";
  const Row row = run_row(line);
  REQUIRE_MESSAGE(row.has_rates(), row.reason);
  CHECK(row.verification.state == Verification::State::kPassed);
  std::string names;
  for (const Metric& metric : row.metrics) names += metric.name + " ";
  REQUIRE(names == "dense_time nnz nnz_rate dense_rate speedup ");
  CHECK(row.metrics[1].value == doctest::Approx(6000).epsilon(0.1));
  CHECK(row.metrics[4].value ==
        doctest::Approx(row.metrics[0].value * 1e3 / row.median_ns()).epsilon(1e-12));
  CHECK(row.to_json().find("\"better\": null") != std::string::npos);
  const auto is_dense = [](const std::string& note) {
    return note.find("dense baseline: onednn ") == 0;
  };
  CHECK(std::count_if(row.notes.begin(), row.notes.end(), is_dense) == 1);
  const Row cold = run_row(line + " ; cache=cold");
  REQUIRE_MESSAGE(cold.has_rates(), cold.reason);
  CHECK(cold.metrics[0].name == "dense_time");
  const Row once = run_row(line + " ; once=yes");
  for (const Metric& metric : once.metrics) CHECK(metric.name != "dense_time");
}

TEST_CASE("sparse_gemm: CSR matches the definition for every number of rows and columns") {
  for (const int variant : {0, 1})
    for (const auto& [m, k] :
         {std::pair<int64_t, int64_t>{1, 1}, {3, 2500}, {700, 3}, {129, 1030}}) {
      const SparseGemm gemm = sparse_problem(m, 1, k, 0.7, variant);
      const cpu::CsrCopies copies(gemm, 2, cpu::Inputs::kUniform, kSeed);
      const cpu::Csr csr = copies.at(1);
      CHECK(csr.rows == gemm.rows_a());
      int64_t found = 0;
      for (int64_t row = 0; row < csr.rows; ++row) {
        for (int64_t column = 0; column < csr.columns; ++column) {
          const int64_t i = variant ? column : row, l = variant ? row : column;
          if (!gemm.is_nonzero(kSeed, gemm.index_a(i, l))) continue;
          REQUIRE(csr.indices[found] == column);
          REQUIRE(double(csr.values[found]) == a_element(gemm, i, l));
          ++found;
        }
        REQUIRE(csr.offsets[row + 1] == found);
      }
      CHECK(csr.nnz() == found);
      for (const size_t parts : {1, 2, 5}) {
        CHECK(cpu::first_row_of_part(csr, 0, parts) == 0);
        CHECK(cpu::first_row_of_part(csr, parts, parts) == csr.rows);
        for (size_t part = 0; part < parts; ++part)
          CHECK(cpu::first_row_of_part(csr, part, parts) <=
                cpu::first_row_of_part(csr, part + 1, parts));
      }
    }
}

TEST_CASE("sparse_gemm: refusals state their reasons") {
  const auto reason = [](const SparseGemm& gemm, const std::string& precision,
                         const std::string& options) {
    std::string problem = sparse_text(gemm);
    problem.replace(problem.find("precision=float"), 15, "precision=" + precision);
    const SupportResult answer = plan_status("sparse_gemm", problem, options);
    CHECK(answer.status != DEEPBENCH_OK);
    return answer.error;
  };
  const auto contains = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const SparseGemm gemm = sparse_problem(20, 5, 30, 0.5);
  if (is_installed("eigen")) {
    contains(reason(gemm, "bfloat16", library_options("eigen")), "not bfloat16");
    contains(reason(gemm, "int8", "seed=5"), "not int8");
    contains(reason(gemm, "float", library_options("eigen", "candidate=nonsense")), "no candidate");
    contains(reason(sparse_problem(20, 5, 30, 0.5, 1), "float",
                    library_options("eigen", "candidate=tiles")),
             "no candidate");
  }
  if (is_installed("mkl"))
    contains(reason(sparse_problem(20, 5, 30, 0.5, 2), "float", library_options("mkl")),
             "transposed B");
  if (is_installed("onednn")) {
    contains(reason(gemm, "float", library_options("onednn")), "order=row");
    contains(reason(sparse_problem(20, 5, 30, 0.5, 5), "float", library_options("onednn")),
             "not support transposed");
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
