// Composes attention from oneDNN's products, for a block of queries of some heads at a time: two
// batched products with a built-in softmax between them, and five with its gradient.
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
  // Only for gradients; the two products above are then those of the preceding forward pass.
  PrimitiveDesc weight_gradients;  // dO V^T, in float
  PrimitiveDesc dq;
  PrimitiveDesc dk, dv;  // added to sums in float
};

struct AttentionPlan {
  Attention attention;
  std::vector<QueryBlock> blocks;
  // Number of key heads at a time, each with query_heads of its query heads.
  int64_t heads_at_a_time = 1;
  std::map<QueryBlock::Shape, BlockProducts> products;

  // The queries of all heads that share a key head form one matrix if they are one block, because
  // they are then adjacent.
  int64_t query_heads() const { return blocks.size() == 1 ? attention.group() : 1; }
  int64_t rows_of(const QueryBlock::Shape& block) const { return query_heads() * block.queries; }

  // The sizes of the intermediate results of the current heads.
  uint64_t score_bytes() const;
  uint64_t weight_bytes() const;  // 0: the weights overwrite the scores
  uint64_t pair_bytes() const;    // bytes of all matrices of pairs of a query and a key
  uint64_t sum_bytes() const;  // bytes of the sums of dK and dV in float; 0: the outputs hold them
  uint64_t scratchpad_bytes() const;
  uint64_t workspace_bytes() const;
  std::string algorithm() const;
};

// Takes as many heads at a time as have their scores in `workspace_limit` bytes, at least one.
// Throws plugin::Error (unsupported) with oneDNN's reason.
AttentionPlan plan_attention(const Attention& attention, int64_t workspace_limit);

}  // namespace deepbench::cpu::onednn
