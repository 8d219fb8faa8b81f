// The parts of a sparse product that need no device: the kernels that create CSR, run by the host
// and compared with the definition of the pattern; layouts and candidates.
#include <algorithm>
#include <set>

#include "../ops/sparse_text.hpp"
#include "deepbench/plugin.hpp"
#include "ops/sparse_gemm/csr.hpp"
#include "ops/sparse_gemm/cusparse_candidates.hpp"

// doctest must be included before emulated.hpp redefines CUDA's keywords.
#include <doctest/doctest.h>

#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <csr.cu>

namespace deepbench::cuda_test {
namespace {

using testing::sparse_problem;

constexpr uint64_t kPatternSeed = 11;

NonzeroRule rule_for(const SparseGemm& gemm) {
  return {kPatternSeed, SparseGemm::kStreamPattern, gemm.nonzero_threshold()};
}

cuda::LaunchShape two_blocks() {
  cuda::LaunchShape shape;
  shape.grid_x = 2, shape.block_x = OPERAND_THREADS;
  return shape;
}

std::vector<uint32_t> count_on_host(const Lines& lines, const NonzeroRule& rule) {
  std::vector<uint32_t> counts(lines.count);
  emulate(two_blocks(), Barriers::kUsed, [&] { count_nonzeros(lines, rule, counts.data()); });
  return counts;
}

void check_csr(const SparseGemm& gemm) {
  const Lines rows = cuda::rows_of_a(gemm);
  const std::vector<int32_t> offsets = cuda::csr_offsets(count_on_host(rows, rule_for(gemm)));
  std::vector<int32_t> indices(size_t(offsets.back()) + 1, -7);
  std::vector<float> values(indices.size(), -7);
  emulate(two_blocks(), Barriers::kUsed, [&] {
    write_nonzeros(rows, rule_for(gemm), offsets.data(), DEEPBENCH_F32, SparseGemm::kStreamA,
                   indices.data(), values.data());
  });
  size_t found = 0;
  for (int64_t row = 0; row < gemm.rows_a(); ++row) {
    for (int64_t column = 0; column < gemm.columns_a(); ++column) {
      const uint64_t index = gemm.trans_a ? gemm.index_a(column, row) : gemm.index_a(row, column);
      if (!gemm.is_nonzero(kPatternSeed, index)) continue;
      REQUIRE(indices[found] == column);
      REQUIRE(values[found] == deepbench_uniform(kPatternSeed, SparseGemm::kStreamA, index));
      ++found;
    }
    REQUIRE(size_t(offsets[size_t(row) + 1]) == found);
  }
  CHECK(indices[found] == -7);
  CHECK(values[found] == -7);
}

TEST_CASE("kernels on the host: CSR matches the definition") {
  for (const int variant : {0, 1}) {
    for (const auto& [m, k] :
         {std::pair<int64_t, int64_t>{1, 1}, {3, 300}, {70, 3}, {4, 256}, {5, 257}})
      check_csr(sparse_problem(m, 1, k, 0.7, variant));
    for (const double sparsity : {0.0, 0.99})
      check_csr(sparse_problem(5, 1, 65, sparsity, variant));
  }
  check_csr(sparse_problem(8, 1, 4096, 0.5, 0));
}

TEST_CASE("kernels on the host: nonzeros are counted by columns, including empty ones") {
  const SparseGemm gemm = sparse_problem(40, 1, 30, 0.97, 1);
  const auto columns = count_on_host(cuda::columns_of_a(gemm), rule_for(gemm));
  REQUIRE(columns.size() == 40);
  for (int64_t i = 0; i < 40; ++i) {
    uint32_t count = 0;
    for (int64_t l = 0; l < 30; ++l) count += gemm.is_nonzero(kPatternSeed, gemm.index_a(i, l));
    CHECK(columns[size_t(i)] == count);
  }
}

TEST_CASE("more nonzeros than 32-bit offsets can count are refused") {
  const std::vector<uint32_t> counts(2, 1u << 30);
  CHECK_THROWS_WITH_AS(cuda::csr_offsets(counts), doctest::Contains("2147483648 nonzeros"),
                       plugin::Error);
  CHECK(cuda::csr_offsets({(1u << 31) - 1}).back() == 2147483647);
}

TEST_CASE("cuSPARSE's candidates have distinct ids, and the library's default is first") {
  for (int variant = 0; variant < 8; ++variant)
    for (const char* precision : {"float", "half", "bfloat16"})
      for (const int64_t n : {1, 2, 8, 9}) {
        const SparseGemm gemm = sparse_problem(40, n, 30, 0.5, variant, precision);
        const bool is_float = gemm.precision.precision == Precision::kFloat;
        if (n > 1 && !is_float && gemm.trans_a) {
          CHECK_THROWS_WITH_AS(cuda::sparse::candidates_of(gemm),
                               doctest::Contains("supports only a matrix that is not transposed"),
                               plugin::Error);
          continue;
        }
        const auto all = cuda::sparse::candidates_of(gemm);
        std::set<std::string> ids;
        for (const auto& one : all) ids.insert(one.str());
        CHECK(ids.size() == all.size());
        const auto few = cuda::sparse::candidates_of(gemm, /*exhaustive=*/false);
        CHECK(few.size() <= all.size());
        for (size_t i = 0; i < few.size(); ++i) CHECK(few[i].str() == all[i].str());
        CHECK(all[0].str() == (n == 1     ? "spmv:default"
                               : is_float ? "spmm:default"
                                          : "spmm:csr_alg3"));
        // The library is fastest by rows, so one candidate converts other orders.
        if (n > 1) {
          std::string id =
              is_float && gemm.trans_a ? "spmm:csr_alg2" : "spmm:csr_alg3:preprocessed";
          if (gemm.b_by_columns() || !gemm.row_major) id += ":other";
          if (gemm.b_by_columns()) id += "_b";
          if (!gemm.row_major) id += "_c";
          CHECK(ids.count(id) == 1);
        }
        const bool vectors = std::any_of(all.begin(), all.end(), [](const auto& one) {
          return one.call == cuda::sparse::Call::kSpmv;
        });
        const bool contiguous = !gemm.row_major && !gemm.trans_b;
        CHECK(vectors == (n == 1 || (n <= 8 && contiguous)));
        for (const auto& one : all)  // for half and bfloat16, other algorithms add in 16 bits
          if (one.call == cuda::sparse::Call::kSpmm && !is_float)
            CHECK(one.spmm == nvidia::CUSPARSE_SPMM_CSR_ALG3);
      }
}

TEST_CASE("a sparse product's layout determines orders and the memory of conversions") {
  for (int variant = 0; variant < 8; ++variant) {
    const SparseGemm gemm = sparse_problem(40, 6, 30, 0.5, variant);
    const cuda::SparseLayout plain{gemm, false, false}, other{gemm, true, true};
    CHECK(plain.b_by_rows() == gemm.row_major);
    CHECK(other.b_by_rows() != gemm.row_major);
    CHECK(other.c_by_rows() != gemm.row_major);
    const uint64_t dense = (30 * 6 + 40 * 6) * 4;
    CHECK(plain.touched_bytes() == 600 * 8 + uint64_t(gemm.rows_a() + 1) * 4 + dense);
    CHECK(other.touched_bytes() == plain.touched_bytes() + dense);
    CHECK(other.needed_bytes({}, 100, 1) == plain.needed_bytes({}, 100, 1) + dense);
    CHECK(plain.max_nonzeros() > 600);
    CHECK(plain.max_nonzeros() <= 1200);
  }
  const cuda::SparseLayout huge{sparse_problem(1 << 30, 1 << 30, 1 << 30, 0.999999999, 0)};
  CHECK(huge.needed_bytes({}, 0, 1) > uint64_t{1} << 61);
}

}  // namespace
}  // namespace deepbench::cuda_test
