// The ring all-reduce that Baidu published: each rank sends to its right and hears from its left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "deepbench/fill.h"

namespace deepbench::cpu {

// What connects a rank with its two neighbours.
class RingTransport {
 public:
  virtual ~RingTransport() = default;

  // Sends `out_bytes` to the right while `in_bytes` come from the left. What comes is shown in
  // pieces, in order, each a multiple of 4 bytes but for the last; it is gone after consume()
  // returns. Throws plugin::Error with DEEPBENCH_DEVICE_LOST when a neighbour is gone or silent.
  using Consumer = std::function<void(const std::byte* piece, uint64_t offset, uint64_t bytes)>;
  virtual void send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                            const Consumer& consume) = 0;
};

// A rank's place in the ring.
struct RingPosition {
  int rank = 0, size = 1;
};

// result = the sum of every rank's `input`; they may be the same. Each sum is made by one rank, in
// the order of the ring, and copied to all: the same bits on every rank, call after call.
void ring_all_reduce(RingTransport& transport, RingPosition position, deepbench_type type,
                     const std::byte* input, std::byte* result, uint64_t elements);

// Returns on no rank before it was called on all.
void barrier(RingTransport& transport, RingPosition position);

}  // namespace deepbench::cpu
