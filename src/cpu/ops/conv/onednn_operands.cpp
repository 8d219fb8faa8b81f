// Fills and reorders a convolution's operands and reads its output for verification.
#include "ops/conv/onednn_operands.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "deepbench/backend/host_timer.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"

namespace deepbench::cpu::onednn {

uint64_t conv_bytes(const ConvPlan& plan, const CopyPlan& copies) {
  uint64_t bytes = copies.flush_bytes;
  for (const ConvTensor* tensor : {&plan.inputs[0], &plan.inputs[1], &plan.output})
    bytes = saturating_add(bytes, Copies::needed_bytes(tensor->stored_bytes(), copies.copies));
  for (const ConvTensor& input : plan.inputs)
    if (!input.is_plain()) bytes = saturating_add(bytes, input.plain_bytes());
  if (!plan.is_ordered() || !plan.output.is_plain())
    bytes = saturating_add(bytes, plan.output.plain_bytes());
  return bytes;
}

ConvOperands::ConvOperands(std::shared_ptr<const ConvPlan> plan, const CopyPlan& copies,
                           Inputs inputs, uint64_t seed)
    : shared_plan_(std::move(plan)),
      copies_(copies.copies),
      output_(plan_.output.stored_bytes(), copies.copies) {
  for (size_t which : {0, 1}) make_input(which, inputs, seed);
  poison_outputs();
  time_output_reorder();
}

void ConvOperands::make_input(size_t which, Inputs inputs, uint64_t seed) {
  const ConvTensor& tensor = plan_.inputs[which];
  const auto plain =
      OperandCache::instance().get(tensor.type, tensor.elements, inputs, seed, tensor.stream);
  if (copies_ == 1 && tensor.is_plain()) {
    shared_[which] = plain;
    return;
  }
  inputs_[which] = Copies(tensor.stored_bytes(), copies_);
  if (tensor.is_plain()) {
    std::memcpy(inputs_[which].at(0), plain->data(), tensor.plain_bytes());
  } else {
    const std::vector<double> times =
        reorder(tensor.plain.get(), plain->data(), tensor.stored, inputs_[which].at(0));
    if (tensor.stream == Conv::kStreamW)
      filters_reorders_ = times;
    else
      activations_reorder_ns_ += plugin::median_ns(times);
  }
  inputs_[which].replicate();
}

void ConvOperands::time_output_reorder() {
  if (plan_.is_ordered() && plan_.output.is_plain()) return;
  ordered_ = Buffer(plan_.output.plain_bytes());
  if (!plan_.output.is_plain())
    activations_reorder_ns_ += plugin::median_ns(
        reorder(plan_.output.stored, result(0), plan_.output.plain.get(), ordered_.data()));
}

void* ConvOperands::input(size_t which, uint64_t copy) const {
  return shared_[which] ? shared_[which]->data() : inputs_[which].at(copy);
}

void ConvOperands::describe(plugin::Sink& sink) const {
  for (const ConvTensor& input : plan_.inputs) {
    if (input.type != DEEPBENCH_S7) continue;
    sink.text("fill.w", "s7");
    sink.text("note.inputs",
              "the filters hold values in [-64, 63]: without VNNI, products of 8-bit integers "
              "pass through 16-bit sums, which saturate for the full range");
  }
}

// Poisons the whole stored tensor, including the padding of the library's blocks.
void ConvOperands::poison_outputs() {
  const ConvTensor& tensor = plan_.output;
  for (uint64_t copy = 0; copy < copies_; ++copy)
    cpu::poison(result(copy), tensor.type, tensor.stored_bytes() / uint64_t(size_of(tensor.type)));
}

HostMemory::Array ConvOperands::output(uint64_t copy) const {
  const ConvTensor& tensor = plan_.output;
  if (plan_.is_ordered()) return {output_.at(copy), tensor.type, tensor.elements};
  reorder(tensor.stored, result(copy), plan_.ordered.get(), ordered_.data(), 1);
  return {ordered_.data(), tensor.type, tensor.elements};
}

}  // namespace deepbench::cpu::onednn
