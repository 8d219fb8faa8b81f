// Implements the collectives as passes around the ring.
#include "ops/collective/ring_algorithm.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "deepbench/core/precision.hpp"
#include "ops/collective/elementwise_add.hpp"

namespace deepbench::cpu {
namespace {

// The number of elements in the unit of division, so that parts begin at whole cache lines.
constexpr uint64_t kGrainElements = 32;

// A rank waits for its first piece, so that pieces should be short, but a piece must take long
// compared with the overhead of a pass.
constexpr uint64_t kBroadcastPieceBytes = 128 << 10;

// One of the parts of the operand; there are as many parts as ranks.
struct PartBytes {
  uint64_t begin, bytes;  // Both count bytes.
};

PartBytes bytes_of_part(int part, int parts, uint64_t elements, uint64_t element_bytes) {
  const uint64_t grains = (elements + kGrainElements - 1) / kGrainElements;
  const auto at = [&](int index) {
    const uint64_t begin = grains * uint64_t(index) / uint64_t(parts) * kGrainElements;
    return (begin < elements ? begin : elements) * element_bytes;
  };
  return {at(part), at(part + 1) - at(part)};
}

// A rank and the blocks of one ring.
struct RingBlocks {
  RingBlocks(RingTransport& on, RingPosition at, const Collective& collective)
      : transport(on),
        position(at),
        type(collective.precision.c),
        block_bytes(collective.count(at.size) * uint64_t(size_of(collective.precision.c))) {}

  // The rank that is `distance` places to the left.
  int left(int distance) const {
    return (position.rank + position.size - distance) % position.size;
  }
  uint64_t begin_of(int block) const { return uint64_t(block) * block_bytes; }

  void receive_block(const std::byte* out, std::byte* in) const {
    transport.send_receive(out, block_bytes, block_bytes,
                           [&](const std::byte* piece, uint64_t offset, uint64_t bytes) {
                             std::memcpy(in + offset, piece, bytes);
                           });
  }

