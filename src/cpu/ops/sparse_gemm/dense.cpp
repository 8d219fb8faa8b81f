// Timing the dense product with as few calls as a median needs.
#include "ops/sparse_gemm/dense.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <vector>

#include "buffer.hpp"
#include "copies.hpp"
#include "ops/gemm/mkl_api.hpp"
#include "timing.hpp"
#include "topology.hpp"
#include "workers.hpp"

namespace deepbench::cpu {
namespace {

constexpr double kMostNs = 10e9;   // of one call: longer ones are left out
constexpr double kLongNs = 1e9;    // of one call: one is enough
constexpr double kSpanNs = 100e6;  // of all calls, at least
constexpr size_t kMostCalls = 25;
constexpr int64_t kTrialShare = 16;  // of the columns, for the first call
constexpr int64_t kFewColumns = 8;   // that may be faster one by one
constexpr int kBlasByRows = 101;

void multiply_by_mkl(const DenseProduct& p) {
  mkl::Api::instance().sgemm(p.row_major ? kBlasByRows : blas::kColumnMajor,
                             blas::transposition(p.trans_a), blas::transposition(p.trans_b),
                             int(p.m), int(p.n), int(p.k), 1.0f, p.a, int(p.lda), p.b, int(p.ldb),
                             p.beta, p.c, int(p.ldc));
}

DenseEngine dense_engine() {
  DenseEngine engine = onednn_dense_engine();
  if (engine.name.empty() && mkl::Api::instance().library().loaded())
    engine = {"MKL's sgemm", [](int threads) { mkl::Api::instance().use_threads(threads); },
              multiply_by_mkl};
  return engine;
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

// A as stored, with its zeros, by columns as in gemm, or by rows where all is.
void scatter(const SparseGemm& gemm, const Csr& csr, float* dense) {
  const int64_t row_step = gemm.row_major ? csr.columns : 1;
  const int64_t column_step = gemm.row_major ? 1 : csr.rows;
  host_workers().for_parts(uint64_t(csr.rows), 64, [&](uint64_t begin, uint64_t end, size_t) {
    for (auto row = int64_t(begin); row < int64_t(end); ++row)
      for (int32_t i = csr.offsets[row]; i < csr.offsets[row + 1]; ++i)
        dense[row * row_step + csr.indices[i] * column_step] = csr.values[i];
  });
}

class DenseTimer {
 public:
  DenseTimer(const DenseEngine& engine, DenseProduct product, bool cold)
      : engine_(engine), product_(product) {
    if (cold) flusher_.emplace(plugin::kFlushPerCache * uint64_t(topology().last_level_bytes));
  }

  DenseTime run() {
    DenseProduct trial = product_;
    trial.n = std::max<int64_t>(1, product_.n / kTrialShare);
    const double expected_ns = time(trial) * double(product_.n) / double(trial.n);
    if (expected_ns > kMostNs)
      return {0, "no dense baseline: it would take about " + seconds(expected_ns)};
    one_by_one_ = product_.n > 1 && product_.n <= kFewColumns && faster_one_by_one();
    std::vector<double> times;
    for (double total = 0; wants_more(times, total); total += times.back())
      times.push_back(time(product_));
    std::nth_element(times.begin(), times.begin() + int64_t(times.size() / 2), times.end());
    return {times[times.size() / 2] / 1e3, "dense baseline: " + engine_.name + ", median of " +
                                               std::to_string(times.size()) +
                                               (times.size() == 1 ? " call" : " calls") +
                                               (one_by_one_ ? ", column by column" : "")};
  }

 private:
  static std::string seconds(double ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f s", ns / 1e9);
    return text;
  }

  static bool wants_more(const std::vector<double>& times, double total) {
    if (times.empty()) return true;
    if (times.front() > kLongNs) return false;
    return times.size() < 3 || (total < kSpanNs && times.size() < kMostCalls);
  }

  double time(const DenseProduct& product) {
    if (flusher_) flusher_->flush();
    const Clock::time_point begin = Clock::now();
    if (one_by_one_)
      multiply_columns(product);
    else
      engine_.multiply(product);
    return elapsed_ns(begin, Clock::now());
  }

  // Libraries have a kernel for a vector, and one for many columns that packs A first.
  void multiply_columns(const DenseProduct& product) {
    DenseProduct column = product;
    column.n = 1;
    for (int64_t j = 0; j < product.n; ++j) {
      engine_.multiply(column);
      column.b += product.b_step;
      column.c += product.row_major ? 1 : product.ldc;
    }
  }

  bool faster_one_by_one() {
    const double together_ns = std::min(time(product_), time(product_));
    one_by_one_ = true;
    return std::min(time(product_), time(product_)) < together_ns;
  }

  const DenseEngine& engine_;
  const DenseProduct product_;
  std::optional<CacheFlusher> flusher_;
  bool one_by_one_ = false;
};

std::string key_of(const SparseGemm& g, float beta, const plugin::Options& options) {
  std::string key = options.inputs + (options.cold ? " cold" : " hot");
  for (const int64_t part : {g.m, g.n, g.k, int64_t(g.trans_a), int64_t(g.trans_b),
                             int64_t(g.row_major), int64_t(g.least_word()), int64_t(beta),
                             int64_t(thread_count(options.threads)), int64_t(options.seed)})
    key += " " + std::to_string(part);
  return key;
}

DenseTime measure_dense(const SparseGemm& gemm, const Csr& a, const float* b, float* c, float beta,
                        const plugin::Options& options) {
  const DenseEngine engine = dense_engine();
  if (engine.name.empty()) return {0, "no dense baseline: neither oneDNN nor MKL can be used"};
  const Buffer dense(dense_bytes(gemm));
  auto* const values = reinterpret_cast<float*>(dense.data());
  scatter(gemm, a, values);
  engine.use_threads(thread_count(options.threads));
  return DenseTimer(engine, product_of(gemm, values, b, c, beta), options.cold).run();
}

}  // namespace

uint64_t dense_bytes(const SparseGemm& gemm) {
  return saturating_multiply(saturating_multiply(uint64_t(gemm.m), uint64_t(gemm.k)),
                             sizeof(float));
}

DenseTime time_dense(const SparseGemm& gemm, const Csr& a, const float* b, float* c, float beta,
                     const plugin::Options& options) {
  static std::mutex mutex;
  static std::string last_key;
  static DenseTime last;
  const std::lock_guard lock(mutex);
  const std::string key = key_of(gemm, beta, options);
  if (key != last_key) {
    last = measure_dense(gemm, a, b, c, beta, options);
    last_key = key;
  }
  return last;
}

}  // namespace deepbench::cpu
