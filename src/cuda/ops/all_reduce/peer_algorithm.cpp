// Sizes, grids and arguments of the kernels of peer.cu.
#include "ops/all_reduce/peer_algorithm.hpp"

#include <algorithm>
#include <array>

#include "deepbench/plugin.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kVectorBytes = 16, kPairBytes = 8;  // payload in a unit of shared memory
constexpr uint64_t kGrain = 32;  // slices begin at multiples of this number of vectors

// ---- the choice by size -------------------------------------------------------------------------

// The payload in bytes up to which an algorithm is the default; the ring is the default for larger
// payloads. The thresholds for two and four ranks are the measured crossovers on H200s with NVLink;
// those for eight ranks are extrapolated. one_shot_ll sends twice the bytes to every rank, but has
// no separate synchronization. one_shot waits for flags. The other algorithms move fewer bytes and
// wait twice; among them, sending is faster than reading for payloads that are large enough to
// outweigh the intermediate stores.
struct SizeThresholds {
  int ranks;  // upper limit
  uint64_t one_shot_ll, one_shot, two_shot, two_shot_push;
};
constexpr std::array<SizeThresholds, 3> kSizeThresholds = {
    {{2, 512 << 10, 2 << 20, 3 << 20, 0},
     {4, 48 << 10, 256 << 10, 4 << 20, 24 << 20},
     {8, 12 << 10, 96 << 10, 4 << 20, 64 << 20}}};
// Above these sizes, an algorithm is never the fastest, and its shared memory grows.
constexpr uint64_t kMaxLlCandidateBytes = 4 << 20, kMaxOneShotCandidateBytes = 64 << 20;
// With three or more ranks, this number of blocks keeps the links busy. With one block on each of
// 132 multiprocessors, transfers between all pairs congest the links, and calls take up to three
// times as long.
constexpr int kMaxBlocksOfManyRanks = 64;
// Other numbers of blocks that are candidates for payloads of at least this size.
constexpr uint64_t kMinPayloadForBlockCounts = 4 << 20;
constexpr std::array<uint32_t, 2> kBlockCounts = {64, 96};

struct NamedAlgorithm {
  PeerAlgorithm algorithm;
  const char* name;
};
constexpr std::array<NamedAlgorithm, 5> kAllAlgorithms = {
    {{PeerAlgorithm::kOneShotLl, "one_shot_ll"},
     {PeerAlgorithm::kOneShot, "one_shot"},
     {PeerAlgorithm::kTwoShot, "two_shot"},
     {PeerAlgorithm::kTwoShotPush, "two_shot_push"},
     {PeerAlgorithm::kRing, "ring"}}};

const char* name_of(PeerAlgorithm algorithm) { return kAllAlgorithms[size_t(algorithm)].name; }

uint64_t payload_of(const Collective& collective) {
  return uint64_t(collective.elements) * uint64_t(size_of(collective.precision.c));
}

uint64_t received_bytes(const Collective& collective, int ranks) {
  return payload_of(collective) * uint64_t(ranks - 1);
}

PeerAlgorithm default_algorithm(const Collective& collective, int ranks) {
  const SizeThresholds& thresholds =
      *std::find_if(kSizeThresholds.begin(), kSizeThresholds.end() - 1,
                    [&](const SizeThresholds& each) { return ranks <= each.ranks; });
  const uint64_t bytes = payload_of(collective);
  if (bytes <= thresholds.one_shot_ll) return PeerAlgorithm::kOneShotLl;
  if (bytes <= thresholds.one_shot) return PeerAlgorithm::kOneShot;
  if (bytes <= thresholds.two_shot) return PeerAlgorithm::kTwoShot;
  return bytes <= thresholds.two_shot_push ? PeerAlgorithm::kTwoShotPush : PeerAlgorithm::kRing;
}

// Blocks wait for one another, so that all of them must be resident at the same time.
int resident_blocks(int multiprocessors) {
  return std::clamp(multiprocessors, 1, int(PEER_MAX_BLOCKS));
}

int max_blocks(int ranks, int multiprocessors) {
  const int limit = resident_blocks(multiprocessors);
  return ranks > 2 ? std::min(limit, kMaxBlocksOfManyRanks) : limit;
}

bool is_candidate(PeerAlgorithm algorithm, const Collective& collective, int ranks) {
  if (algorithm == PeerAlgorithm::kOneShotLl)
    return received_bytes(collective, ranks) <= kMaxLlCandidateBytes;
  if (algorithm == PeerAlgorithm::kOneShot)
    return received_bytes(collective, ranks) <= kMaxOneShotCandidateBytes;
  return true;
}

