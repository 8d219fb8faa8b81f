// The library of built-in kernels for products of 16-bit types with few columns.
#include <algorithm>
#include <limits>

#include "device.hpp"
#include "ops/gemm/built_in_gemm.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "ops/gemm/skinny_layout.hpp"
#include "ops/gemm/skinny_mma_plan.hpp"

namespace deepbench::cuda {
namespace {

class SkinnyMmaCall final : public GemmCall {
 public:
  SkinnyMmaCall(const GemmLayout& layout, const SkinnyMmaPlan& plan, const GemmOperands& operands,
                Stream& stream)
      : GemmCall(operands),
        plan_(plan),
        function_(planned_function("skinny_mma", plan_.expression(), stream)),
        stream_(stream.get()) {
    product_.m = uint32_t(layout.executed.m);
    product_.n = uint32_t(layout.executed.n);
    product_.k = uint32_t(layout.executed.k);
    product_.part_steps = plan_.part_steps;
  }

  void describe(plugin::Sink& sink) const override {
    function_.describe(sink);
    const uint32_t split = plan_.shape.split;
    sink.text("note.skinny_mma",
              std::to_string(plan_.blocks / split) + " x " + std::to_string(split) + " blocks of " +
                  std::to_string(plan_.shape.warps) + " warps; each warp reads " +
                  std::to_string(SKINNY_MMA_DEPTH * SKINNY_MMA_STEP) +
                  " elements of each row at once");
  }

 protected:
  void multiply(uint64_t copy) override {
    SkinnyMmaProduct product = product_;
    product.a = static_cast<const uint16_t*>(operands().a(copy));
    product.b = static_cast<const uint16_t*>(operands().b(copy));
    product.c = static_cast<const uint16_t*>(operands().c(copy));
    product.d = static_cast<uint16_t*>(operands().d(copy));
    function_.kernel.launch(plan_.launch(), stream_, product);
  }

 private:
  SkinnyMmaPlan plan_;
  const PlannedFunction function_;
  nvidia::cudaStream_t stream_;
  SkinnyMmaProduct product_ = {};
};

// The requirements that can be checked without a device.
void require_skinny_mma(const Gemm& gemm, const Gemm& run) {
  if (gemm.precision.precision != Precision::kHalf &&
      gemm.precision.precision != Precision::kBfloat16)
    plugin::unsupported("skinny_mma supports only half and bfloat16");
  if (gemm.has_epilogue())
    plugin::unsupported("skinny_mma has no products with an epilogue; use epilogue=none");
  if (gemm.batch > 1) plugin::unsupported("skinny_mma does not support batches; use batch=1");
  if (gemm.n > SKINNY_MMA_MAX_COLUMNS)
    plugin::unsupported("skinny_mma supports at most " + std::to_string(SKINNY_MMA_MAX_COLUMNS) +
                        " columns, but n is " + std::to_string(gemm.n));
  if (std::max(run.m, run.k) > std::numeric_limits<int32_t>::max())
    plugin::unsupported("skinny_mma supports only dimensions below 2^31");
  if (run.m % SKINNY_MMA_GRAIN != 0 || run.k % SKINNY_MMA_GRAIN != 0)
    plugin::unsupported(
        "skinny_mma reads whole vectors: without padding, m and k must be multiples of " +
        std::to_string(SKINNY_MMA_GRAIN));
}

struct SkinnyMma {
  static constexpr const char* kName = "skinny_mma";
  using Plan = SkinnyMmaPlan;
  using Call = SkinnyMmaCall;

  static GemmLayout layout(const Gemm& gemm, const plugin::Options& options) {
    return skinny_mma_layout(gemm, options);
  }
  static std::vector<SkinnyMmaPlan> plans(const Gemm& gemm, const GemmLayout& layout,
                                          const plugin::Options& options) {
    const Gemm& run = layout.executed;
    require_skinny_mma(gemm, run);
    require_gemm_on_device(gemm, options.device);
    const DeviceFacts& device = device_facts(options.device);
    if (device.major < 8)
      plugin::unsupported("skinny_mma needs a device of compute capability 8.0 or higher");
    return skinny_mma_plans({gemm.precision.a, run.trans_a, uint32_t(run.m), uint32_t(run.n),
                             uint32_t(run.k), device.multiprocessors, device.major >= 9});
  }
};

}  // namespace

Implementation& skinny_mma_gemm() { return implementation_of_plan<BuiltInGemmPlan<SkinnyMma>>(); }

}  // namespace deepbench::cuda
