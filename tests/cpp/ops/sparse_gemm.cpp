// Tests sparse_gemm: useful work, the pattern of nonzeros, derived figures, and the reference
// against the definition and against wrong products.
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "../suite_totals.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::suite_totals;

TEST_CASE("sparse_gemm: totals of the shipped sets") {
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
  CHECK(work.flops == 2 * 50 * 3);  // 50 of 200 are nonzero
  // Values and column indices, row offsets, B once, C twice.
  CHECK(work.bytes == 50 * (4 + 4) + 11 * 4 + 20 * 3 * 4 + 2 * 10 * 3 * 4);
}

SparseGemm parse_sparse_gemm(const std::string& line) {
  return sparse_gemm_problem(Problem::parse(line));
}

TEST_CASE("sparse_gemm: elements are stored by columns or by rows") {
  const SparseGemm col = parse_sparse_gemm("sparse_gemm m=4 n=6 k=5 sparsity=0.5");
  CHECK(col.index_a(1, 2) == 1 + 2 * 4);
  CHECK(col.index_b(2, 3) == 2 + 3 * 5);
  CHECK(col.index_c(1, 3) == 1 + 3 * 4);
  const SparseGemm row =
      parse_sparse_gemm("sparse_gemm m=4 n=6 k=5 sparsity=0.5 order=row trans_a=t");
  CHECK(row.index_a(1, 2) == 2 + 1 * 5);
  CHECK(row.rows_a() == 5);
  CHECK(row.index_b(2, 3) == 3 + 2 * 6);
  CHECK(row.index_c(1, 3) == 3 + 1 * 6);
  CHECK(parse_sparse_gemm("sparse_gemm m=4 n=6 k=5 sparsity=0.5 trans_b=t").index_b(2, 3) ==
        3 + 2 * 6);
  CHECK(
      parse_sparse_gemm("sparse_gemm m=4 n=6 k=5 sparsity=0.5 trans_b=t order=row").index_b(2, 3) ==
      2 + 3 * 5);
}

TEST_CASE("sparse_gemm: the fraction of zeros equals the sparsity, and sparsity=0 is dense") {
  for (const double sparsity : {0.0, 0.25, 0.5, 0.9, 0.95, 0.999}) {
    SparseGemm gemm = parse_sparse_gemm("sparse_gemm m=1000 n=1 k=1000 sparsity=0");
    gemm.sparsity = sparsity;
    double nonzeros = 0;
    for (uint64_t index = 0; index < 1000000; ++index) nonzeros += gemm.is_nonzero(3, index);
    const double deviation = std::sqrt(1e6 * sparsity * (1 - sparsity));
    CHECK(std::abs(nonzeros - gemm.nnz()) <= 4 * deviation);
  }
  SparseGemm edge = parse_sparse_gemm("sparse_gemm m=1 n=1 k=1 sparsity=0");
  CHECK(edge.nonzero_threshold() == 0);
  edge.sparsity = 1 - 1.0 / 4294967296;
  CHECK(edge.nonzero_threshold() == 4294967295u);
}

