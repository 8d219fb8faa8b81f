// The forward pass of attention and that of its gradients, composed from oneDNN's products and
// built-in loops on oneDNN's threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "buffer.hpp"
#include "deepbench/backend/attention_operands.hpp"
#include "host_memory.hpp"
#include "onednn/api.hpp"
#include "ops/attention/onednn_plan.hpp"

namespace deepbench::cpu::onednn {

using AttentionOperands = plugin::AttentionOperands<HostMemory>;

// A product whose matrices have different addresses from call to call.
class Product {
 public:
  Product(const_dnnl_primitive_desc_t description, const Buffer& scratchpad);
  int run(void* a, void* b, void* c) const;

 private:
  MemoryObject wrap(dnnl_query_t which) const;

  const Api& api_ = Api::instance();
  const const_dnnl_primitive_desc_t description_;
  const Primitive primitive_;
  const MemoryObject memories_[4];
};

// For each query of a block of the current heads, a row with an element for each key: the floats
// that a product writes, and the values in the problem's type that the loops derive from them.
class PairMatrix {
 public:
  explicit PairMatrix(const AttentionPlan& plan)
      : size_(size_of(plan.attention.type())),
        floats_(plan.score_bytes()),
        narrow_(plan.weight_bytes()) {}

  void* floats() const { return floats_.data(); }
  void* elements() const { return narrow_.size() > 0 ? narrow_.data() : floats_.data(); }
  // The floats from this pair on.
  float* floats_at(int64_t pair) const { return reinterpret_cast<float*>(floats_.data()) + pair; }
  void* elements_at(int64_t pair) const {
    return static_cast<std::byte*>(elements()) + pair * size_;
  }

 private:
  const int64_t size_;
  const Buffer floats_, narrow_;
};

// A block of queries of the current heads. Each key head takes part with all of its query heads, or
// with one of them (AttentionPlan::query_heads).
struct BlockOfHeads {
  const QueryBlock& block;
  int64_t first_row;  // among the rows of all heads
  int64_t first_key;  // among the keys of all heads
};

// A row of a block.
struct BlockRow {
  int64_t of_all;        // number among the rows of all heads
  int64_t first_pair;    // number of its first pair in the matrix of pairs
  Attention::Keys seen;  // the keys that it sees among the keys of the block
};

// The shared part of both passes: the addresses of operands, and the division of work.
class AttentionPass {
 public:
  AttentionPass(const AttentionPlan& plan, const AttentionOperands& operands, int threads)
      : plan_(plan),
        attention_(plan.attention),
        operands_(operands),
        threads_(threads),
        scratchpad_(plan.scratchpad_bytes()) {}

 protected:
  // Calls run(first) for the first head of each group of current heads, until a call returns a
  // status other than 0.
  int for_heads(const std::function<int(int64_t first)>& run) const;
  // Calls run(block) in the same way for all queries of the group of heads that begins with key
  // head `first`.
  int for_blocks(int64_t first, const std::function<int(const BlockOfHeads&)>& run) const;
  void for_rows_of(const BlockOfHeads& of, const std::function<void(const BlockRow&)>& visit) const;
  // Calls visit(row) for rows [0, count) on all threads. The threads take the rows in turn, because
  // rows of a masked head become longer.
  void for_rows(int64_t count, const std::function<void(int64_t row)>& visit) const;

  // The part of an operand that begins at this row of all heads, or at this key.
  void* at_row(AttentionPart part, uint64_t copy, int64_t row) const {
    return at(part, copy, row, attention_.products() * attention_.rows());
  }
  void* at_key(AttentionPart part, uint64_t copy, int64_t key) const {
    return at(part, copy, key, attention_.products() * attention_.seq_kv);
  }
  float sink_of(uint64_t copy, int64_t row) const;  // `row` is a row of all heads
  float* log_sums(uint64_t copy) const {
    return static_cast<float*>(operands_.at(AttentionPart::kLogSum, copy));
  }

  const AttentionPlan& plan_;
  const Attention& attention_;
  const AttentionOperands& operands_;
  const int threads_;
  const Buffer scratchpad_;  // shared by all products

 private:
  void* at(AttentionPart part, uint64_t copy, int64_t line, int64_t lines) const;
};

class ForwardPass final : public AttentionPass {
 public:
  ForwardPass(const AttentionPlan& plan, const AttentionOperands& operands, int threads);
  int run(uint64_t copy) const;

 private:
  struct Products {
    Products(const BlockProducts& of, const Buffer& scratchpad)
        : scores(of.scores.get(), scratchpad), output(of.output.get(), scratchpad) {}
    const Product scores, output;
  };
  int run_block(uint64_t copy, const BlockOfHeads& of) const;

  const PairMatrix weights_;
  std::map<QueryBlock::Shape, Products> products_;
};

// Computes gradients from the output and the logarithms that a forward pass has left.
class GradientPass final : public AttentionPass {
 public:
  GradientPass(const AttentionPlan& plan, const AttentionOperands& operands, int threads);
  int run(uint64_t copy) const;

 private:
  struct Products {
    Products(const BlockProducts& of, const Buffer& scratchpad)
        : scores(of.scores.get(), scratchpad),
          weight_gradients(of.weight_gradients.get(), scratchpad),
          dq(of.dq.get(), scratchpad),
          dk(of.dk.get(), scratchpad),
          dv(of.dv.get(), scratchpad) {}
    const Product scores, weight_gradients, dq, dk, dv;
  };
  // Sums of the gradients of the current heads, with a row for each key.
  struct KeySums {
    float *dk, *dv;
  };
  void write_row_sums(uint64_t copy) const;
  void write_sink_gradients(uint64_t copy) const;
  int run_heads(uint64_t copy, int64_t first) const;
  int run_block(uint64_t copy, const BlockOfHeads& of, const KeySums& sums) const;
  KeySums sums_at(uint64_t copy, int64_t first) const;
  void store_sums(const KeySums& sums, uint64_t copy, int64_t first) const;

  const PairMatrix weights_, gradients_;
  const Buffer row_sums_;  // D of every row
  const Buffer key_sums_;  // sums of dK and dV, unless the outputs hold them
  std::map<QueryBlock::Shape, Products> products_;
};

}  // namespace deepbench::cpu::onednn
