// Copies of one operand for the rotation, all at the same alignment. Header-only, for backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "deepbench/backend/saturating_arithmetic.hpp"

namespace deepbench::plugin {

// `Memory` is a backend's buffer: Memory(bytes, arguments...) allocates, data() is its address.
// Arrays lie as near to each other as the alignment `kSmall` permits, or, from kLarge bytes on, at
// multiples of kLarge, so that every copy begins at the alignment of the first.
template <class Memory, uint64_t kSmall, uint64_t kLarge>
class Copies {
 public:
  Copies() = default;
  // Allocates `copies` arrays of `bytes`; the arguments are the Memory's.
  template <class... Arguments>
  Copies(uint64_t bytes, uint64_t copies, Arguments... arguments)
      : bytes_(bytes),
        count_(copies),
        stride_(stride_of(bytes)),
        memory_(needed_bytes(bytes, copies), arguments...) {}

  std::byte* at(uint64_t copy) const { return memory_.data() + copy * stride_; }
  uint64_t bytes() const { return bytes_; }  // of one copy
  uint64_t count() const { return count_; }

  // What the constructor allocates. Saturates.
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
