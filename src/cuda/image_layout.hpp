// The places of the elements of images, n x c x h x w, in memory: channels first or last. Depends
// on no library and no device.
#pragma once

#include <array>
#include <cstdint>

#include "operand.hpp"

namespace deepbench::cuda {

struct ImageLayout {
  std::array<int64_t, 4> sizes = {};  // n, c, h, w
  deepbench_type type = DEEPBENCH_F32;
  bool channels_last = false;

  uint64_t elements() const;
  uint64_t bytes() const { return elements() * uint64_t(size_of(type)); }
  std::array<int64_t, 4> strides() const;  // in the order of `sizes`
  Matrix view(void* data) const;           // in the problem's order, channels first
};

}  // namespace deepbench::cuda
