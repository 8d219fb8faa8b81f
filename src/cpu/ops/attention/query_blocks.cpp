// Chooses the length of blocks: short blocks multiply fewer masked keys, long blocks are faster.
#include "ops/attention/query_blocks.hpp"

#include <algorithm>

namespace deepbench::cpu {
namespace {

// A block of queries also multiplies keys that the mask hides: for each query, about half as many
// as the block has queries, and with a window twice that. The block has about a sixteenth as many
// queries as a query can see keys, rounded up to kMinQueries, so that the products do not have too
// few rows.
constexpr int64_t kMinQueries = 64, kBlocksInReach = 16;

int64_t queries_of_block(const Attention& attention) {
  if (attention.mask == AttentionMask::kNone) return attention.seq_q;
  const int64_t reach =
      attention.window > 0 ? std::min(attention.window, attention.seq_kv) : attention.seq_kv;
  const int64_t queries = (reach / kBlocksInReach + kMinQueries - 1) / kMinQueries * kMinQueries;
  return std::clamp(queries, std::min(kMinQueries, attention.seq_q), attention.seq_q);
}

}  // namespace

std::vector<QueryBlock> query_blocks(const Attention& attention) {
  std::vector<QueryBlock> blocks;
  const int64_t queries = queries_of_block(attention);
  for (int64_t first = 0; first < attention.seq_q; first += queries) {
    const int64_t end = std::min(attention.seq_q, first + queries);
    // The keys that a query sees never begin or end before those of an earlier query.
    const int64_t key_begin = std::min(attention.keys_of(first).begin, attention.seq_kv - 1);
    const int64_t key_end = std::max(attention.keys_of(end - 1).end, key_begin + 1);
    blocks.push_back({first, end - first, key_begin, key_end - key_begin});
  }
  return blocks;
}

}  // namespace deepbench::cpu
