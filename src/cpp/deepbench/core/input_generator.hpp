// The contents of operands, for references: runs fill.h's generator over many consecutive elements
// at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/fill.h"

namespace deepbench {

class DEEPBENCH_API InputGenerator {
 public:
  // The small integers of the operands with the streams 0 to 4.
  using SmallIntegers = std::array<deepbench_small_integers, 5>;

  // `mode` is "uniform", "zeros" or "ones". Throws std::invalid_argument for another one.
  InputGenerator(uint64_t seed, const std::string& mode);
  // Generates small integers in operands of floating-point types.
  InputGenerator(uint64_t seed, const SmallIntegers& integers)
      : seed_(seed), constant_(false), value_(0), integers_(integers) {}

  // Whether all elements of all operands are equal.
  bool is_constant() const { return constant_; }

  double element(deepbench_type type, uint32_t stream, uint64_t index) const {
    if (integers_) return deepbench_small_integer((*integers_)[stream], seed_, stream, index);
    return constant_ ? value_ : deepbench_element(type, seed_, stream, index);
  }

  // out[i] = element first + i * stride. A float holds every type exactly except F64.
  void fill(deepbench_type type, uint32_t stream, uint64_t first, uint64_t stride, int64_t count,
            float* out) const;

  // The mean square of an element, which error bounds need.
  double mean_square(deepbench_type type, uint32_t stream = 0) const;

 private:
  uint64_t seed_;
  bool constant_;
  float value_;
  std::optional<SmallIntegers> integers_;
};

// out[i] = deepbench_weight(seed, first + i); a float holds each weight exactly.
DEEPBENCH_API void fill_weights(uint64_t seed, uint64_t first, int64_t count, float* out);

// out[i] = the upper half of deepbench_bits(seed, stream, first + i).
DEEPBENCH_API void fill_words(uint64_t seed, uint32_t stream, uint64_t first, int64_t count,
                              uint32_t* out);

}  // namespace deepbench
