// The numbers of an input array, for references.
#pragma once

#include <cstdint>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/input_array.hpp"
#include "deepbench/core/input_generator.hpp"

namespace deepbench {

class DEEPBENCH_API GeneratedArray {
 public:
  GeneratedArray(const InputArray& array, const KernelConditions& conditions);

  // out[i] = element first + i.
  void read(uint64_t first, int64_t count, float* out) const;

 private:
  const InputArray array_;
  const InputGenerator generator_;
  const float scale_;
};

}  // namespace deepbench
