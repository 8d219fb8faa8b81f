// Copies of one operand for the rotation, all at the same alignment. Header-only, for backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "deepbench/backend/saturating_arithmetic.hpp"

namespace deepbench::plugin {

// `Memory` is the backend's buffer class: Memory(bytes, arguments...) allocates, and data() returns
// the address. An array of fewer than kLarge bytes occupies a multiple of kSmall bytes, a larger
// one a multiple of kLarge, so that every copy has the alignment of the first.
template <class Memory, uint64_t kSmall, uint64_t kLarge>
class Copies {
 public:
  Copies() = default;
  // Allocates `copies` arrays of `bytes`. Further arguments go to the constructor of Memory.
  template <class... Arguments>
  Copies(uint64_t bytes, uint64_t copies, Arguments... arguments)
      : bytes_(bytes),
        count_(copies),
        stride_(stride_of(bytes)),
        memory_(needed_bytes(bytes, copies), arguments...) {}

  std::byte* at(uint64_t copy) const { return memory_.data() + copy * stride_; }
  uint64_t bytes() const { return bytes_; }  // bytes of one copy
  uint64_t count() const { return count_; }

  // The bytes that the constructor allocates; saturates.
  static uint64_t needed_bytes(uint64_t bytes, uint64_t copies) {
    if (bytes > std::numeric_limits<uint64_t>::max() / 4) return bytes;
    return saturating_multiply(stride_of(bytes), copies);
  }

 private:
  static uint64_t stride_of(uint64_t bytes) {
    const uint64_t step = bytes < kLarge ? kSmall : kLarge;
    return (bytes + step - 1) / step * step;
  }

  uint64_t bytes_ = 0, count_ = 0, stride_ = 0;
  Memory memory_;
};

}  // namespace deepbench::plugin
