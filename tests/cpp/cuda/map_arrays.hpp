// The arrays of a kernel that reads some arrays and writes another one, in host memory: aligned as
// on a device, with guard bytes behind the output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/host_elements.hpp"
#include "deepbench/core/generated_array.hpp"

namespace deepbench::cuda_test {

class MapArrays {
 public:
  MapArrays(const std::vector<InputArray>& inputs, deepbench_type type, uint64_t outputs,
            const std::string& mode = "uniform")
      : type_(type), outputs_(outputs), result_(vectors_for(outputs * size_of(type)) + 1) {
    KernelConditions conditions;
    conditions.inputs = mode;
    for (const InputArray& input : inputs) {
      std::vector<float> values(input.elements);
      GeneratedArray(input, conditions).read(0, int64_t(input.elements), values.data());
      inputs_.emplace_back(vectors_for(input.bytes()));
      for (size_t i = 0; i < values.size(); ++i) store(inputs_.back().data(), i, values[i]);
    }
    for (Vector& vector : result_) vector = {kGuard, kGuard};
  }

  const void* input(size_t which) const { return inputs_[which].data(); }
  void* result() { return result_.data(); }
  std::vector<double> output() const {
    std::vector<double> values;
    for (uint64_t i = 0; i < outputs_; ++i)
      values.push_back(plugin::element(result_.data(), type_, i));
    return values;
  }
  bool is_guarded() const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(result_.data());
    for (uint64_t i = outputs_ * uint64_t(size_of(type_)); i < result_.size() * sizeof(Vector); ++i)
      if (bytes[i] != 0xa5) return false;
    return true;
  }

 private:
  struct alignas(16) Vector {
    uint64_t low, high;
  };
  static constexpr uint64_t kGuard = 0xa5a5a5a5a5a5a5a5u;

  static size_t vectors_for(uint64_t bytes) { return size_t(bytes / sizeof(Vector)) + 1; }
  void store(void* to, size_t i, float value) const {
    if (type_ == DEEPBENCH_F16)
      static_cast<uint16_t*>(to)[i] = deepbench_to_half(value);
    else if (type_ == DEEPBENCH_BF16)
      static_cast<uint16_t*>(to)[i] = deepbench_to_bfloat16(value);
    else
      static_cast<float*>(to)[i] = value;
  }

  const deepbench_type type_;
  const uint64_t outputs_;
  std::vector<std::vector<Vector>> inputs_;
  std::vector<Vector> result_;
};

}  // namespace deepbench::cuda_test
