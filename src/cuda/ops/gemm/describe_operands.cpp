// The row entries about a matrix product's operands: padding, conversions and additional roundings.
#include "device.hpp"
#include "ops/gemm/operands.hpp"

namespace deepbench::cuda {
namespace {

constexpr int64_t kManyCalls = 1 << 20;

}  // namespace

void GemmOperands::describe(plugin::Sink& sink) const {
  if (layout_.in_place) {
    sink.integer("in_place", 1);
    sink.integer("restore_every", calls_before_overflow());
  }
  describe_padding(sink);
  describe_rounding(sink);
  describe_accumulator(sink);
  describe_conversion(sink);
}

int64_t GemmOperands::calls_before_overflow() const {
  return deepbench::calls_before_overflow(layout_.problem, inputs_ == Inputs::kUniform, kManyCalls);
}

void GemmOperands::describe_padding(plugin::Sink& sink) const {
  if (layout_.executed.m != layout_.problem.m) sink.integer("padded.m", layout_.executed.m);
  if (layout_.executed.n != layout_.problem.n) sink.integer("padded.n", layout_.executed.n);
  if (layout_.executed.k != layout_.problem.k) sink.integer("padded.k", layout_.executed.k);
  if (!layout_.padding_rule.empty()) sink.text("padding_rule", layout_.padding_rule);
}

// The operands that are converted at the given time: "", "a", "b" or "a,b".
std::string GemmOperands::operands_converted(Conversion when) const {
  std::string operands = layout_.a == when ? "a" : "";
  if (layout_.b == when) operands += operands.empty() ? "b" : ",b";
  return operands;
}

void GemmOperands::describe_conversion(plugin::Sink& sink) const {
  if (const std::string beforehand = operands_converted(Conversion::kBeforehand);
      !beforehand.empty()) {
    sink.text("converted", beforehand);
    sink.real("conversion_ns", conversion_ns_);
  }
  if (const std::string in_call = operands_converted(Conversion::kInCall); !in_call.empty())
    sink.text("note.conversion", "every call first transposes " + in_call +
                                     ", which is included in its time: the operand is not constant "
                                     "in its application, and the library computes the product "
                                     "with the transposed operand");
}

// With C in place, cublasGemmEx may use kernels that add the product to memory in the output's
// type.
void GemmOperands::describe_rounding(plugin::Sink& sink) const {
  if (!layout_.in_place || size_of(layout_.problem.precision.c) > 2) return;
  sink.text("accumulator", "rounded_product");
  sink.text("note.accumulator",
            "C is in place: the library may round the product to the output's type before it adds "
            "C, which adds one rounding");
}

// The tensor cores of Ada and Hopper align products to the largest one and keep 14 bits. Fast
// accumulation is off, so the library adds these partial sums in float.
void GemmOperands::describe_accumulator(plugin::Sink& sink) const {
  if (!is_fp8(layout_.problem) || device_facts(stream_.device()).major >= 10) return;
  sink.text("accumulator", "fp22");
  sink.text("note.accumulator",
            "the 8-bit floating-point units of this device keep 14 bits of their partial sums; the "
            "library adds these sums in 32 bits (fast accumulation is off)");
}

}  // namespace deepbench::cuda
