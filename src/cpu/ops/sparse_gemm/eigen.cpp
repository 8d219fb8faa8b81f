// Sparse products through Eigen, whose headers are compiled in. The candidate `product` is Eigen's
// product; the threads share the rows of A, or the columns of C if A is transposed. The candidate
// `tiles` passes matrices to Eigen in row-major tiles, for which Eigen is several times faster.
#include <algorithm>
#include <limits>
#include <string>

#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "isa.hpp"
#include "ops/sparse_gemm/eigen_products.hpp"
#include "ops/sparse_gemm/sparse_plan.hpp"
#include "thread_team.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

const EigenProducts* eigen_products() {
#if defined(DEEPBENCH_EIGEN_VERSION) && defined(__x86_64__)
  if (isa().avx512) return &kEigenAvx512;
  if (isa().avx2) return &kEigenAvx2;
#endif
  return nullptr;
}

namespace {

#if defined(DEEPBENCH_EIGEN_VERSION)
constexpr const char* kEigenVersion = DEEPBENCH_EIGEN_VERSION;
#else
constexpr const char* kEigenVersion = nullptr;
#endif

constexpr const char* kProduct = "product";
constexpr const char* kTiles = "tiles";

class EigenCall : public LibraryCall {
 public:
  EigenCall(const SparseOperands& operands, int threads)
      : operands_(operands),
        gemm_(operands.gemm()),
        // A vector has the same storage in both orders, and Eigen is faster with column-major
        // operands.
        b_by_rows_(!gemm_.b_by_columns() && gemm_.n > 1),
        c_by_rows_(gemm_.row_major && gemm_.n > 1),
        team_(topology().cpus_for_threads(threads)) {}

  bool has_thread_team() const override { return true; }
  void begin_batch() override { team_.bind_caller(); }

  int run(uint64_t copy) override {
    team_.run([&](size_t member) {
      products_.multiply[gemm_.trans_a][b_by_rows_][c_by_rows_](part(copy, member));
    });
    return 0;
  }

 protected:
  // The share of this member in the call.
  EigenPart part(uint64_t copy, size_t member) const {
    const Csr a = operands_.a(copy);
    EigenPart part = {a.rows,
                      a.columns,
                      gemm_.n,
                      a.nnz(),
                      a.offsets,
                      a.indices,
                      a.values,
                      operands_.b(copy),
                      operands_.c(copy),
                      b_by_rows_ ? gemm_.n : gemm_.k,
                      c_by_rows_ ? gemm_.n : gemm_.m};
    if (gemm_.trans_a) {
      const auto members = int64_t(team_.size());
      const int64_t first = gemm_.n * int64_t(member) / members;
      part.columns = gemm_.n * int64_t(member + 1) / members - first;
      part.b += first * (b_by_rows_ ? 1 : part.b_stride);
      part.c += first * (c_by_rows_ ? 1 : part.c_stride);
    } else {
      const int64_t first = first_row_of_part(a, member, team_.size());
      part.rows = first_row_of_part(a, member + 1, team_.size()) - first;
      part.offsets += first;
      part.c += first * (c_by_rows_ ? part.c_stride : 1);
    }
    return part;
  }

  const SparseOperands& operands_;
  const SparseGemm& gemm_;
  const bool b_by_rows_, c_by_rows_;
  const EigenProducts& products_ = *eigen_products();
  ThreadTeam team_;
};

// For column-major B and C. It copies some columns of B to row-major storage, multiplies, and adds
// the row-major result to C. All of this is inside the call, because neither B nor C is constant.
class EigenTilesCall final : public EigenCall {
 public:
  EigenTilesCall(const SparseOperands& operands, int threads)
      : EigenCall(operands, threads), b_tile_(b_bytes(gemm_)) {
    for (size_t member = 0; member < team_.size(); ++member) c_tiles_.emplace_back(kScratchBytes);
  }

  int run(uint64_t copy) override {
    team_.run([&](size_t member) {
      const EigenPart whole = part(copy, member);
      for (int64_t column = 0; column < gemm_.n; column += kColumns)
        run_tile(whole, column, std::min(kColumns, gemm_.n - column), member);
    });
    return 0;
  }

  static uint64_t workspace(const SparseGemm& gemm, int threads) {
    return b_bytes(gemm) + uint64_t(threads) * kScratchBytes;
  }

 private:
  static constexpr int64_t kColumns = 256;
  static constexpr uint64_t kScratchBytes =
      uint64_t(kColumns) * EigenProducts::kTileRows * sizeof(float);
  static uint64_t b_bytes(const SparseGemm& gemm) {
    return uint64_t(gemm.k) * uint64_t(kColumns) * sizeof(float);
  }

  void run_tile(EigenPart part, int64_t column, int64_t columns, size_t member) {
    auto* const tile = reinterpret_cast<float*>(b_tile_.data());
    const auto members = int64_t(team_.size());
    const int64_t first = gemm_.k * int64_t(member) / members;
    const int64_t rows = gemm_.k * int64_t(member + 1) / members - first;
    products_.transpose(part.b + column * part.b_stride + first, part.b_stride,
                        tile + first * kColumns, kColumns, rows, columns);
    team_.barrier();
    part.b = tile, part.b_stride = kColumns;
    part.c += column * part.c_stride;
    part.columns = columns;
    products_.multiply_tiles(part, reinterpret_cast<float*>(c_tiles_[member].data()));
    team_.barrier();
  }

  Buffer b_tile_;
  std::vector<Buffer> c_tiles_;  // One tile per member.
};

struct EigenSparseGemm {
  static constexpr SparseOutput kOutput = SparseOutput::kInPlace;

  struct CandidateSettings {
    CandidateSettings(const SparseGemm& gemm, const std::string& candidate, int threads)
        : tiles(candidate == kTiles),
          workspace(tiles ? EigenTilesCall::workspace(gemm, threads) : 0) {}
    uint64_t workspace_bytes() const { return workspace; }
    uint64_t library_bytes() const { return workspace; }
    std::unique_ptr<LibraryCall> make_call(SparseOperands& operands, int threads) const {
      if (tiles) return std::make_unique<EigenTilesCall>(operands, threads);
      return std::make_unique<EigenCall>(operands, threads);
    }
    bool tiles;
    uint64_t workspace;
  };

  static LibraryFacts library() {
    if (!kEigenVersion) return {"", "", "deepbench was built without Eigen's headers"};
    if (!eigen_products())
      return {"", "", "Eigen's kernels need AVX2 or AVX-512, and this processor has neither"};
    return {kEigenVersion, "compiled in", ""};
  }
  static std::string name() { return std::string("eigen ") + kEigenVersion; }
  static std::string algorithm(const CandidateSettings&, const std::string& candidate) {
    return candidate + ":" + eigen_products()->unit;
  }
  // For a transposed A, each row of A adds to all of C, so that threads can only share columns.
  static int threads(const SparseGemm& gemm, int requested) {
    return gemm.trans_a ? int(std::min<int64_t>(requested, gemm.n)) : requested;
  }
  static std::vector<std::string> candidates(const SparseGemm& gemm) {
    require_float(gemm, "Eigen's sparse product");
    constexpr int64_t kFewColumns = 4;  // With fewer columns, copying dominates the time of tiles.
    if (gemm.n > kFewColumns && !gemm.trans_a && gemm.b_by_columns() && !gemm.row_major)
      return {kProduct, kTiles};
    return {kProduct};
  }
};

}  // namespace

Implementation& eigen_sparse_gemm() {
  return implementation_of_plan<SparsePlan<EigenSparseGemm>>();
}

}  // namespace deepbench::cpu