TEST_CASE("sparse_gemm: invalid problems are rejected with a reason of one line") {
  const auto reason = [](const std::string& line) -> std::string {
    try {
      Problem::parse("sparse_gemm " + line);
      return "";
    } catch (const InvalidProblem& error) {
      return error.what();
    }
  };
  const auto contains = [&](const std::string& line, const char* part) {
    const std::string text = reason(line);
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  };
  CHECK(reason("m=1 n=1 k=1 sparsity=0") == "");
  CHECK(reason("m=1 n=1 k=1 sparsity=0.9999999") == "");
  contains("m=1 n=1 k=1", "sparsity");
  contains("m=1 n=1 k=1 sparsity=1", "sparsity=1: must be at most");
  contains("m=1 n=1 k=1 sparsity=-0.1", "sparsity=-0.1: must be at least 0");
  contains("m=1 n=1 k=1 sparsity=nan", "sparsity=nan");
  contains("m=1 n=1 k=1 sparsity=0.99999999999", "must be at most");
  contains("m=0 n=1 k=1 sparsity=0.5", "m=0: must be at least 1");
  contains("m=1 n=1 k=1 sparsity=0.5 order=diagonal", "order=diagonal");
  contains("m=2147483647 n=9 k=2147483647 sparsity=0.5", "2 m n k");
  contains("m=3000000000 n=1 k=1 sparsity=0.5", "32-bit indices");
  contains("m=1 n=1 k=3000000000 sparsity=0.5", "32-bit indices");
  contains("m=1000000 n=1 k=1000000 sparsity=0.5",
           "the number of nonzeros, m k (1 - sparsity), must be at most 2147483647");
  CHECK(reason("m=1000000 n=1 k=1000000 sparsity=0.999") == "");
}

TEST_CASE("sparse_gemm: rates follow from the time and the kernel's facts") {
  const Problem problem = Problem::parse("sparse_gemm m=100 n=10 k=50 sparsity=0.9");
  Attributes facts;
  facts.set("nnz", int64_t{490});
  const auto metrics = problem.operation().derived_metrics(problem, facts, 2000.0);
  const auto value = [&](const std::string& name) {
    for (const Metric& metric : metrics)
      if (metric.name == name) return metric.value;
    return -1.0;
  };
  CHECK(value("nnz") == 490);
  CHECK(value("nnz_rate") == Approx(2 * 490 * 10 / 2000.0));
  CHECK(value("dense_rate") == Approx(2 * 100 * 10 * 50 / 2000.0));
  const auto bare = problem.operation().derived_metrics(problem, {}, 2000.0);
  REQUIRE(bare.size() == 1);
  CHECK(bare[0].name == "dense_rate");
}

TEST_CASE("sparse_gemm: the baselines are the dense products, of float in TF32 as well") {
  const auto baselines = [](const std::string& rest) {
    const Problem problem = Problem::parse("sparse_gemm m=40 n=6 k=30 sparsity=0.5 " + rest);
    return problem.operation().baselines(problem);
  };
  const auto by_columns = baselines("trans_a=t");
  REQUIRE(by_columns.size() == 2);
  CHECK(by_columns[0].metric == "dense_time");
  CHECK(by_columns[0].speedup == "speedup");
  CHECK_FALSE(by_columns[0].optional);
  CHECK(by_columns[0].problem == "gemm m=40 n=6 k=30 trans_a=t trans_b=n precision=float");
  CHECK(by_columns[1].metric == "dense_time_tf32");
  CHECK(by_columns[1].speedup == "speedup_tf32");
  CHECK(by_columns[1].optional);  // many devices have no TF32
  CHECK(by_columns[1].problem == "gemm m=40 n=6 k=30 trans_a=t trans_b=n precision=tf32");
  const auto half = baselines("precision=half");
  REQUIRE(half.size() == 1);
  CHECK(half[0].problem == "gemm m=40 n=6 k=30 trans_a=n trans_b=n precision=half");
}

// Stored by rows, A is k x m with rows of m elements, which gemm reads as the columns of its B.
TEST_CASE("sparse_gemm: by rows, the dense product is the transposed one") {
  const Problem problem =
      Problem::parse("sparse_gemm m=40 n=6 k=30 sparsity=0.5 trans_a=t order=row precision=half");
  const auto turned = problem.operation().baselines(problem);
  REQUIRE(turned.size() == 1);
  CHECK(turned[0].problem == "gemm m=6 n=40 k=30 trans_a=n trans_b=t precision=half");
}

// One output by the definition. `a` returns op(A)[i, l], so that a test can make it wrong.
using Element = std::function<double(int64_t i, int64_t l)>;

