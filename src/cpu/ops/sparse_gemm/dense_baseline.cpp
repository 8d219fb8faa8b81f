// Measures the dense product with as few calls as a median needs.
#include "ops/sparse_gemm/dense_baseline.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "copies.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "deepbench/backend/memo_cache.hpp"
#include "ops/gemm/mkl_api.hpp"
#include "ops/sparse_gemm/dense_verification.hpp"
#include "ops/sparse_gemm/operands.hpp"
#include "timing.hpp"
#include "topology.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr double kMaxNs = 10e9;  // The longest expected time of a call that is measured.
constexpr double kLongNs = 1e9;  // One call that takes this long is enough.
constexpr plugin::SamplingRule kSampling = {3, 25, 100e6, kLongNs};
constexpr int64_t kProbeShare = 16;  // The first call computes this fraction of the columns.
constexpr int64_t kFewColumns = 8;   // So few columns may be faster one by one.
constexpr int kBlasByRows = 101;

void multiply_by_mkl(const DenseProduct& p) {
  mkl::Api::instance().sgemm(p.row_major ? kBlasByRows : blas::kColumnMajor,
                             blas::transposition(p.trans_a), blas::transposition(p.trans_b),
                             int(p.m), int(p.n), int(p.k), 1.0f, p.a, int(p.lda), p.b, int(p.ldb),
                             p.beta, p.c, int(p.ldc));
}

DenseLibrary dense_library() {
  DenseLibrary library = onednn_dense_library();
  if (library.name.empty() && mkl::Api::instance().library().loaded())
    library = {"MKL's sgemm", [](int threads) { mkl::Api::instance().use_threads(threads); },
               multiply_by_mkl, std::numeric_limits<int32_t>::max()};
  return library;
}

uint64_t a_bytes(const SparseGemm& gemm) {
  return saturating_multiply(saturating_multiply(uint64_t(gemm.m), uint64_t(gemm.k)),
                             sizeof(float));
}

DenseProduct product_of(const SparseGemm& gemm, const float* a, const float* b, float* c,
                        float beta) {
  DenseProduct p = {gemm.row_major, gemm.trans_a, gemm.trans_b, gemm.m, gemm.n, gemm.k, a, b, c};
  p.beta = beta;
  p.lda = gemm.row_major == gemm.trans_a ? gemm.m : gemm.k;
  p.ldb = gemm.b_by_columns() ? gemm.k : gemm.n;
  p.b_step = gemm.b_by_columns() ? gemm.k : 1;
  p.ldc = gemm.row_major ? gemm.n : gemm.m;
  return p;
}

// Stores A with its zeros: by columns as in gemm, or by rows if the problem is row-major.
void scatter(const SparseGemm& gemm, const Csr& csr, float* dense) {
  const int64_t row_step = gemm.row_major ? csr.columns : 1;
  const int64_t column_step = gemm.row_major ? 1 : csr.rows;
  host_workers().parallel_for(uint64_t(csr.rows), 64, [&](uint64_t begin, uint64_t end, size_t) {
    for (auto row = int64_t(begin); row < int64_t(end); ++row)
      for (int32_t i = csr.offsets[row]; i < csr.offsets[row + 1]; ++i)
        dense[row * row_step + csr.indices[i] * column_step] = csr.values[i];
  });
}

class DenseTimer {
 public:
  DenseTimer(const DenseLibrary& engine, const DensePlan& plan, SparseOperands& operands)
      : engine_(engine),
        operands_(operands),
        gemm_(operands.gemm()),
        a_(a_bytes(gemm_), plan.copies.copies),
        copies_of_a_(plan.copies.copies),
        copies_(operands.copies()) {
    scatter(gemm_, operands.a(0), reinterpret_cast<float*>(a_.at(0)));
    a_.replicate();
    if (plan.copies.flush_bytes > 0) flusher_.emplace(plan.copies.flush_bytes);
  }

  DenseTime run() {
    DenseProduct probe = next();
    const int64_t columns = probe.n;
    probe.n = std::max<int64_t>(1, columns / kProbeShare);
    const double expected_ns = time(probe) * double(columns) / double(probe.n);
    if (expected_ns > kMaxNs)
      return {0, "no dense baseline: one call would take about " + seconds(expected_ns)};
    is_long_ = expected_ns > kLongNs;
    Timed best = time_calls();
    if (columns > 1 && columns <= kFewColumns) {
      by_column_ = true;
      const Timed other = time_calls();
      by_column_ = other.median_ns < best.median_ns;
      if (by_column_) best = other;
    }
    if (best.wrong_row >= 0)
      return {0, "no dense baseline: row " + std::to_string(best.wrong_row) + " of " +
                     engine_.name + "'s result is wrong"};
    return {best.median_ns / 1e3,
            "dense baseline: " + engine_.name + ", median of " + std::to_string(best.calls) +
                (best.calls == 1 ? " call" : " calls") + (by_column_ ? ", column by column" : "")};
  }