uint64_t ceil_div(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

// The maximum number of vectors in a rank's slice.
uint64_t vectors_per_slice(const Collective& collective, int ranks) {
  const uint64_t vectors = payload_of(collective) / kVectorBytes;
  return ceil_div(ceil_div(vectors, kGrain), uint64_t(ranks)) * kGrain;
}

// The `units` argument of the kernel. The elements beyond the last whole vector take one unit.
uint64_t kernel_units(PeerAlgorithm algorithm, const Collective& collective, int ranks) {
  if (algorithm == PeerAlgorithm::kOneShotLl) return ceil_div(payload_of(collective), kPairBytes);
  if (algorithm == PeerAlgorithm::kTwoShotPush)
    return vectors_per_slice(collective, ranks) + kGrain;  // whole lines
  return payload_of(collective) / kVectorBytes + 1;
}

// ---- the grid -----------------------------------------------------------------------------------

// Each thread gets one round of work if the device can hold that many threads. Small payloads use
// few vectors per round, so that more threads share the work.

uint32_t blocks_for(uint64_t work, uint64_t of_block, int max_blocks) {
  return uint32_t(std::clamp<uint64_t>(ceil_div(work, of_block), 1, uint64_t(max_blocks)));
}

PeerPlan plan_one_shot_ll(const Collective& collective, int max_blocks) {
  constexpr uint64_t kFewPairs = 8192;
  const uint64_t pairs = ceil_div(payload_of(collective), kPairBytes);
  const uint32_t threads = pairs <= kFewPairs ? PEER_THREADS / 2 : PEER_THREADS;
  return {PeerAlgorithm::kOneShotLl, blocks_for(pairs, threads, max_blocks), threads, 1};
}

PeerPlan plan_one_shot(const Collective& collective, int ranks, int max_blocks) {
  constexpr uint64_t kFewVectors = 32768;
  const uint64_t vectors = payload_of(collective) / kVectorBytes;
  if (vectors <= kFewVectors)
    return {PeerAlgorithm::kOneShot, blocks_for(vectors, PEER_THREADS, max_blocks), PEER_THREADS,
            1};
  constexpr uint32_t kThreads = PEER_THREADS / 2;  // so that two blocks fit on a multiprocessor
  const int twice = ranks > 2 ? max_blocks : std::min(2 * max_blocks, int(PEER_MAX_BLOCKS));
  const int vectors_in_flight = ranks <= 4 ? 4 : 2;
  const uint64_t of_block = kThreads * uint64_t(vectors_in_flight);
  return {PeerAlgorithm::kOneShot, blocks_for(vectors, of_block, twice), kThreads,
          vectors_in_flight};
}

// Registers hold about sixteen vectors, for all ranks together.
int max_vectors_in_flight(PeerAlgorithm algorithm, int ranks) {
  if (algorithm == PeerAlgorithm::kRing || ranks <= 2) return 8;
  return ranks <= 4 ? 4 : 2;
}

PeerPlan plan_by_slices(PeerAlgorithm algorithm, const Collective& collective, int ranks,
                        int max_blocks) {
  constexpr uint64_t kRound = PEER_THREADS;
  const uint64_t slice = vectors_per_slice(collective, ranks);
  const int preferred = slice <= 32 * kRound                         ? 1
                        : slice <= 64 * kRound                       ? 2
                        : slice <= uint64_t(max_blocks) * kRound * 4 ? 4
                                                                     : 8;
  const int vectors_in_flight = std::min(preferred, max_vectors_in_flight(algorithm, ranks));
  return {algorithm, blocks_for(slice, kRound * uint64_t(vectors_in_flight), max_blocks),
          PEER_THREADS, vectors_in_flight};
}

PeerPlan plan_by_size(PeerAlgorithm algorithm, const Collective& collective, int ranks,
                      int multiprocessors) {
  const int limit = max_blocks(ranks, multiprocessors);
  if (algorithm == PeerAlgorithm::kOneShotLl) return plan_one_shot_ll(collective, limit);
  if (algorithm == PeerAlgorithm::kOneShot) return plan_one_shot(collective, ranks, limit);
  return plan_by_slices(algorithm, collective, ranks, limit);
}

}  // namespace

