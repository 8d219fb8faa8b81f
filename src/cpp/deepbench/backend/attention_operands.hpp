// The operands of attention in a backend's memory, and the access to its outputs for verification.
// Header-only, for backends.
//
// `Memory` is the backend's access to the memory of one device. It has, beside what OutputOperands
// asks of a Memory:
//   Copies                             the backend's class of allocated arrays
//   allocate(bytes, copies), synchronize()
//   fill(array, inputs, seed, operand), fill_integers(array, integers, seed, operand)
//   scale(array, factor), replicate(copies), poison(array)
// An Array is made of its data, its type and the number of its elements.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/ops/attention/attention.hpp"

namespace deepbench::plugin {

template <class Memory>
class AttentionOperands final : public OutputOperands<Memory> {
  using Copies = typename Memory::Copies;
  using Array = typename Memory::Array;

 public:
  AttentionOperands(const Attention& attention, const CopyPlan& plan, Inputs inputs, uint64_t seed,
                    Memory device_memory = Memory())
      : OutputOperands<Memory>(std::move(device_memory)),
        attention_(attention),
        outputs_(attention.outputs()),
        count_(plan.copies) {
    for (int i = 0; i < kAttentionParts; ++i)
      parts_[size_t(i)] = memory().allocate(bytes(attention, AttentionPart(i)), count_);
    fill_inputs(inputs, seed);
    poison_outputs();
    memory().synchronize();
  }

  // The bytes that the constructor allocates, and those that flush the caches.
  static uint64_t needed_bytes(const Attention& attention, const CopyPlan& plan) {
    uint64_t needed = plan.flush_bytes;
    for (int i = 0; i < kAttentionParts; ++i)
      needed = saturating_add(
          needed, Copies::needed_bytes(bytes(attention, AttentionPart(i)), plan.copies));
    return needed;
  }
  static uint64_t touched_bytes(const Attention& attention) { return uint64_t(attention.bytes()); }

  uint64_t copies() const { return count_; }
  // Null if the problem has no such part.
  void* at(AttentionPart part, uint64_t copy) const {
    return attention_.elements(part) == 0 ? nullptr : parts_[size_t(part)].at(copy);
  }
  // Called after the forward pass whose gradients are computed has left its results in copy 0.
  void replicate_forward_results() {
    for (const AttentionPart part : {AttentionPart::kO, AttentionPart::kLogSum})
      memory().replicate(parts_[size_t(part)]);
    memory().synchronize();
  }

  uint32_t output_count() const override { return uint32_t(outputs_.size()); }
  void select_output(uint32_t output) override { selected_ = output; }
  void refill(const std::string& inputs, uint64_t seed) override {
    fill_inputs(parse_refill_inputs(inputs), seed);
  }
  void poison_outputs() override {
    for (const AttentionPart part : outputs_)
      for (uint64_t copy = 0; copy < count_; ++copy) memory().poison(array(part, copy));
  }

 protected:
  using OutputOperands<Memory>::memory;

  Array output(uint64_t copy) const override { return array(outputs_[selected_], copy); }

 private:
  static uint64_t bytes(const Attention& attention, AttentionPart part) {
    return saturating_multiply(uint64_t(attention.elements(part)),
                               uint64_t(size_of(attention.type_of(part))));
  }
  Array array(AttentionPart part, uint64_t copy) const {
    return {at(part, copy), attention_.type_of(part), uint64_t(attention_.elements(part))};
  }

  void fill_inputs(Inputs inputs, uint64_t seed) {
    fill_input(AttentionPart::kQ, inputs, seed, Attention::kStreamQ);
    fill_input(AttentionPart::kK, inputs, seed, Attention::kStreamK);
    fill_input(AttentionPart::kV, inputs, seed, Attention::kStreamV);
    fill_input(AttentionPart::kDo, inputs, seed, Attention::kStreamDo);
    fill_input(AttentionPart::kSink, inputs, seed, Attention::kStreamSink);
  }
  void fill_input(AttentionPart part, Inputs inputs, uint64_t seed, uint32_t stream) {
    if (attention_.elements(part) == 0) return;
    const Array to = array(part, 0);
    if (inputs == Inputs::kIntegers) {
      memory().fill_integers(to, attention_.integers(stream), seed, stream);
    } else {
      memory().fill(to, inputs, seed, stream);
      if (part == AttentionPart::kSink) memory().scale(to, Attention::kSinkScale);
    }
    memory().replicate(parts_[size_t(part)]);
  }

  const Attention attention_;
  const std::vector<AttentionPart> outputs_;
  const uint64_t count_;
  uint32_t selected_ = 0;
  std::array<Copies, kAttentionParts> parts_;
};

}  // namespace deepbench::plugin
