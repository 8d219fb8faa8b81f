// Fills, poisons and reads the operands of a convolution.
#include "ops/conv/operands.hpp"

#include "device.hpp"

namespace deepbench::cuda {

ConvOperands::ConvOperands(const ConvLayout& layout, const plugin::CopyPlan& plan, Inputs inputs,
                           uint64_t seed, Stream& stream)
    : MatrixOperands(stream), layout_(layout), count_(plan.copies) {
  make_operand(layout_.x, x_, inputs, seed);
  make_operand(layout_.w, w_, inputs, seed);
  make_operand(layout_.y, y_, inputs, seed);
  poison_outputs();
  stream_.synchronize();
}

void ConvOperands::make_operand(const ConvTensor& tensor, Copies& copies, Inputs inputs,
                                uint64_t seed) {
  copies = Copies(tensor.bytes(), count_);
  if (tensor.is_padded()) copies.clear(stream_);
  if (&tensor == &layout_.output()) return;
  fill(tensor.logical_view(copies.at(0)), inputs, seed, tensor.stream, stream_);
  copies.replicate(stream_);
}

const Copies& ConvOperands::output_copies() const {
  const ConvTensor& output = layout_.output();
  return &output == &layout_.x ? x_ : &output == &layout_.w ? w_ : y_;
}

Matrix ConvOperands::output(uint64_t copy) const {
  return layout_.output().output_view(layout_.problem.output(), output_copies().at(copy));
}

void ConvOperands::describe(plugin::Sink& sink) const {
  const Conv &problem = layout_.problem, &run = layout_.executed;
  if (run.c != problem.c) sink.integer("padded.c", run.c);
  if (run.k != problem.k) sink.integer("padded.k", run.k);
  if (!layout_.padding_rule.empty()) sink.text("padding_rule", layout_.padding_rule);
  if (problem.precision.precision == Precision::kInt8) sink.text("accumulator", "float");
  const bool is_fp8 = size_of(problem.precision.a) == 1 && problem.precision.c == DEEPBENCH_BF16;
  if (is_fp8 && device_facts(stream_.device()).major < 10) {
    sink.text("accumulator", "fp22");
    sink.text("note.accumulator",
              "the 8-bit floating-point units of this device keep 14 bits of their partial sums");
  }
}

void ConvOperands::poison_outputs() {
  for (uint64_t copy = 0; copy < count_; ++copy) cuda::poison(output(copy), stream_);
}

}  // namespace deepbench::cuda