std::vector<std::string> peer_candidates(const Collective& collective, int ranks) {
  const PeerAlgorithm first = default_algorithm(collective, ranks);
  std::vector<std::string> names = {name_of(first)};
  for (const NamedAlgorithm& named : kAllAlgorithms)
    if (named.algorithm != first && is_candidate(named.algorithm, collective, ranks))
      names.emplace_back(named.name);
  if (payload_of(collective) < kMinPayloadForBlockCounts) return names;
  for (const PeerAlgorithm algorithm : {PeerAlgorithm::kTwoShotPush, PeerAlgorithm::kRing})
    for (const uint32_t blocks : kBlockCounts)
      if (ranks <= 2 || int(blocks) != kMaxBlocksOfManyRanks)
        names.push_back(std::string(name_of(algorithm)) + "/" + std::to_string(blocks));
  return names;
}

PeerAlgorithm peer_algorithm(const std::string& name) {
  for (const NamedAlgorithm& named : kAllAlgorithms)
    if (name.substr(0, name.find('/')) == named.name) return named.algorithm;
  plugin::invalid("peer has no algorithm '" + name + "'");
}

PeerPlan peer_plan(const std::string& name, const Collective& collective, int ranks,
                   int multiprocessors) {
  PeerPlan plan = plan_by_size(peer_algorithm(name), collective, ranks, multiprocessors);
  if (const size_t slash = name.find('/'); slash != std::string::npos)
    plan.blocks = std::min(uint32_t(std::stoul(name.substr(slash + 1))),
                           uint32_t(resident_blocks(multiprocessors)));
  return plan;
}

// ---- one call -----------------------------------------------------------------------------------

bool reads_operands(PeerAlgorithm algorithm) { return algorithm == PeerAlgorithm::kTwoShot; }
bool writes_results(PeerAlgorithm algorithm) {
  return algorithm != PeerAlgorithm::kOneShotLl && algorithm != PeerAlgorithm::kOneShot;
}

uint64_t peer_shared_bytes(PeerAlgorithm algorithm, const Collective& collective, int ranks) {
  const uint64_t bytes = kernel_units(algorithm, collective, ranks) * kVectorBytes;
  switch (algorithm) {
    case PeerAlgorithm::kOneShotLl:
      return 2 * uint64_t(ranks) * bytes;
    case PeerAlgorithm::kOneShot:
      return 2 * bytes;
    case PeerAlgorithm::kTwoShotPush:
      return uint64_t(ranks) * bytes;
    case PeerAlgorithm::kRing:
      return bytes;
    case PeerAlgorithm::kTwoShot:
      break;
  }
  return 0;
}

std::string peer_expression(const PeerPlan& plan, deepbench_type type, int ranks) {
  const char* const number = type == DEEPBENCH_F16    ? "Half"
                             : type == DEEPBENCH_BF16 ? "Bfloat16"
                                                      : "Float";
  std::string text =
      std::string(name_of(plan.algorithm)) + "<" + number + ", " + std::to_string(ranks);
  if (plan.algorithm != PeerAlgorithm::kOneShotLl)
    text += ", " + std::to_string(plan.vectors_in_flight);
  return text + ">";
}

PeerKernel::PeerKernel(const PeerPlan& plan, const Collective& collective, int ranks,
                       const Stream& stream)
    : algorithm_(plan.algorithm),
      elements_(uint64_t(collective.elements)),
      units_(kernel_units(plan.algorithm, collective, ranks)),
      function_(
          planned_function("peer", peer_expression(plan, collective.precision.c, ranks), stream)) {
  shape_.grid_x = plan.blocks;
  shape_.block_x = plan.threads;
}

void PeerKernel::enqueue(nvidia::cudaStream_t stream, const Peers& peers,
                         const PeerAddresses& shared, const PeerAddresses& inputs,
                         const PeerAddresses& results) const {
  const void* const input = inputs.of[peers.rank];
  void* const result = results.of[peers.rank];
  switch (algorithm_) {
    case PeerAlgorithm::kOneShotLl:
    case PeerAlgorithm::kOneShot:
      return function_.kernel.launch(shape_, stream, peers, shared, units_, input, result,
                                     elements_);
    case PeerAlgorithm::kTwoShot:
      return function_.kernel.launch(shape_, stream, peers, inputs, results, elements_);
    case PeerAlgorithm::kTwoShotPush:
      return function_.kernel.launch(shape_, stream, peers, shared, units_, input, results,
                                     elements_);
    case PeerAlgorithm::kRing:
      return function_.kernel.launch(shape_, stream, peers, shared, input, results, elements_);
  }
}

}  // namespace deepbench::cuda
