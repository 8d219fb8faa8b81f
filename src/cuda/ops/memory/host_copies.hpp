// Arrays in host memory, one for each copy of the device's operands, aligned to pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer.hpp"

namespace deepbench::cuda {

class HostCopies {
 public:
  HostCopies() = default;
  HostCopies(uint64_t bytes, uint64_t copies, bool pageable)
      : count_(copies),
        stride_((bytes + kPage - 1) / kPage * kPage),
        buffer_(stride_ * copies, pageable) {}

  std::byte* at(uint64_t copy) const { return buffer_.data() + copy * stride_; }
  uint64_t count() const { return count_; }

 private:
  static constexpr uint64_t kPage = 4096;
  uint64_t count_ = 0, stride_ = 0;
  HostBuffer buffer_;
};

}  // namespace deepbench::cuda
