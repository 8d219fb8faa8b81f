// The operands of a call that reads some arrays and writes another one. Header-only, for backends.
//
// `Memory` is the backend's access to the arrays of one device. It has, beside what OutputOperands
// asks of it (an Array is constructed from data, type and elements):
//   Copies                                   the backend's class of allocated arrays
//   allocate(bytes, copies)                  a Copies
//   fill(array, inputs, seed, operand), fill_integers(array, integers, seed, operand)
//                                            the values of fill.h
//   scale(array, factor)                     multiplies every element by a power of two
//   replicate(copies), poison(array), synchronize()
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/core/input_array.hpp"

namespace deepbench::plugin {

// The arrays of a call. The output has the stream of no input.
struct CallArrays {
  std::vector<InputArray> inputs;
  deepbench_type output_type = DEEPBENCH_F32;
  uint64_t outputs = 0;

  uint64_t output_bytes() const {
    return saturating_multiply(outputs, uint64_t(size_of(output_type)));
  }
  uint64_t touched_bytes() const {
    uint64_t bytes = output_bytes();
    for (const InputArray& input : inputs) bytes = saturating_add(bytes, input.bytes());
    return bytes;
  }
  // The arrays that ArrayMapOperands allocates.
  template <class Copies>
  uint64_t needed_bytes(const CopyPlan& plan) const {
    uint64_t bytes =
        saturating_add(Copies::needed_bytes(output_bytes(), plan.copies), plan.flush_bytes);
    for (const InputArray& input : inputs)
      bytes = saturating_add(bytes, Copies::needed_bytes(input.bytes(), plan.copies));
    return bytes;
  }
};

template <class Memory>
class ArrayMapOperands final : public OutputOperands<Memory> {
  using Base = OutputOperands<Memory>;
  using Copies = typename Memory::Copies;

 public:
  ArrayMapOperands(CallArrays arrays, const CopyPlan& plan, Inputs inputs, uint64_t seed,
                   Memory memory = Memory())
      : Base(std::move(memory)),
        arrays_(std::move(arrays)),
        output_(this->memory().allocate(arrays_.output_bytes(), plan.copies)) {
    for (const InputArray& input : arrays_.inputs)
      inputs_.push_back(this->memory().allocate(input.bytes(), plan.copies));
    fill(inputs, seed);
    poison_outputs();
  }

  uint64_t copies() const { return output_.count(); }
  void* input(size_t which, uint64_t copy) const { return inputs_[which].at(copy); }
  void* result(uint64_t copy) const { return output_.at(copy); }

  void refill(const std::string& inputs, uint64_t seed) override {
    fill(parse_refill_inputs(inputs), seed);
  }
  void poison_outputs() override {
    for (uint64_t copy = 0; copy < copies(); ++copy) this->memory().poison(output(copy));
    this->memory().synchronize();
  }

 protected:
  typename Memory::Array output(uint64_t copy) const override {
    return {output_.at(copy), arrays_.output_type, arrays_.outputs};
  }

 private:
  void fill(Inputs inputs, uint64_t seed) {
    for (size_t which = 0; which < inputs_.size(); ++which)
      fill(arrays_.inputs[which], inputs_[which], inputs, seed);
    this->memory().synchronize();
  }
  void fill(const InputArray& input, const Copies& copies, Inputs inputs, uint64_t seed) {
    const typename Memory::Array array = {copies.at(0), input.type, input.elements};
    const bool integers = inputs == Inputs::kIntegers;
    if (integers)
      this->memory().fill_integers(array, input.integers, seed, input.stream);
    else
      this->memory().fill(array, inputs, seed, input.stream);
    if (const float factor = integers ? input.integer_scale : input.scale; factor != 1)
      this->memory().scale(array, factor);
    this->memory().replicate(copies);
  }

  const CallArrays arrays_;
  std::vector<Copies> inputs_;
  Copies output_;
};

}  // namespace deepbench::plugin
