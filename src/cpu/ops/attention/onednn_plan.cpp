// Describes the products to oneDNN, once for each shape of block.
#include "ops/attention/onednn_plan.hpp"

#include <algorithm>
#include <vector>

#include "buffer.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/plugin.hpp"
#include "onednn/primitive_call.hpp"

namespace deepbench::cpu::onednn {
namespace {

// One matrix for each head, stored by rows. `stride` is the distance between the first elements of
// two heads' matrices.
struct Matrices {
  int64_t heads, rows, columns, stride;
  dnnl_data_type_t type;
};

MemoryDesc describe_matrices(const dnnl_dims_t& dimensions, const dnnl_dims_t& strides,
                             dnnl_data_type_t type) {
  const Api& api = Api::instance();
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_strides_f(&made, 3, dimensions, type, strides),
            "describing matrices");
  return MemoryDesc(made);
}

MemoryDesc plain(const Matrices& of) {
  return describe_matrices({of.heads, of.rows, of.columns}, {of.stride, of.columns, 1}, of.type);
}

MemoryDesc transposed(const Matrices& of) {
  return describe_matrices({of.heads, of.columns, of.rows}, {of.stride, 1, of.columns}, of.type);
}

Attributes adding_attributes() {
  const Api& api = Api::instance();
  dnnl_post_ops_t made = nullptr;
  api.check(api.post_ops_create_f(&made), "creating post-operations");
  const PostOps post_ops(made);
  api.check(api.post_ops_append_sum_f(made, 1.0f, 0, dnnl_data_type_undef), "adding to sums");
  Attributes attributes = strict_attributes();
  api.check(api.primitive_attr_set_post_ops_f(attributes.get(), made), "setting post-operations");
  return attributes;
}

PrimitiveDesc product(const Attention& attention, const MemoryDesc& a, const MemoryDesc& b,
                      const Matrices& c, const Attributes& attributes = strict_attributes()) {
  const Api& api = Api::instance();
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api.matmul_primitive_desc_create_f(
      &made, api.engine(), a.get(), b.get(), nullptr, plain(c).get(), attributes.get());
  require_primitive(status, "matrix product", attention.precision);
  PrimitiveDesc description(made);
  reject_too_slow(implementation_name(made), attention.flops());
  return description;
}

// Plans the products of a block. The sums of dK and dV include the queries of all blocks of all
// heads that share the key head.
BlockProducts plan_products(const AttentionPlan& plan, const QueryBlock::Shape& block) {
  const Attention& a = plan.attention;
  const int64_t heads = plan.heads_at_a_time, rows = plan.rows_of(block), keys = block.keys;
  const dnnl_data_type_t type = data_type(a.type());
  const Matrices q = {heads, rows, a.dim, a.rows() * a.dim, type};
  const Matrices k = {heads, keys, a.dim, a.seq_kv * a.dim, type};
  const Matrices v = {heads, keys, a.dim_v, a.seq_kv * a.dim_v, type};
  const Matrices o = {heads, rows, a.dim_v, a.rows() * a.dim_v, type};
  const Matrices weights = {heads, rows, keys, rows * keys, type};
  const auto in_float = [](Matrices matrices) {
    matrices.type = dnnl_f32;
    return matrices;
  };
  BlockProducts products;
  products.scores = product(a, plain(q), transposed(k), in_float(weights));
  products.output = product(a, plain(weights), plain(v), o);
  if (!a.is_backward) return products;
  products.weight_gradients = product(a, plain(o), transposed(v), in_float(weights));
  products.dq = product(a, plain(weights), plain(k), q);
  products.dk = product(a, transposed(weights), plain(q), in_float(k), adding_attributes());
  products.dv = product(a, transposed(weights), plain(o), in_float(v), adding_attributes());
  return products;
}

// The number of matrices of all pairs of a query and a key. Gradients have two: the scores and
// their gradients.
uint64_t matrices_of_pairs(const Attention& attention) { return attention.is_backward ? 2 : 1; }

// The number of pairs of one key head in the largest block.
uint64_t pairs_of_head(const AttentionPlan& plan) {
  uint64_t most = 0;
  for (const QueryBlock& block : plan.blocks)
    most = std::max(
        most, saturating_multiply(uint64_t(plan.rows_of(block.shape())), uint64_t(block.keys)));
  return most;
}

// The bytes of the sums of dK and dV of one key head, which are separate floats if the gradients
// are not.
uint64_t sum_bytes_of_head(const Attention& attention) {
  if (!attention.is_backward || attention.type() == DEEPBENCH_F32) return 0;
  return uint64_t(attention.seq_kv * (attention.dim + attention.dim_v)) * sizeof(float);
}

// The bytes of one key head: its scores, its weights if they are not float, and the sums.
uint64_t bytes_of_head(const AttentionPlan& plan) {
  const auto size = uint64_t(size_of(plan.attention.type()));
  const uint64_t pairs = saturating_multiply(
      pairs_of_head(plan),
      matrices_of_pairs(plan.attention) * (sizeof(float) + (size == sizeof(float) ? 0 : size)));
  return saturating_add(pairs, sum_bytes_of_head(plan.attention));
}

// The largest divisor of the number of key heads whose memory fits; at least one head.
int64_t heads_within(const AttentionPlan& plan, int64_t workspace_limit) {
  const int64_t all = plan.attention.products();
  const uint64_t most = uint64_t(workspace_limit) / std::max<uint64_t>(bytes_of_head(plan), 1);
  int64_t heads = 1;
  for (int64_t i = 1; i <= all / i; ++i) {
    if (all % i != 0) continue;
    for (const int64_t divisor : {i, all / i})
      if (uint64_t(divisor) <= most) heads = std::max(heads, divisor);
  }
  return heads;
}

void require_floating_point(const Attention& attention) {
  if (size_of(attention.type()) < 2)
    plugin::unsupported("oneDNN's products do not compute attention in " +
                        std::string(attention.precision.name));
}

std::vector<const PrimitiveDesc*> descriptions_of(const BlockProducts& of, bool is_backward) {
  if (!is_backward) return {&of.scores, &of.output};
  return {&of.scores, &of.output, &of.weight_gradients, &of.dq, &of.dk, &of.dv};
}

}  // namespace

