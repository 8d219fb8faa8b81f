// The operands of a normalization in a device's memory, and the access to its outputs for
// verification. Header-only, for backends.
//
// `Memory` is the backend's access to the memory of one device. It has, beside what OutputOperands
// asks of a Memory:
//   Copies                              the backend's class of allocated arrays
//   allocate(bytes, copies)             a Copies
//   array(data, type, elements)         an Array
//   fill_values(array, values, inputs, seed)  elements of NormValues
//   replicate(copies), poison(array), synchronize()
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
#include "deepbench/ops/norm/norm.hpp"

namespace deepbench::plugin {

template <class Memory>
class NormOperands final : public OutputOperands<Memory> {
  using Copies = typename Memory::Copies;

 public:
  NormOperands(const Norm& norm, const CopyPlan& plan, Inputs inputs, uint64_t seed,
               Memory device_memory)
      : OutputOperands<Memory>(std::move(device_memory)), norm_(norm), outputs_(norm.outputs()) {
    for (int i = 0; i < kNormParts; ++i)
      parts_[size_t(i)] =
          this->memory().allocate(uint64_t(norm.part_bytes(NormPart(i))), plan.copies);
    fill(inputs, seed);
    poison_outputs();
    this->memory().synchronize();
  }

  // The bytes that the constructor allocates, with the library's workspace.
  static uint64_t needed_bytes(const Norm& norm, const CopyPlan& plan, uint64_t workspace_bytes) {
    uint64_t total = saturating_add(plan.flush_bytes, workspace_bytes);
    for (int i = 0; i < kNormParts; ++i)
      total = saturating_add(
          total, Copies::needed_bytes(uint64_t(norm.part_bytes(NormPart(i))), plan.copies));
    return total;
  }

  const Norm& norm() const { return norm_; }
  uint64_t copies() const { return parts_.front().count(); }
  // Null if the problem has no such part.
  void* at(NormPart part, uint64_t copy) const {
    return norm_.part_elements(part) == 0 ? nullptr : parts_[size_t(part)].at(copy);
  }
  // Called after the statistics from which gradients start have been computed in copy 0.
  void replicate_statistics() {
    for (const NormPart part : {NormPart::kMean, NormPart::kSpread})
      if (norm_.part_elements(part) > 0) this->memory().replicate(parts_[size_t(part)]);
    this->memory().synchronize();
  }

  uint32_t output_count() const override { return uint32_t(outputs_.size()); }
  void select_output(uint32_t output) override { selected_ = output; }
  void refill(const std::string& inputs, uint64_t seed) override {
    if (inputs == "integers") unsupported("a normalization has no exact sums of integers");
    fill(parse_inputs(inputs), seed);
    this->memory().synchronize();
  }
  void poison_outputs() override {
    for (const NormPart part : outputs_)
      for (uint64_t copy = 0; copy < copies(); ++copy) this->memory().poison(array(part, copy));
  }

 protected:
  typename Memory::Array output(uint64_t copy) const override {
    return array(outputs_[selected_], copy);
  }

 private:
  typename Memory::Array array(NormPart part, uint64_t copy) const {
    return this->memory().array(at(part, copy), norm_.type(part),
                                uint64_t(norm_.part_elements(part)));
  }
  void fill_part(NormPart part, const NormValues& values, Inputs inputs, uint64_t seed) {
    if (norm_.part_elements(part) == 0) return;
    this->memory().fill_values(array(part, 0), values, inputs, seed);
    this->memory().replicate(parts_[size_t(part)]);
  }
  void fill(Inputs inputs, uint64_t seed) {
    fill_part(NormPart::kX, Norm::kXValues, inputs, seed);
    fill_part(NormPart::kScale, Norm::kScaleValues, inputs, seed);
    fill_part(NormPart::kShift, Norm::kShiftValues, inputs, seed);
    fill_part(NormPart::kDy, Norm::kDyValues, inputs, seed);
    if (!norm_.has_running_statistics()) return;
    fill_part(NormPart::kMean, Norm::kMeanValues, inputs, seed);
    fill_part(NormPart::kSpread, Norm::kVarianceValues, inputs, seed);
  }

  const Norm norm_;
  const std::vector<NormPart> outputs_;
  uint32_t selected_ = 0;
  std::array<Copies, kNormParts> parts_;
};

}  // namespace deepbench::plugin
