// Collectives on a ring: each rank sends to its right neighbor and receives from its left one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "deepbench/fill.h"
#include "deepbench/ops/collective/collective.hpp"

namespace deepbench::cpu {

// A neighbor that is silent for longer counts as lost. A rank that is gone or has failed is noticed
// at once; this limit is for one that hangs. On a busy machine a rank may be minutes late for a
// call, as for a round of the group, whose limit is the same.
inline constexpr double kSilenceLimitS = 600;

// Connects a rank to its two neighbors.
class RingTransport {
 public:
  virtual ~RingTransport() = default;

  // Sends `out_bytes` to the right neighbor while it receives `in_bytes` from the left one. It
  // passes the received bytes to consume() in order and in pieces; each piece except the last is a
  // multiple of 4 bytes, and is valid only until consume() returns. Throws plugin::Error with
  // DEEPBENCH_DEVICE_LOST if a neighbor closes the connection or stays silent.
  using Consumer = std::function<void(const std::byte* piece, uint64_t offset, uint64_t bytes)>;
  virtual void send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                            const Consumer& consume) = 0;
};

// A rank's position in the ring.
struct RingPosition {
  int rank = 0, size = 1;
};

// The all-reduce that Baidu published. Computes result = the sum of `input` over all ranks; `input`
// and `result` may be the same. One rank computes each element's sum, in the order of the ring, and
// copies it to all others. All ranks therefore get the same bits in every call.
void ring_all_reduce(RingTransport& transport, RingPosition position, deepbench_type type,
                     const std::byte* input, std::byte* result, uint64_t elements);

// The memory that ring_collective() needs besides the operands.
uint64_t ring_scratch_bytes(const Collective& collective, int ranks);

// Computes any collective. `scratch` has the bytes that ring_scratch_bytes() returns.
void ring_collective(RingTransport& transport, RingPosition position, const Collective& collective,
                     const std::byte* input, std::byte* result, std::byte* scratch);

// Returns on a rank only after all ranks have called it.
void barrier(RingTransport& transport, RingPosition position);

}  // namespace deepbench::cpu
