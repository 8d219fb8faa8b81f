// How attention is composed from oneDNN: two batched products with a built-in softmax between them,
// and five with its gradient, for a block of queries of some heads at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "deepbench/ops/attention/attention.hpp"
#include "onednn/api.hpp"
#include "ops/attention/query_blocks.hpp"

namespace deepbench::cpu::onednn {

struct BlockProducts {
  PrimitiveDesc scores;  // Q K^T, in float
  PrimitiveDesc output;  // weights times V
  // Of gradients alone; the two above are then the pass before them.
  PrimitiveDesc weight_gradients;  // dO V^T, in float
  PrimitiveDesc dq;
  PrimitiveDesc dk, dv;  // added to sums in float
};

struct AttentionPlan {
  Attention attention;
  std::vector<QueryBlock> blocks;
  int64_t heads_at_a_time = 1;  // key heads, each with query_heads of its query heads
  std::map<QueryBlock::Shape, BlockProducts> products;

  // The queries of all heads that share a key head are rows of one matrix if they are one block,
  // because they then follow one another.
  int64_t query_heads() const { return blocks.size() == 1 ? attention.group() : 1; }
  int64_t rows_of(const QueryBlock::Shape& block) const { return query_heads() * block.queries; }

  // The sizes of what the products hand over, of the heads at a time.
  uint64_t score_bytes() const;
  uint64_t weight_bytes() const;  // 0: the weights overwrite the scores
  uint64_t pair_bytes() const;    // of all matrices of pairs of a query and a key
  uint64_t sum_bytes() const;     // of dK and dV in float; 0: their outputs are the sums
  uint64_t scratchpad_bytes() const;
  uint64_t workspace_bytes() const;
  std::string algorithm() const;
};

// As many heads at a time as have their scores in `workspace_limit` bytes, at least one. Throws
// plugin::Error (unsupported) with oneDNN's reason.
AttentionPlan plan_attention(const Attention& attention, int64_t workspace_limit);

}  // namespace deepbench::cpu::onednn