uint64_t AttentionPlan::score_bytes() const {
  return uint64_t(heads_at_a_time) * pairs_of_head(*this) * sizeof(float);
}

uint64_t AttentionPlan::weight_bytes() const {
  const auto size = uint64_t(size_of(attention.type()));
  return size == sizeof(float) ? 0 : score_bytes() / sizeof(float) * size;
}

uint64_t AttentionPlan::pair_bytes() const {
  return matrices_of_pairs(attention) * (score_bytes() + weight_bytes());
}

uint64_t AttentionPlan::sum_bytes() const {
  return uint64_t(heads_at_a_time) * sum_bytes_of_head(attention);
}

uint64_t AttentionPlan::scratchpad_bytes() const {
  uint64_t largest = 0;
  for (const auto& [shape, of] : products)
    for (const PrimitiveDesc* const product : descriptions_of(of, attention.is_backward))
      largest = std::max(largest, onednn::scratchpad_bytes(product->get()));
  return largest;
}

// The last summand holds D (see attention.hpp) of every row: as many floats as there are log sums.
uint64_t AttentionPlan::workspace_bytes() const {
  return pair_bytes() + sum_bytes() + scratchpad_bytes() +
         uint64_t(attention.elements(AttentionPart::kLogSum)) * sizeof(float);
}

// Names the implementations of the largest products.
std::string AttentionPlan::algorithm() const {
  const BlockProducts& of = products.rbegin()->second;
  const std::string heads = heads_at_a_time == attention.products()
                                ? "all heads"
                                : std::to_string(heads_at_a_time) + " of " +
                                      std::to_string(attention.products()) + " key heads";
  const std::string in_blocks =
      blocks.size() == 1 ? "" : ", in " + std::to_string(blocks.size()) + " blocks of queries";
  const std::string at_a_time = " (" + heads + " at a time" + in_blocks + ")";
  if (attention.is_backward)
    return implementation_name(of.scores.get()) + ", " +
           implementation_name(of.weight_gradients.get()) + ", softmax gradient, " +
           implementation_name(of.dq.get()) + ", " + implementation_name(of.dk.get()) + ", " +
           implementation_name(of.dv.get()) + at_a_time;
  return implementation_name(of.scores.get()) + ", softmax, " +
         implementation_name(of.output.get()) + at_a_time;
}

AttentionPlan plan_attention(const Attention& attention, int64_t workspace_limit) {
  require_precision(attention.precision.precision);
  require_floating_point(attention);
  AttentionPlan plan;
  plan.attention = attention;
  plan.blocks = query_blocks(attention);
  plan.heads_at_a_time = heads_within(plan, workspace_limit);
  for (const QueryBlock& block : plan.blocks)
    if (plan.products.count(block.shape()) == 0)
      plan.products.emplace(block.shape(), plan_products(plan, block.shape()));
  return plan;
}

}  // namespace deepbench::cpu::onednn