 private:
  struct Timed {
    double median_ns = 0;
    size_t calls = 0;
    int64_t wrong_row = -1;  // of the last call
  };

  static std::string seconds(double ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f s", ns / 1e9);
    return text;
  }

  Timed time_calls() {
    const plugin::SampledTime taken = plugin::median_time(kSampling, [&] { return time(next()); });
    return {taken.median_ns, taken.samples, wrong_row_of_last()};
  }

  // The product on the copies of the next call.
  DenseProduct next() {
    const float* const a = reinterpret_cast<const float*>(a_.at(copies_of_a_.next()));
    const uint64_t copy = copies_.next();
    return product_of(gemm_, a, operands_.b(copy), operands_.c(copy),
                      operands_.initial_c() ? 1.0f : 0.0f);
  }

  double time(const DenseProduct& product) {
    if (is_long_) operands_.poison();
    if (flusher_) flusher_->flush();
    const plugin::HostTimer timer;
    multiply(product);
    last_ = product;
    return timer.elapsed_ns();
  }

  // Libraries have one kernel for a vector, and another for many columns that packs A first.
  void multiply(const DenseProduct& product) {
    if (!by_column_) return engine_.multiply(product);
    DenseProduct column = product;
    column.n = 1;
    for (int64_t j = 0; j < product.n; ++j) {
      engine_.multiply(column);
      column.b += product.b_step;
      column.c += product.row_major ? 1 : product.ldc;
    }
  }

  // Verifies a call with a known initial C: the last call if it was long, or an additional one.
  int64_t wrong_row_of_last() {
    if (!is_long_) {
      operands_.poison();
      multiply(last_ = next());
    }
    return first_wrong_row(gemm_, operands_.a(0), last_.b, last_.c, operands_.initial_c());
  }

  const DenseLibrary& engine_;
  SparseOperands& operands_;
  const SparseGemm& gemm_;
  Copies a_;
  Rotation copies_of_a_, copies_;
  std::optional<CacheFlusher> flusher_;
  DenseProduct last_;
  bool by_column_ = false, is_long_ = false;
};

std::string key_of(const SparseGemm& g, bool adds_c, const DensePlan& plan,
                   const plugin::Options& options) {
  std::string key = options.inputs;
  for (const int64_t part :
       {g.m, g.n, g.k, int64_t(g.trans_a), int64_t(g.trans_b), int64_t(g.row_major),
        int64_t(g.nonzero_threshold()), int64_t(adds_c), int64_t(plan.copies.regime),
        int64_t(plan.copies.copies), int64_t(thread_count(options.threads)), int64_t(options.seed)})
    key += " " + std::to_string(part);
  return key;
}

DenseTime measure_dense(const DensePlan& plan, SparseOperands& operands,
                        const plugin::Options& options) {
  const DenseLibrary engine = dense_library();
  if (engine.name.empty()) return {0, "no dense baseline: neither oneDNN nor MKL is available"};
  const SparseGemm& gemm = operands.gemm();
  if (std::max({gemm.m, gemm.n, gemm.k}) > engine.max_dimension)
    return {0, "no dense baseline: " + engine.name + " supports only 32-bit dimensions"};
  engine.use_threads(thread_count(options.threads));
  return DenseTimer(engine, plan, operands).run();
}

}  // namespace

DensePlan plan_dense(const SparseGemm& gemm, const CopyPlan& sparse,
                     const plugin::Options& options) {
  const uint64_t a = a_bytes(gemm);
  DensePlan plan;
  plan.copies = sparse;
  plan.copies.copies = 1;
  if (sparse.regime == Regime::kRotation) {
    const auto others = uint64_t(gemm.n) * uint64_t(gemm.k + gemm.m) * sizeof(float);
    plan.copies = plan_copies(saturating_add(a, others), options);
    if (plan.copies.regime != sparse.regime)
      plan.reason = "no dense baseline: the copies for cold calls do not fit in memory";
  }
  plan.bytes = saturating_add(Copies::needed_bytes(a, plan.copies.copies), plan.copies.flush_bytes);
  return plan;
}

DenseTime time_dense(const DensePlan& plan, SparseOperands& operands,
                     const plugin::Options& options) {
  static plugin::MemoCache<std::string, DenseTime, 1> last;
  if (!plan.is_enabled()) return {0, plan.reason};
  return last.get(key_of(operands.gemm(), operands.initial_c() != nullptr, plan, options),
                  [&] { return measure_dense(plan, operands, options); });
}

}  // namespace deepbench::cpu