double element_a(const SparseGemm& gemm, uint64_t seed, int64_t i, int64_t l) {
  const uint64_t index = gemm.index_a(i, l);
  return gemm.is_nonzero(seed, index) ? deepbench_element(gemm.precision.a, seed, 0, index) : 0;
}

double expected_element(const SparseGemm& gemm, uint64_t seed, double beta, int64_t i, int64_t j,
                        const Element& a) {
  double sum = beta * deepbench_element(gemm.precision.c, seed, 2, gemm.index_c(i, j));
  for (int64_t l = 0; l < gemm.k; ++l)
    sum += a(i, l) * deepbench_element(gemm.precision.b, seed, 1, gemm.index_b(l, j));
  return sum;
}

TEST_CASE("sparse_gemm: the reference of small problems equals the definition for every output") {
  for (const std::string rest :
       {"", " trans_a=t", " trans_b=t", " trans_a=t trans_b=t order=row", " order=row",
        " trans_a=t order=row precision=half", " trans_b=t order=row precision=bfloat16"}) {
    const Problem problem = Problem::parse("sparse_gemm m=7 n=5 k=9 sparsity=0.6" + rest);
    CAPTURE(problem.str());
    KernelConditions conditions;
    conditions.seed = 3;
    const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
    CHECK(expected.coverage == "all 35 outputs");
    REQUIRE(expected.indices.size() == 35);
    const SparseGemm gemm = sparse_gemm_problem(problem);
    const Element a = [&](int64_t i, int64_t l) { return element_a(gemm, 3, i, l); };
    std::vector<uint64_t> seen;
    for (size_t at = 0; at < 35; ++at) {
      const auto i = int64_t(expected.indices[at]) % 7, j = int64_t(expected.indices[at]) / 7;
      CHECK(expected.values[at] == Approx(expected_element(gemm, 3, 1, i, j, a)).epsilon(1e-14));
      CHECK(expected.bounds[at] > 0);
      CHECK(expected.bounds[at] < 0.1);
      seen.push_back(expected.indices[at]);
    }
    std::sort(seen.begin(), seen.end());
    for (uint64_t at = 0; at < 35; ++at) CHECK(seen[at] == at);
  }
}

TEST_CASE("sparse_gemm: the reference follows the kernel's conditions") {
  const Problem problem = Problem::parse("sparse_gemm m=30 n=4 k=20 sparsity=0.5");
  const SparseGemm gemm = sparse_gemm_problem(problem);
  KernelConditions conditions;
  conditions.beta = 0;
  conditions.inputs = "ones";
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  for (size_t at = 0; at < expected.values.size(); ++at) {
    double nonzeros = 0;
    for (int64_t l = 0; l < 20; ++l)
      nonzeros += gemm.is_nonzero(1, gemm.index_a(int64_t(expected.indices[at]) % 30, l));
    CHECK(expected.values[at] == nonzeros);
  }
}

struct CountedErrors {
  int elements = 0, sums = 0;  // number of outputs beyond their bounds
  bool passes() const { return elements == 0 && sums == 0; }
};

// Whether verification accepts C = A B + beta C computed in float and then changed by `change`.
CountedErrors verify_changed_output(const SparseGemm& gemm, const ExpectedOutput& expected,
                                    double beta, const Element& a,
                                    const std::function<void(std::vector<float>&)>& change = {}) {
  std::vector<double> sums(size_t(gemm.m * gemm.n));
  for (int64_t j = 0; j < gemm.n; ++j)
    for (int64_t i = 0; i < gemm.m; ++i)
      sums[size_t(i + j * gemm.m)] =
          beta * deepbench_element(gemm.precision.c, 1, 2, gemm.index_c(i, j));
  for (int64_t l = 0; l < gemm.k; ++l) {
    std::vector<double> row_of_b;
    for (int64_t j = 0; j < gemm.n; ++j)
      row_of_b.push_back(deepbench_element(gemm.precision.b, 1, 1, gemm.index_b(l, j)));
    for (int64_t i = 0; i < gemm.m; ++i) {
      const double value = a(i, l);
      if (value == 0) continue;
      for (int64_t j = 0; j < gemm.n; ++j)
        sums[size_t(i + j * gemm.m)] += value * row_of_b[size_t(j)];
    }
  }
  std::vector<float> c(sums.begin(), sums.end());
  if (change) change(c);
  CountedErrors found;
  for (size_t at = 0; at < expected.indices.size(); ++at)
    found.elements +=
        !(std::abs(double(c[expected.indices[at]]) - expected.values[at]) <= expected.bounds[at]);
  for (size_t i = 0; i < expected.projections.size(); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < gemm.n; ++j)
      sum += deepbench_weight(expected.projection_seed, uint64_t(j)) *
             double(c[i + size_t(j * gemm.m)]);
    found.sums += !(std::abs(sum - expected.projections[i]) <= expected.projection_bounds[i]);
  }
  return found;
}

