// Blocks, grids and arguments of the kernels of peer_exchange.cu.
#include "ops/collective/peer_exchange.hpp"

#include <algorithm>

#include "deepbench/plugin.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kVectorBytes = 16;
// With three or more ranks, more blocks congest the links.
constexpr int kMaxBlocksOfManyRanks = 64;
// Blocks with more vectors have several in flight in each thread.
constexpr uint64_t kFewVectors = 32768;

uint64_t block_bytes(const Collective& collective, int ranks) {
  return collective.count(ranks) * uint64_t(size_of(collective.precision.c));
}

uint64_t block_vectors(const Collective& collective, int ranks) {
  return (block_bytes(collective, ranks) + kVectorBytes - 1) / kVectorBytes;
}

// The number of blocks in an operand, and in a result before a sum.
int sent_blocks(const Collective& collective, int ranks) {
  const bool has_several = collective.kind == CollectiveKind::kReduceScatter ||
                           collective.kind == CollectiveKind::kAllToAll;
  return has_several ? ranks : 1;
}
int received_blocks(const Collective& collective, int ranks) {
  return collective.has_blocks() ? ranks : 1;
}

const char* number_name(deepbench_type type) {
  if (type == DEEPBENCH_F16) return "Half";
  return type == DEEPBENCH_BF16 ? "Bfloat16" : "Float";
}

}  // namespace

PeerBlocks peer_blocks(const Collective& collective, int rank, int ranks) {
  const bool is_broadcast = collective.kind == CollectiveKind::kBroadcast;
  PeerBlocks blocks = {};
  blocks.halfwords = block_bytes(collective, ranks) / 2;
  blocks.vectors = block_vectors(collective, ranks);
  blocks.sends = !is_broadcast || rank == Collective::root(ranks);
  blocks.receives = collective.has_result(rank, ranks);
  blocks.first_source = collective.source(uint32_t(rank), uint32_t(ranks), 0).rank;
  if (collective.kind == CollectiveKind::kReduceScatter) blocks.first_source = 0;
  blocks.source_block = sent_blocks(collective, ranks) > 1 ? uint32_t(rank) : 0;
  return blocks;
}

// Blocks of threads wait for one another, so that all of them must be resident at the same time.
ExchangePlan exchange_plan(const Collective& collective, int ranks, int multiprocessors) {
  const int resident = std::clamp(multiprocessors, 1, int(PEER_MAX_BLOCKS));
  const int limit = ranks > 2 ? std::min(resident, kMaxBlocksOfManyRanks) : resident;
  const uint64_t vectors = block_vectors(collective, ranks);
  const bool has_few_per_position = received_blocks(collective, ranks) <= 4;
  const int vectors_in_flight = vectors <= kFewVectors ? 1 : has_few_per_position ? 4 : 2;
  const uint64_t of_block = PEER_THREADS * uint64_t(vectors_in_flight);
  const uint64_t needed = (vectors + of_block - 1) / of_block;
  return {uint32_t(std::clamp<uint64_t>(needed, 1, uint64_t(limit))), PEER_THREADS,
          vectors_in_flight};
}

uint64_t exchange_shared_bytes(const Collective& collective, int ranks) {
  const uint64_t half =
      uint64_t(sent_blocks(collective, ranks)) * block_vectors(collective, ranks) * kVectorBytes;
  return 2 * half;
}

std::string exchange_expression(const ExchangePlan& plan, const Collective& collective, int ranks) {
  const std::string all = std::to_string(ranks);
  const std::string end =
      std::string(block_bytes(collective, ranks) % kVectorBytes == 0 ? ", true, " : ", false, ") +
      std::to_string(plan.vectors_in_flight) + ">";
  if (collective.is_sum())
    return "reduce_blocks<" + std::string(number_name(collective.precision.c)) + ", " + all + end;
  return "exchange_blocks<" + all + ", " + std::to_string(sent_blocks(collective, ranks)) + ", " +
         std::to_string(received_blocks(collective, ranks)) + end;
}

ExchangeKernel::ExchangeKernel(const ExchangePlan& plan, const Collective& collective, int rank,
                               int ranks, const Stream& stream)
    : blocks_(peer_blocks(collective, rank, ranks)),
      function_(
          planned_function("peer_exchange", exchange_expression(plan, collective, ranks), stream)) {
  shape_.grid_x = plan.blocks;
  shape_.block_x = plan.threads;
}

void ExchangeKernel::enqueue(nvidia::cudaStream_t stream, const Peers& peers,
                             const PeerAddresses& staged, const void* input, void* result) const {
  function_.kernel.launch(shape_, stream, peers, staged, blocks_, input, result);
}

}  // namespace deepbench::cuda
