// The two phases of a ring all-reduce: scatter-reduce, then all-gather.
#include "ops/all_reduce/ring_algorithm.hpp"

#include <cstring>

#include "deepbench/core/precision.hpp"
#include "ops/all_reduce/elementwise_add.hpp"

namespace deepbench::cpu {
namespace {

// The number of elements in the unit of division, so that parts begin at whole cache lines.
constexpr uint64_t kGrainElements = 32;

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

void barrier(RingTransport& transport, RingPosition position) {
  const std::byte token{1};
  for (int step = 0; step < position.size - 1; ++step)
    transport.send_receive(&token, 1, 1, [](const std::byte*, uint64_t, uint64_t) {});
}

}  // namespace deepbench::cpu