  RingTransport& transport;
  const RingPosition position;
  const deepbench_type type;
  const uint64_t block_bytes;
};

// In each step, a rank passes on the block that it received in the previous step.
void gather_blocks(const RingBlocks& ring, const std::byte* input, std::byte* result) {
  const int ranks = ring.position.size;
  std::memcpy(result + ring.begin_of(ring.position.rank), input, ring.block_bytes);
  for (int step = 1; step < ranks; ++step)
    ring.receive_block(result + ring.begin_of(ring.left(step - 1)),
                       result + ring.begin_of(ring.left(step)));
}

// In each step, a rank adds its part to the sum of a block that it received in the previous step,
// so that the sum of a block ends on its rank. `scratch` holds the sum that is sent and the one
// that arrives.
void scatter_sums(const RingBlocks& ring, const std::byte* input, std::byte* result,
                  std::byte* scratch) {
  const int ranks = ring.position.size;
  const std::byte* out = input + ring.begin_of(ring.left(1));
  for (int step = 1; step < ranks; ++step) {
    const std::byte* const own = input + ring.begin_of(ring.left(step + 1));
    std::byte* const sum =
        step == ranks - 1 ? result : scratch + uint64_t(step % 2) * ring.block_bytes;
    ring.transport.send_receive(out, ring.block_bytes, ring.block_bytes,
                                [&](const std::byte* piece, uint64_t offset, uint64_t bytes) {
                                  add(ring.type, own + offset, piece, sum + offset,
                                      bytes / uint64_t(size_of(ring.type)));
                                });
    out = sum;
  }
}

// In step i, a rank receives the blocks that the rank i places to the left sent to it and to the
// ranks to its right. It keeps the first block and passes on the others in the next step.
void exchange_blocks(const RingBlocks& ring, const std::byte* input, std::byte* result,
                     std::byte* scratch) {
  const int ranks = ring.position.size;
  std::memcpy(result + ring.begin_of(ring.position.rank), input + ring.begin_of(ring.position.rank),
              ring.block_bytes);
  const auto passed_on = [&](int step, int block) {
    return scratch + ring.begin_of(step % 2 * (ranks - 2) + block);
  };
  for (int step = 1; step < ranks; ++step)
    for (int block = 0; block < ranks - step; ++block)
      ring.receive_block(
          step == 1 ? input + ring.begin_of((ring.position.rank + 1 + block) % ranks)
                    : passed_on(step - 1, block),
          block == 0 ? result + ring.begin_of(ring.left(step)) : passed_on(step, block - 1));
}

// A rank passes on one piece while the next one arrives.
void pass_on_from_root(const RingBlocks& ring, std::byte* data, uint64_t bytes) {
  const int rank = ring.position.rank, ranks = ring.position.size;
  const bool receives = rank != Collective::root(ranks);
  const bool sends = (rank + 1) % ranks != Collective::root(ranks);
  const uint64_t pieces = (bytes + kBroadcastPieceBytes - 1) / kBroadcastPieceBytes;
  const auto bytes_of = [&](uint64_t piece) {
    return std::min(kBroadcastPieceBytes, bytes - piece * kBroadcastPieceBytes);
  };
  // The root has every piece at once; the others have a piece when the next one arrives.
  const uint64_t delay = receives ? 1 : 0;
  for (uint64_t step = 0; step < pieces + delay; ++step) {
    const bool has_piece = sends && step >= delay;
    const uint64_t out = has_piece ? step - delay : 0;
    const uint64_t in = step * kBroadcastPieceBytes;
    ring.transport.send_receive(data + out * kBroadcastPieceBytes, has_piece ? bytes_of(out) : 0,
                                receives && step < pieces ? bytes_of(step) : 0,
                                [&](const std::byte* piece, uint64_t offset, uint64_t count) {
                                  std::memcpy(data + in + offset, piece, count);
                                });
  }
}

}  // namespace

void ring_all_reduce(RingTransport& transport, RingPosition position, deepbench_type type,
                     const std::byte* input, std::byte* result, uint64_t elements) {
  const auto element_bytes = uint64_t(size_of(type));
  const int size = position.size;
  const auto part = [&](int index) {
    return bytes_of_part(((index % size) + size) % size, size, elements, element_bytes);
  };
  for (int step = 0; step < size - 1; ++step) {
    const PartBytes out = part(position.rank - step), in = part(position.rank - step - 1);
    transport.send_receive((step == 0 ? input : result) + out.begin, out.bytes, in.bytes,
                           [&](const std::byte* piece, uint64_t offset, uint64_t bytes) {
                             const uint64_t at = in.begin + offset;
                             add(type, input + at, piece, result + at, bytes / element_bytes);
                           });
  }
  for (int step = 0; step < size - 1; ++step) {
    const PartBytes out = part(position.rank + 1 - step), in = part(position.rank - step);
    transport.send_receive(result + out.begin, out.bytes, in.bytes,
                           [&](const std::byte* piece, uint64_t offset, uint64_t bytes) {
                             std::memcpy(result + in.begin + offset, piece, bytes);
                           });
  }
}

uint64_t ring_scratch_bytes(const Collective& collective, int ranks) {
  const uint64_t block = collective.count(ranks) * uint64_t(size_of(collective.precision.c));
  if (ranks == 2) return 0;
  if (collective.kind == CollectiveKind::kReduceScatter) return 2 * block;
  if (collective.kind == CollectiveKind::kAllToAll) return 2 * uint64_t(ranks - 2) * block;
  return 0;
}

void ring_collective(RingTransport& transport, RingPosition position, const Collective& collective,
                     const std::byte* input, std::byte* result, std::byte* scratch) {
  const RingBlocks ring(transport, position, collective);
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      return ring_all_reduce(transport, position, ring.type, input, result,
                             uint64_t(collective.elements));
    case CollectiveKind::kAllGather:
      return gather_blocks(ring, input, result);
    case CollectiveKind::kReduceScatter:
      return scatter_sums(ring, input, result, scratch);
    case CollectiveKind::kAllToAll:
      return exchange_blocks(ring, input, result, scratch);
    case CollectiveKind::kBroadcast:
      return pass_on_from_root(ring, result, ring.block_bytes);
    case CollectiveKind::kSendRecv:
      return ring.receive_block(input, result);
  }
}

void barrier(RingTransport& transport, RingPosition position) {
  const std::byte token{1};
  for (int step = 0; step < position.size - 1; ++step)
    transport.send_receive(&token, 1, 1, [](const std::byte*, uint64_t, uint64_t) {});
}

}  // namespace deepbench::cpu
