// Sizes, grids and arguments of the kernels of peer.cu.
#include "ops/all_reduce/peer_way.hpp"

#include <algorithm>
#include <array>

#include "deepbench/plugin.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kVectorBytes = 16, kPairBytes = 8;  // of numbers, in a unit of shared memory

// ---- the choice by size -------------------------------------------------------------------------

// By the bytes that a rank would get from all others together: one_shot_ll sends twice as many, but
// waits for nothing but them; one_shot waits for flags first; two_shot waits twice, and moves
// 2/ranks of the bytes.
constexpr uint64_t kMostOfLl = 64 << 10, kMostOfOneShot = 1 << 20;
// Beyond these a way is nobody's choice, and its shared memory grows.
constexpr uint64_t kMostTriedLl = 4 << 20, kMostTriedOneShot = 64 << 20;
// Tried by name of blocks from here on; fewer leave multiprocessors to others.
constexpr uint64_t kLeastWithBlocks = 4 << 20;
constexpr std::array<uint32_t, 4> kBlocksTried = {16, 32, 64, 128};
constexpr uint32_t kBlocksOfSmall = 64, kBlocksOfLarge = 64;

constexpr std::array<const char*, 4> kNames = {"one_shot_ll", "one_shot", "two_shot", "ring"};
constexpr std::array<PeerKind, 4> kKinds = {PeerKind::kOneShotLl, PeerKind::kOneShot,
                                            PeerKind::kTwoShot, PeerKind::kRing};

uint64_t payload_of(const AllReduce& sum) {
  return uint64_t(sum.elements) * uint64_t(size_of(sum.precision.c));
}

uint64_t got_at_once(const AllReduce& sum, int ranks) {
  return payload_of(sum) * uint64_t(ranks - 1);
}

PeerKind first_choice(const AllReduce& sum, int ranks) {
  const uint64_t bytes = got_at_once(sum, ranks);
  return bytes <= kMostOfLl        ? PeerKind::kOneShotLl
         : bytes <= kMostOfOneShot ? PeerKind::kOneShot
                                   : PeerKind::kTwoShot;
}

bool is_tried(PeerKind kind, const AllReduce& sum, int ranks) {
  if (kind == PeerKind::kOneShotLl) return got_at_once(sum, ranks) <= kMostTriedLl;
  if (kind == PeerKind::kOneShot) return got_at_once(sum, ranks) <= kMostTriedOneShot;
  return true;
}

const char* name_of(PeerKind kind) { return kNames[size_t(kind)]; }

uint64_t divided(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

// One unit for each thread, as far as blocks go.
uint32_t blocks_of(PeerKind kind, const AllReduce& sum, int ranks) {
  const uint64_t bytes = payload_of(sum);
  const bool small = kind == PeerKind::kOneShotLl || kind == PeerKind::kOneShot;
  const uint64_t unit = kind == PeerKind::kOneShotLl ? kPairBytes : kVectorBytes;
  const uint64_t parts = small ? 1 : uint64_t(ranks);
  return uint32_t(std::clamp<uint64_t>(divided(bytes, unit * parts * PEER_THREADS), 1,
                                       small ? kBlocksOfSmall : kBlocksOfLarge));
}

// Vectors of a thread under way at once: registers for sixteen of all ranks together.
int at_once(PeerKind kind, int ranks) {
  if (kind == PeerKind::kOneShot) return 2;
  if (kind == PeerKind::kRing) return 8;
  return ranks <= 2 ? 8 : ranks <= 4 ? 4 : 2;
}

// One unit more than whole ones: what is left over has one of its own.
uint64_t units_of(PeerKind kind, const AllReduce& sum) {
  if (kind == PeerKind::kOneShotLl) return divided(payload_of(sum), kPairBytes);
  return payload_of(sum) / kVectorBytes + 1;
}

}  // namespace

std::vector<std::string> peer_ways(const AllReduce& sum, int ranks) {
  const PeerKind first = first_choice(sum, ranks);
  std::vector<std::string> names = {name_of(first)};
  for (const PeerKind kind : kKinds)
    if (kind != first && is_tried(kind, sum, ranks)) names.emplace_back(name_of(kind));
  if (payload_of(sum) >= kLeastWithBlocks)
    for (const uint32_t blocks : kBlocksTried)
      if (blocks != blocks_of(PeerKind::kTwoShot, sum, ranks))
        names.push_back(name_of(PeerKind::kTwoShot) + ("/" + std::to_string(blocks)));
  return names;
}

PeerWay peer_way(const std::string& name, const AllReduce& sum, int ranks) {
  const size_t slash = name.find('/');
  for (const PeerKind kind : kKinds)
    if (name.substr(0, slash) == name_of(kind))
      return {kind, slash == std::string::npos ? blocks_of(kind, sum, ranks)
                                               : uint32_t(std::stoul(name.substr(slash + 1)))};
  plugin::invalid("peer has no way '" + name + "'");
}

// ---- one call -----------------------------------------------------------------------------------

bool reaches_operands(PeerKind kind) { return kind == PeerKind::kTwoShot; }
bool reaches_results(PeerKind kind) {
  return kind == PeerKind::kTwoShot || kind == PeerKind::kRing;
}

uint64_t shared_bytes(PeerKind kind, const AllReduce& sum, int ranks) {
  const uint64_t one = units_of(kind, sum) * kVectorBytes;
  switch (kind) {
    case PeerKind::kOneShotLl:
      return 2 * uint64_t(ranks) * one;
    case PeerKind::kOneShot:
      return 2 * one;
    case PeerKind::kRing:
      return one;
    case PeerKind::kTwoShot:
      break;
  }
  return 0;
}

std::string peer_expression(PeerKind kind, deepbench_type type, int ranks) {
  const char* const number = type == DEEPBENCH_F16    ? "Half"
                             : type == DEEPBENCH_BF16 ? "Bfloat16"
                                                      : "Float";
  std::string text = std::string(name_of(kind)) + "<" + number + ", " + std::to_string(ranks);
  if (kind != PeerKind::kOneShotLl) text += ", " + std::to_string(at_once(kind, ranks));
  return text + ">";
}

PeerSum::PeerSum(const PeerWay& way, const AllReduce& sum, int ranks, const Stream& stream)
    : kind_(way.kind),
      elements_(uint64_t(sum.elements)),
      units_(units_of(way.kind, sum)),
      kernel_(function("peer", peer_expression(way.kind, sum.precision.c, ranks), stream)) {
  shape_.grid_x = std::clamp<uint32_t>(way.blocks, 1, PEER_MOST_BLOCKS);
  shape_.block_x = PEER_THREADS;
}

void PeerSum::enqueue(nvidia::cudaStream_t stream, const Peers& peers, const PeerPlaces& shared,
                      const PeerPlaces& added, const PeerPlaces& results) const {
  const void* const mine = added.of[peers.rank];
  void* const result = results.of[peers.rank];
  switch (kind_) {
    case PeerKind::kOneShotLl:
    case PeerKind::kOneShot:
      return kernel_.launch(shape_, stream, peers, shared, units_, mine, result, elements_);
    case PeerKind::kTwoShot:
      return kernel_.launch(shape_, stream, peers, added, results, elements_);
    case PeerKind::kRing:
      return kernel_.launch(shape_, stream, peers, shared, mine, results, elements_);
  }
}

}  // namespace deepbench::cuda
