// Host memory in place of a device's, for tests of the operands that backends share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepbench::testing {

// Not zero at first, as the memory of a device.
class HostBuffer {
 public:
  HostBuffer() = default;
  explicit HostBuffer(uint64_t bytes) : bytes_(bytes, std::byte{0x55}) {}
  std::byte* data() const { return const_cast<std::byte*>(bytes_.data()); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace deepbench::testing
