// Sizes, grids and arguments of the kernels of peer.cu.
#include "ops/all_reduce/peer_way.hpp"

#include <algorithm>
#include <array>

#include "deepbench/plugin.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kVectorBytes = 16, kPairBytes = 8;  // of numbers, in a unit of shared memory
constexpr uint64_t kGrain = 32;                        // vectors: slices begin at multiples of them

// ---- the choice by size -------------------------------------------------------------------------

// Bytes of payload up to which a way is the first choice; beyond all of them it is the ring. What
// was the shortest on two and on four H200s with NVLink; of more than four none was measured, and
// the numbers are carried on. one_shot_ll sends its bytes twice and to every rank, but waits for
// nothing else; one_shot waits for flags; the others move less and wait twice, and of them sending
// is quicker than reading, once there is so much that what it stores in between does not count.
struct Choice {
  int ranks;  // at most
  uint64_t one_shot_ll, one_shot, two_shot, two_shot_push;
};
constexpr std::array<Choice, 3> kChoices = {{{2, 512 << 10, 2 << 20, 3 << 20, 0},
                                             {4, 48 << 10, 256 << 10, 4 << 20, 24 << 20},
                                             {8, 12 << 10, 96 << 10, 4 << 20, 64 << 20}}};
// Beyond these a way is nobody's choice, and its shared memory grows.
constexpr uint64_t kMostTriedLl = 4 << 20, kMostTriedOneShot = 64 << 20;
// Of three ranks and more, blocks that keep the links busy. With one on each of 132 multiprocessors
// what is under way between all pairs got in its own way: calls took up to three times as long.
constexpr int kMostBlocksOfMany = 64;
// Numbers of blocks that are tried too, from so much payload on.
constexpr uint64_t kLeastWithBlocks = 4 << 20;
constexpr std::array<uint32_t, 2> kBlocksTried = {64, 96};

struct NamedWay {
  PeerKind kind;
  const char* name;
};
constexpr std::array<NamedWay, 5> kAllWays = {{{PeerKind::kOneShotLl, "one_shot_ll"},
                                               {PeerKind::kOneShot, "one_shot"},
                                               {PeerKind::kTwoShot, "two_shot"},
                                               {PeerKind::kTwoShotPush, "two_shot_push"},
                                               {PeerKind::kRing, "ring"}}};

const char* name_of(PeerKind kind) { return kAllWays[size_t(kind)].name; }

uint64_t payload_of(const AllReduce& sum) {
  return uint64_t(sum.elements) * uint64_t(size_of(sum.precision.c));
}

uint64_t got_at_once(const AllReduce& sum, int ranks) {
  return payload_of(sum) * uint64_t(ranks - 1);
}

PeerKind first_choice(const AllReduce& sum, int ranks) {
  const Choice& choice = *std::find_if(kChoices.begin(), kChoices.end() - 1,
                                       [&](const Choice& each) { return ranks <= each.ranks; });
  const uint64_t bytes = payload_of(sum);
  if (bytes <= choice.one_shot_ll) return PeerKind::kOneShotLl;
  if (bytes <= choice.one_shot) return PeerKind::kOneShot;
  if (bytes <= choice.two_shot) return PeerKind::kTwoShot;
  return bytes <= choice.two_shot_push ? PeerKind::kTwoShotPush : PeerKind::kRing;
}

int most_blocks(int ranks, int multiprocessors) {
  const int most = std::clamp(multiprocessors, 1, int(PEER_MOST_BLOCKS));
  return ranks > 2 ? std::min(most, kMostBlocksOfMany) : most;
}

bool is_tried(PeerKind kind, const AllReduce& sum, int ranks) {
  if (kind == PeerKind::kOneShotLl) return got_at_once(sum, ranks) <= kMostTriedLl;
  if (kind == PeerKind::kOneShot) return got_at_once(sum, ranks) <= kMostTriedOneShot;
  return true;
}

uint64_t divided(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

// Vectors of a rank's slice, at most.
uint64_t slice_of(const AllReduce& sum, int ranks) {
  const uint64_t vectors = payload_of(sum) / kVectorBytes;
  return divided(divided(vectors, kGrain), uint64_t(ranks)) * kGrain;
}

// The kernel's argument. What is no whole vector has a unit of its own.
uint64_t units_of(PeerKind kind, const AllReduce& sum, int ranks) {
  if (kind == PeerKind::kOneShotLl) return divided(payload_of(sum), kPairBytes);
  if (kind == PeerKind::kTwoShotPush) return slice_of(sum, ranks) + kGrain;  // whole lines
  return payload_of(sum) / kVectorBytes + 1;
}

// ---- the grid -----------------------------------------------------------------------------------

// One round for each thread, as far as the device holds so many; with little to do, little at once,
// so that more threads share it.

uint32_t blocks_for(uint64_t work, uint64_t of_block, int most) {
  return uint32_t(std::clamp<uint64_t>(divided(work, of_block), 1, uint64_t(most)));
}

PeerWay way_of_words(const AllReduce& sum, int most) {
  constexpr uint64_t kFewPairs = 8192;
  const uint64_t pairs = divided(payload_of(sum), kPairBytes);
  const uint32_t threads = pairs <= kFewPairs ? PEER_THREADS / 2 : PEER_THREADS;
  return {PeerKind::kOneShotLl, blocks_for(pairs, threads, most), threads, 1};
}

PeerWay way_of_one_shot(const AllReduce& sum, int ranks, int most) {
  constexpr uint64_t kFewVectors = 32768;
  const uint64_t vectors = payload_of(sum) / kVectorBytes;
  if (vectors <= kFewVectors)
    return {PeerKind::kOneShot, blocks_for(vectors, PEER_THREADS, most), PEER_THREADS, 1};
  constexpr uint32_t kThreads = PEER_THREADS / 2;  // two blocks at once
  const int twice = ranks > 2 ? most : std::min(2 * most, int(PEER_MOST_BLOCKS));
  const int at_once = ranks <= 4 ? 4 : 2;
  const uint64_t of_block = kThreads * uint64_t(at_once);
  return {PeerKind::kOneShot, blocks_for(vectors, of_block, twice), kThreads, at_once};
}

// Registers hold sixteen vectors or so, of all ranks together.
int most_at_once(PeerKind kind, int ranks) {
  if (kind == PeerKind::kRing || ranks <= 2) return 8;
  return ranks <= 4 ? 4 : 2;
}

PeerWay way_of_slices(PeerKind kind, const AllReduce& sum, int ranks, int most) {
  constexpr uint64_t kRound = PEER_THREADS;
  const uint64_t slice = slice_of(sum, ranks);
  const int wanted = slice <= 32 * kRound                   ? 1
                     : slice <= 64 * kRound                 ? 2
                     : slice <= uint64_t(most) * kRound * 4 ? 4
                                                            : 8;
  const int at_once = std::min(wanted, most_at_once(kind, ranks));
  return {kind, blocks_for(slice, kRound * uint64_t(at_once), most), PEER_THREADS, at_once};
}

PeerWay way_by_size(PeerKind kind, const AllReduce& sum, int ranks, int multiprocessors) {
  const int most = most_blocks(ranks, multiprocessors);
  if (kind == PeerKind::kOneShotLl) return way_of_words(sum, most);
  if (kind == PeerKind::kOneShot) return way_of_one_shot(sum, ranks, most);
  return way_of_slices(kind, sum, ranks, most);
}

}  // namespace