// One problem is checked in full, the other is sampled and projected.
TEST_CASE("sparse_gemm: wrong products are rejected, correct ones accepted") {
  for (const std::string size : {"m=60 n=12 k=80", "m=450 n=190 k=230"}) {
    for (const std::string rest : {"", " trans_a=t", " order=row", " trans_b=t"}) {
      const Problem problem = Problem::parse("sparse_gemm " + size + " sparsity=0.95" + rest);
      CAPTURE(problem.str());
      const SparseGemm gemm = sparse_gemm_problem(problem);
      const ExpectedOutput expected = problem.operation().expected_output(problem, {});
      CHECK((expected.projections.size() == 450) == (gemm.m == 450));
      const Element right = [&](int64_t i, int64_t l) { return element_a(gemm, 1, i, l); };
      CHECK(verify_changed_output(gemm, expected, 1, right).passes());
      CHECK_FALSE(verify_changed_output(gemm, expected, 0, right).passes());  // C is not added

      // The stored matrix with one change: in a row in its middle that has a nonzero.
      const int64_t row = gemm.m / 2 + 7;
      int64_t column = 0;
      while (right(row, column) == 0) ++column;
      int64_t zero = column + 1;
      while (right(row, zero) != 0) ++zero;
      const double value = right(row, column);
      const auto with = [&](int64_t l, double instead) -> Element {
        return [=](int64_t i, int64_t at) { return i == row && at == l ? instead : right(i, at); };
      };
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, with(column, 0))
                      .passes());  // the nonzero is dropped
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, with(column, -value)).passes());
      // a zero becomes a nonzero
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, with(zero, value)).passes());
      const Element moved = [&](int64_t i, int64_t l) {  // the nonzero has a wrong column index
        return i == row && l == column ? 0 : i == row && l == zero ? value : right(i, l);
      };
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, moved).passes());
      const Element other_seed = [&](int64_t i, int64_t l) {
        const uint64_t index = gemm.index_a(i, l);
        return gemm.is_nonzero(2, index) ? deepbench_element(DEEPBENCH_F32, 1, 0, index) : 0;
      };
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, other_seed).passes());
      const Element dense = [&](int64_t i, int64_t l) {
        return deepbench_element(DEEPBENCH_F32, 1, 0, gemm.index_a(i, l));
      };
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, dense).passes());
      const Element rounded = [&](int64_t i, int64_t l) {  // the values have a lower precision
        return double(deepbench_from_bfloat16(deepbench_to_bfloat16(float(right(i, l)))));
      };
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, rounded).passes());
      const auto at = size_t(row + gemm.m * (gemm.n / 2 + 1));
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, right, [&](auto& c) {
                    c[at] += 0.01f;
                  }).passes());
      CHECK_FALSE(verify_changed_output(gemm, expected, 1, right, [&](auto& c) {
                    std::fill(c.begin() + int64_t(at), c.begin() + int64_t(at) + 16, 0.0f);
                  }).passes());
    }
  }
}

}  // namespace
}  // namespace deepbench
