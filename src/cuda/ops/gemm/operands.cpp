// The additions of a matrix product on an NVIDIA device to the shared operands: the size of its
// cache, and the roundings of its libraries and units.
#include "ops/gemm/operands.hpp"

#include "device.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

plugin::CopyPlan plan_copies(const GemmLayout& layout, const plugin::Options& options) {
  const uint64_t bytes = layout.touched_bytes();
  return plugin::mark_schedule_sensitive(plan_copies(bytes, options), bytes,
                                         device_facts(options.device).l2_bytes);
}

GemmOperands::GemmOperands(const GemmLayout& layout, const plugin::CopyPlan& plan, Inputs inputs,
                           uint64_t seed, Stream& stream)
    : plugin::GemmOperands<DeviceMemory>(layout, plan, inputs, seed, DeviceMemory(stream)) {}

void GemmOperands::describe_rounding(plugin::Sink& sink) const {
  describe_sum_in_place(sink);
  describe_gelu(sink);
  describe_accumulator(sink);
}

// With C in place, cublasGemmEx may use kernels that add the product to memory in the output's
// type.
void GemmOperands::describe_sum_in_place(plugin::Sink& sink) const {
  if (!layout().in_place || size_of(layout().problem.precision.c) > 2) return;
  sink.text("accumulator", "rounded_product");
  sink.text("note.accumulator",
            "C is in place: the library may round the product to the output's type before it adds "
            "C, which adds one rounding");
}

// It is not documented whether cuBLASLt uses the hardware's approximation of tanh. In float it does
// not (tests/cpp/cuda/gemm.cpp compares it with an exact tanh).
void GemmOperands::describe_gelu(plugin::Sink& sink) const {
  const Gemm& gemm = layout().problem;
  if (gemm.epilogue != Epilogue::kGelu || size_of(gemm.precision.c) > 2) return;
  sink.text("accumulator", "approximate_tanh");
  sink.text("note.accumulator",
            "the library may take gelu's tanh from the hardware, whose error is up to 2^-11");
}

// The tensor cores of Ada and Hopper align products to the largest one and keep 14 bits. Fast
// accumulation is off, so the library adds these partial sums in float.
void GemmOperands::describe_accumulator(plugin::Sink& sink) const {
  if (!layout().problem.is_fp8() || device_facts(memory().device()).major >= 10) return;
  sink.text("accumulator", "fp22");
  sink.text("note.accumulator",
            "the 8-bit floating-point units of this device keep 14 bits of their partial sums; the "
            "library adds these sums in 32 bits (fast accumulation is off)");
}

}  // namespace deepbench::cuda

template class deepbench::plugin::GemmOperands<deepbench::cuda::DeviceMemory>;