std::vector<std::string> peer_ways(const AllReduce& sum, int ranks) {
  const PeerKind first = first_choice(sum, ranks);
  std::vector<std::string> names = {name_of(first)};
  for (const NamedWay& way : kAllWays)
    if (way.kind != first && is_tried(way.kind, sum, ranks)) names.emplace_back(way.name);
  if (payload_of(sum) < kLeastWithBlocks) return names;
  for (const PeerKind kind : {PeerKind::kTwoShotPush, PeerKind::kRing})
    for (const uint32_t blocks : kBlocksTried)
      if (ranks <= 2 || int(blocks) != kMostBlocksOfMany)
        names.push_back(std::string(name_of(kind)) + "/" + std::to_string(blocks));
  return names;
}

PeerKind peer_kind(const std::string& name) {
  for (const NamedWay& way : kAllWays)
    if (name.substr(0, name.find('/')) == way.name) return way.kind;
  plugin::invalid("peer has no way '" + name + "'");
}

PeerWay peer_way(const std::string& name, const AllReduce& sum, int ranks, int multiprocessors) {
  PeerWay way = way_by_size(peer_kind(name), sum, ranks, multiprocessors);
  if (const size_t slash = name.find('/'); slash != std::string::npos)
    way.blocks = uint32_t(std::stoul(name.substr(slash + 1)));
  return way;
}

// ---- one call -----------------------------------------------------------------------------------

bool reads_operands(PeerKind kind) { return kind == PeerKind::kTwoShot; }
bool writes_results(PeerKind kind) {
  return kind != PeerKind::kOneShotLl && kind != PeerKind::kOneShot;
}

uint64_t shared_bytes(PeerKind kind, const AllReduce& sum, int ranks) {
  const uint64_t bytes = units_of(kind, sum, ranks) * kVectorBytes;
  switch (kind) {
    case PeerKind::kOneShotLl:
      return 2 * uint64_t(ranks) * bytes;
    case PeerKind::kOneShot:
      return 2 * bytes;
    case PeerKind::kTwoShotPush:
      return uint64_t(ranks) * bytes;
    case PeerKind::kRing:
      return bytes;
    case PeerKind::kTwoShot:
      break;
  }
  return 0;
}

std::string peer_expression(const PeerWay& way, deepbench_type type, int ranks) {
  const char* const number = type == DEEPBENCH_F16    ? "Half"
                             : type == DEEPBENCH_BF16 ? "Bfloat16"
                                                      : "Float";
  std::string text = std::string(name_of(way.kind)) + "<" + number + ", " + std::to_string(ranks);
  if (way.kind != PeerKind::kOneShotLl) text += ", " + std::to_string(way.at_once);
  return text + ">";
}

PeerSum::PeerSum(const PeerWay& way, const AllReduce& sum, int ranks, const Stream& stream)
    : kind_(way.kind),
      elements_(uint64_t(sum.elements)),
      units_(units_of(way.kind, sum, ranks)),
      function_(planned_function("peer", peer_expression(way, sum.precision.c, ranks), stream)) {
  shape_.grid_x = way.blocks;
  shape_.block_x = way.threads;
}

void PeerSum::enqueue(nvidia::cudaStream_t stream, const Peers& peers, const PeerPlaces& shared,
                      const PeerPlaces& added, const PeerPlaces& results) const {
  const void* const mine = added.of[peers.rank];
  void* const result = results.of[peers.rank];
  switch (kind_) {
    case PeerKind::kOneShotLl:
    case PeerKind::kOneShot:
      return function_.kernel.launch(shape_, stream, peers, shared, units_, mine, result,
                                     elements_);
    case PeerKind::kTwoShot:
      return function_.kernel.launch(shape_, stream, peers, added, results, elements_);
    case PeerKind::kTwoShotPush:
      return function_.kernel.launch(shape_, stream, peers, shared, units_, mine, results,
                                     elements_);
    case PeerKind::kRing:
      return function_.kernel.launch(shape_, stream, peers, shared, mine, results, elements_);
  }
}

}  // namespace deepbench::cuda
