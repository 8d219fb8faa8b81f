// Measures the dense product with the default algorithm of cuBLASLt.
#include "ops/sparse_gemm/dense_baseline.hpp"

#include <algorithm>
#include <mutex>

#include "device.hpp"
#include "ops/gemm/cublaslt_plan.hpp"
#include "ops/sparse_gemm/csr.hpp"
#include "timing.hpp"

namespace deepbench::cuda {
namespace {

constexpr double kMaxFlops = 5e13;  // per call; larger products have no baseline
// Per operand, because larger ones are not tried in any library.
constexpr uint64_t kMaxBytes = uint64_t{1} << 34;

struct DenseProduct {
  std::string metric;
  std::string_view precision;
};

std::vector<DenseProduct> dense_products(const SparseGemm& gemm) {
  std::vector<DenseProduct> all = {{"dense_time", gemm.precision.name}};
  if (gemm.precision.precision == Precision::kFloat) all.push_back({"dense_time_tf32", "tf32"});
  return all;
}

// Throws plugin::Error (unsupported) if the dense product is not measured.
lt::Plan plan_dense(const SparseGemm& gemm, std::string_view precision, plugin::Options options) {
  const Gemm dense = dense_product(gemm, precision_info(precision));
  if (dense.flops() > kMaxFlops) plugin::unsupported("the product would take too long");
  options.candidate.clear();
  lt::Plan plan = lt::plan_gemm(dense, options);
  if (std::max(plan.layout.a_bytes(), plan.layout.b_bytes()) > kMaxBytes)
    plugin::unsupported("the dense matrix takes more than 16 GiB");
  return plan;
}

uint64_t needed_bytes(const lt::Plan& plan, const plugin::Options& options) {
  return plan.layout.needed_bytes(plan_copies(plan.layout.touched_bytes(), options),
                                  plan.workspace_bytes);
}

// Fills the dense A, by rows or by columns, and clears its zeros.
void make_sparse(const SparseGemm& gemm, const GemmOperands& operands, uint64_t copy, Inputs inputs,
                 uint64_t seed, const Stream& stream) {
  const Gemm& run = operands.layout().executed;
  const auto rows = uint64_t(gemm.rows_a()), columns = uint64_t(gemm.columns_a());
  const auto stride = uint64_t(gemm.row_major ? run.rows_b() : run.rows_a());
  void* const data = gemm.row_major ? operands.b(copy) : operands.a(copy);
  const Matrix matrix = {data,
                         gemm.precision.a,
                         rows,
                         columns,
                         gemm.row_major ? stride : 1,
                         gemm.row_major ? 1 : stride};
  fill(matrix, inputs, seed, SparseGemm::kStreamA, stream);
  clear_zeros({data, gemm.row_major ? rows_of_a(gemm) : columns_of_a(gemm), stride}, gemm, seed,
              stream);
}

double time_product(const SparseGemm& gemm, std::string_view precision,
                    const plugin::Options& options) {
  const lt::Plan plan = plan_dense(gemm, precision, options);
  if (needed_bytes(plan, options) > memory_available(options.device))
    plugin::unsupported("the dense matrix does not fit into memory");
  Stream& stream = Stream::of(options.device);
  const Inputs inputs = parse_inputs(options.inputs);
  const plugin::CopyPlan copies = plan_copies(plan.layout.touched_bytes(), options);
  GemmOperands operands(plan.layout, copies, inputs, options.seed, stream);
  for (uint64_t copy = 0; copy < copies.copies; ++copy)
    make_sparse(gemm, operands, copy, inputs, options.seed, stream);
  const auto call = lt::make_call(plan, operands, stream);
  return time_calls(
             stream, [&](uint64_t copy) { call->enqueue(copy); }, copies) /
         1e3;
}

DenseBaseline measure_baseline(const SparseGemm& gemm, const plugin::Options& options) {
  DenseBaseline baseline;
  std::string precisions;
  for (const auto& [metric, precision] : dense_products(gemm)) try {
      baseline.times.push_back({metric, time_product(gemm, precision, options)});
      precisions += (precisions.empty() ? "" : " and ") + std::string(precision);
    } catch (const plugin::Error& error) {
      if (error.status() == DEEPBENCH_DEVICE_LOST) throw;
      baseline.note = "no dense baseline in " + std::string(precision) + ": " + error.what();
      return baseline;
    }
  baseline.note = "dense baseline: cuBLASLt " + lt::version() + " in " + precisions;
  return baseline;
}

std::string key_of(const SparseGemm& g, const plugin::Options& o) {
  std::string key = std::string(g.precision.name) + " " + o.inputs + (o.cold ? " cold" : " hot");
  for (const int64_t part :
       {g.m, g.n, g.k, int64_t(g.trans_a), int64_t(g.trans_b), int64_t(g.row_major),
        int64_t(g.nonzero_threshold()), int64_t(o.device), int64_t(o.seed), o.copies, o.workspace,
        int64_t(o.pad)})
    key += " " + std::to_string(part);
  return key;
}

}  // namespace

Gemm dense_product(const SparseGemm& gemm, const PrecisionInfo& precision) {
  Gemm dense;
  dense.k = gemm.k;
  dense.m = gemm.row_major ? gemm.n : gemm.m;
  dense.n = gemm.row_major ? gemm.m : gemm.n;
  dense.trans_a = gemm.row_major ? gemm.trans_b : gemm.trans_a;
  dense.trans_b = gemm.row_major ? gemm.trans_a : gemm.trans_b;
  dense.precision = precision;
  dense.b_type = precision.b;
  return dense;
}

void DenseBaseline::describe(plugin::Sink& sink) const {
  for (const Time& time : times) sink.metric(time.metric, time.us, "us", "lower");
  if (!note.empty()) sink.text("note.dense", note);
}

uint64_t dense_bytes(const SparseGemm& gemm, const plugin::Options& options) {
  uint64_t max_bytes = 0;
  for (const auto& [metric, precision] : dense_products(gemm)) try {
      max_bytes = std::max(max_bytes, needed_bytes(plan_dense(gemm, precision, options), options));
    } catch (const plugin::Error& error) {
      if (error.status() == DEEPBENCH_DEVICE_LOST) throw;
    }
  return max_bytes <= memory_available(options.device) ? max_bytes : 0;
}

DenseBaseline time_dense(const SparseGemm& gemm, const plugin::Options& options) {
  static std::mutex mutex;
  static std::string last_key;
  static DenseBaseline last;
  const std::lock_guard<std::mutex> lock(mutex);
  const std::string key = key_of(gemm, options);
  if (key != last_key) {
    last = measure_baseline(gemm, options);
    last_key = key;
  }
  return last;
}

}  // namespace deepbench::cuda
