// The elements of operands in host memory, by the type that stores them, and the workers that share
// loops over them. Header-only, for backends.
//
// `Workers` of host_fill.hpp, host_scan.hpp and host_projection.hpp has:
//   size()                           workers at most
//   parallel_for(count, grain, part) calls part(begin, end, worker) at most once for each worker <
//                                    size(), for parts that together are [0, count); all but the
//                                    last are multiples of `grain`. Returns when all have finished.
// Most of the time of large problems is spent in these loops, which are compiled for every vector
// unit. A file that includes them must be compiled with -O3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"

namespace deepbench::plugin {

// In elements. For fewer, waking workers takes longer than the loop.
inline constexpr uint64_t kHostGrain = 1 << 15;

// Takes the place of a pool of threads where the calling thread does all work.
struct CallingThread {
  size_t size() const { return 1; }
  template <class Part>
  void parallel_for(uint64_t count, uint64_t, Part part) const {
    part(uint64_t{0}, count, size_t{0});
  }
};

// Calls body with a null pointer to the unsigned word that stores an element of the type.
template <class Body>
auto with_word_type(deepbench_type type, Body body) {
  switch (size_of(type)) {
    case 8:
      return body(static_cast<uint64_t*>(nullptr));
    case 4:
      return body(static_cast<uint32_t*>(nullptr));
    case 2:
      return body(static_cast<uint16_t*>(nullptr));
    default:
      return body(static_cast<uint8_t*>(nullptr));
  }
}

// The value of one element; NaN for an unknown type.
inline double element(const void* data, deepbench_type type, uint64_t index) {
  switch (type) {
    case DEEPBENCH_F64:
      return static_cast<const double*>(data)[index];
    case DEEPBENCH_F32:
      return static_cast<const float*>(data)[index];
    case DEEPBENCH_F16:
      return deepbench_from_half(static_cast<const uint16_t*>(data)[index]);
    case DEEPBENCH_BF16:
      return deepbench_from_bfloat16(static_cast<const uint16_t*>(data)[index]);
    case DEEPBENCH_E4M3:
      return deepbench_from_e4m3(static_cast<const uint8_t*>(data)[index]);
    case DEEPBENCH_E5M2:
      return deepbench_from_e5m2(static_cast<const uint8_t*>(data)[index]);
    case DEEPBENCH_S32:
      return static_cast<const int32_t*>(data)[index];
    case DEEPBENCH_U8:
      return static_cast<const uint8_t*>(data)[index];
    case DEEPBENCH_S8:
    case DEEPBENCH_S7:
      return static_cast<const int8_t*>(data)[index];
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace deepbench::plugin
