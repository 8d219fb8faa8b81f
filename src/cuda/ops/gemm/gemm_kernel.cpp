// The library-independent part of a prepared matrix product.
#include "ops/gemm/gemm_kernel.hpp"

#include "device.hpp"
#include "libraries.hpp"
#include "ops/gemm/layout.hpp"

namespace deepbench::cuda {
namespace {

// 10 times major and minor.
int capability_needed(Precision precision) {
  switch (precision) {
    case Precision::kFp8E4m3:
    case Precision::kFp8E5m2:
      return 89;
    case Precision::kBfloat16:
    case Precision::kTf32:
      return 80;
    case Precision::kInt8:
      return 75;
    default:
      return 0;
  }
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

void describe_padding(const GemmLayout& layout, plugin::Sink& sink) {
  if (layout.run.m != layout.asked.m) sink.integer("padded.m", layout.run.m);
  if (layout.run.n != layout.asked.n) sink.integer("padded.n", layout.run.n);
  if (layout.run.k != layout.asked.k) sink.integer("padded.k", layout.run.k);
  if (!layout.padding_rule.empty()) sink.text("padding_rule", layout.padding_rule);
}

// The operands that are converted then: "", "a", "b" or "a,b".
std::string converted(const GemmLayout& layout, Conversion when) {
  std::string operands = layout.a == when ? "a" : "";
  if (layout.b == when) operands += operands.empty() ? "b" : ",b";
  return operands;
}

void describe_conversion(const GemmOperands& operands, plugin::Sink& sink) {
  const GemmLayout& layout = operands.layout();
  if (const std::string before = converted(layout, Conversion::kBeforehand); !before.empty()) {
    sink.text("converted", before);
    sink.real("conversion_ns", operands.conversion_ns());
  }
  if (const std::string within = converted(layout, Conversion::kInCall); !within.empty())
    sink.text("note.conversion", "every call transposes " + within +
                                     " first, as part of its time: it is not constant in its "
                                     "application, and the product runs on it transposed");
}

// cublasGemmEx with C in place takes kernels that store by adding to memory in the output's type.
void describe_rounding(const GemmLayout& layout, plugin::Sink& sink) {
  if (!layout.in_place || size_of(layout.asked.precision.c) > 2) return;
  sink.text("accumulator", "rounded_product");
  sink.text("note.accumulator",
            "C is in place: the library may round the product to the output's type before it adds "
            "C, which is one rounding more");
}

// Ada's and Hopper's units line products up to the largest and keep 14 bits; fast accumulation
// being off, the library adds such sums in float.
void describe_accumulator(const Gemm& gemm, const Stream& stream, plugin::Sink& sink) {
  if (!is_fp8(gemm) || device_facts(stream.device()).major >= 10) return;
  sink.text("accumulator", "fp22");
  sink.text("note.accumulator",
            "this device's 8-bit floating-point units keep 14 bits of their partial sums; the "
            "library adds those in 32 bits (fast accumulation is off)");
}

}  // namespace

GemmKernel::GemmKernel(Stream& stream, const plugin::CopyPlan& plan,
                       std::unique_ptr<GemmOperands> operands, std::unique_ptr<GemmCall> call)
    : DeviceKernel(stream, plan), operands_(std::move(operands)), call_(std::move(call)) {}

void GemmKernel::enqueue(uint64_t copy) {
  operands_->convert(copy);
  call_->enqueue(*operands_, copy);
}

void GemmKernel::describe(plugin::Sink& sink) const {
  const GemmLayout& layout = operands_->layout();
  call_->describe(sink);
  plan().describe(sink);
  if (layout.in_place) {
    sink.integer("in_place", 1);
    sink.integer("restore_every", operands_->calls_in_range());
  }
  describe_padding(layout, sink);
  describe_rounding(layout, sink);
  describe_accumulator(layout.asked, where(), sink);
  describe_conversion(*operands_, sink);
}

void GemmKernel::restore() {
  where().enter();
  operands_->restore();
}

void GemmKernel::poison_outputs() {
  where().enter();
  operands_->poison();
}

void GemmKernel::read_output(const uint64_t* indices, size_t count, double* values) {
  where().enter();
  operands_->read(last_copy(), indices, count, values);
}

void GemmKernel::scan_output(deepbench_scan& scan) {
  where().enter();
  const size_t size = scan.struct_size;
  scan = operands_->scan(last_copy());
  scan.struct_size = size;
}

void GemmKernel::project_output(uint64_t rows, uint64_t seed, double* sums) {
  where().enter();
  operands_->project(last_copy(), rows, seed, sums);
}

plugin::CopyPlan plan_gemm_copies(const GemmLayout& layout, const plugin::Options& options) {
  const DeviceFacts& device = device_facts(options.device);
  return plugin::plan_copies(layout.touched_bytes(), options, device.l2_bytes, device.memory_bytes);
}

void require_gemm_on_device(const Gemm& gemm, int device) {
  if (const LibraryReport& nvrtc = report<nvidia::Nvrtc>(); !nvrtc.usable())
    plugin::unsupported("gemm needs our own kernels for its operands, and NVRTC to compile them: " +
                        nvrtc.reason);
  const std::string precision(gemm.precision.name);
  const DeviceFacts& facts = device_facts(device);
  const int capability = 10 * facts.major + facts.minor;
  const int needed = capability_needed(gemm.precision.precision);
  if (capability < needed)
    plugin::unsupported(precision + " needs a device of compute capability " +
                        capability_text(needed) + "; this one has " + capability_text(capability));
  if (gemm.precision.precision == Precision::kInt8 && gemm.b_type != DEEPBENCH_S8)
    plugin::unsupported("cuBLAS multiplies signed 8-bit integers only: use b_type=s8");
}

void unknown_gemm_candidate(const std::string& library, const std::string& candidate) {
  plugin::invalid(library + " has no candidate '" + candidate + "' for this problem");
}

}  // namespace deepbench::cuda
