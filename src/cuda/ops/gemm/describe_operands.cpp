// What a row says of a matrix product's operands: padding, conversions, roundings of their own.
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

// The operands that are converted then: "", "a", "b" or "a,b".
std::string GemmOperands::converted(Conversion when) const {
  std::string operands = layout_.a == when ? "a" : "";
  if (layout_.b == when) operands += operands.empty() ? "b" : ",b";
  return operands;
}

void GemmOperands::describe_conversion(plugin::Sink& sink) const {
  if (const std::string before = converted(Conversion::kBeforehand); !before.empty()) {
    sink.text("converted", before);
    sink.real("conversion_ns", conversion_ns_);
  }
  if (const std::string within = converted(Conversion::kInCall); !within.empty())
    sink.text("note.conversion", "every call transposes " + within +
                                     " first, as part of its time: it is not constant in its "
                                     "application, and the product runs on it transposed");
}

// cublasGemmEx with C in place takes kernels that store by adding to memory in the output's type.
void GemmOperands::describe_rounding(plugin::Sink& sink) const {
  if (!layout_.in_place || size_of(layout_.problem.precision.c) > 2) return;
  sink.text("accumulator", "rounded_product");
  sink.text("note.accumulator",
            "C is in place: the library may round the product to the output's type before it adds "
            "C, which is one rounding more");
}

// Ada's and Hopper's units line products up to the largest and keep 14 bits; fast accumulation
// being off, the library adds such sums in float.
void GemmOperands::describe_accumulator(plugin::Sink& sink) const {
  if (!is_fp8(layout_.problem) || device_facts(stream_.device()).major >= 10) return;
  sink.text("accumulator", "fp22");
  sink.text("note.accumulator",
            "this device's 8-bit floating-point units keep 14 bits of their partial sums; the "
            "library adds those in 32 bits (fast accumulation is off)");
}

}  // namespace deepbench::cuda
