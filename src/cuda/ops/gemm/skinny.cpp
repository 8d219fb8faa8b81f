// The library of built-in kernels for products of 8-bit integers with few columns.
#include <algorithm>
#include <limits>

#include "device.hpp"
#include "ops/gemm/built_in_gemm.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "ops/gemm/skinny_layout.hpp"
#include "ops/gemm/skinny_plan.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

class SkinnyCall final : public GemmCall {
 public:
  SkinnyCall(const GemmLayout& layout, const SkinnyPlan& plan, const GemmOperands& operands,
             Stream& stream)
      : GemmCall(operands),
        plan_(plan),
        workspace_(plan.workspace_bytes()),
        function_(planned_function("skinny", plan_.expression(), stream)),
        stream_(stream.get()) {
    const Gemm& run = layout.executed;
    product_.m = uint32_t(run.m);
    product_.vectors = uint32_t(run.k / SKINNY_VECTOR);
    product_.part_vectors = plan_.part_vectors;
    if (workspace_.bytes() == 0) return;
    product_.sums = reinterpret_cast<uint32_t*>(workspace_.data());
    product_.arrivals = product_.sums + run.m * run.n;
    // Every call leaves the workspace zeroed, so it is cleared only once.
    CUDA_CHECK(cudart().cudaMemsetAsync(workspace_.data(), 0, workspace_.bytes(), stream_));
  }

  void describe(plugin::Sink& sink) const override {
    function_.describe(sink);
    sink.text("note.skinny", std::to_string(plan_.blocks) + " x " + std::to_string(plan_.split) +
                                 " blocks of " + std::to_string(plan_.threads) +
                                 " threads; each thread reads " + std::to_string(plan_.depth) +
                                 " vectors of each row at once");
  }

 protected:
  void multiply(uint64_t copy) override {
    SkinnyProduct product = product_;
    product.a = operands().a(copy), product.b = operands().b(copy);
    product.c = operands().c(copy), product.d = operands().d(copy);
    function_.kernel.launch(plan_.launch(), stream_, product);
  }

 private:
  SkinnyPlan plan_;
  Buffer workspace_;
  const PlannedFunction function_;
  nvidia::cudaStream_t stream_;
  SkinnyProduct product_ = {};
};

// The requirements that can be checked without a device.
void require_skinny(const Gemm& gemm, const GemmLayout& layout) {
  if (gemm.precision.precision != Precision::kInt8)
    plugin::unsupported("skinny supports only 8-bit integers (precision=int8)");
  if (gemm.b_type != DEEPBENCH_S8)
    plugin::unsupported("skinny supports only signed 8-bit integers; use b_type=s8");
  if (gemm.batch > 1) plugin::unsupported("skinny does not support batches; use batch=1");
  if (gemm.n > SKINNY_MAX_COLUMNS)
    plugin::unsupported("skinny supports at most " + std::to_string(int(SKINNY_MAX_COLUMNS)) +
                        " columns, but n is " + std::to_string(gemm.n));
  if (std::max(gemm.m, layout.executed.k) > std::numeric_limits<int32_t>::max())
    plugin::unsupported("skinny supports only dimensions below 2^31");
  if (layout.executed.k % SKINNY_VECTOR != 0)
    plugin::unsupported(
        "skinny reads rows in whole vectors: without padding, k must be a multiple of " +
        std::to_string(int(SKINNY_VECTOR)));
}

struct Skinny {
  static constexpr const char* kName = "skinny";
  using Plan = SkinnyPlan;
  using Call = SkinnyCall;

  static GemmLayout layout(const Gemm& gemm, const plugin::Options& options) {
    return skinny_layout(gemm, options);
  }
  static std::vector<SkinnyPlan> plans(const Gemm& gemm, const GemmLayout& layout,
                                       const plugin::Options& options) {
    require_skinny(gemm, layout);
    require_gemm_on_device(gemm, options.device);
    return skinny_plans({uint32_t(gemm.m), uint32_t(gemm.n),
                         uint32_t(layout.executed.k / SKINNY_VECTOR),
                         device_facts(options.device).multiprocessors,
                         uint64_t(std::max<int64_t>(0, options.workspace))});
  }
};

}  // namespace

Implementation& skinny_gemm() { return implementation_of_plan<BuiltInGemmPlan<Skinny>>(); }

}  // namespace deepbench::cuda
