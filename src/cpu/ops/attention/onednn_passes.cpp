// Multiplies blocks of queries of some heads at a time, with loops over their rows between the
// products.
#include "ops/attention/onednn_passes.hpp"

#include <algorithm>
#include <cmath>

#include "onednn/primitive_call.hpp"
#include "ops/attention/softmax.hpp"

namespace deepbench::cpu::onednn {

// ---- one product --------------------------------------------------------------------------------

Product::Product(const_dnnl_primitive_desc_t description, const Buffer& scratchpad)
    : description_(description),
      primitive_(primitive_of(description)),
      memories_{wrap(dnnl_query_src_md), wrap(dnnl_query_weights_md), wrap(dnnl_query_dst_md),
                wrap(dnnl_query_scratchpad_md)} {
  api_.check(api_.memory_set_data_handle_f(memories_[3].get(), scratchpad.data()),
             "placing a scratchpad");
}

int Product::run(void* a, void* b, void* c) const {
  void* const data[] = {a, b, c};
  for (size_t i = 0; i < 3; ++i)
    if (const auto status = api_.memory_set_data_handle_f(memories_[i].get(), data[i]))
      return status;
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memories_[0].get()},
                                       {DNNL_ARG_WEIGHTS, memories_[1].get()},
                                       {DNNL_ARG_DST, memories_[2].get()},
                                       {DNNL_ARG_SCRATCHPAD, memories_[3].get()}};
  return api_.primitive_execute_f(primitive_.get(), api_.stream(), 4, arguments);
}

MemoryObject Product::wrap(dnnl_query_t which) const {
  return memory_at(api_.primitive_desc_query_md_f(description_, which, 0), nullptr);
}

// ---- the shared part of both passes
// --------------------------------------------------------------

int AttentionPass::for_heads(const std::function<int(int64_t first)>& run) const {
  for (int64_t first = 0; first < attention_.products(); first += plan_.heads_at_a_time)
    if (const int status = run(first)) return status;
  return 0;
}

int AttentionPass::for_blocks(int64_t first,
                              const std::function<int(const BlockOfHeads&)>& run) const {
  const Attention& a = attention_;
  for (int64_t head = 0; head < a.group(); head += plan_.query_heads())
    for (const QueryBlock& block : plan_.blocks) {
      const int64_t row = first * a.rows() + head * a.seq_q + block.query_begin;
      if (const int status = run({block, row, first * a.seq_kv + block.key_begin})) return status;
    }
  return 0;
}

void AttentionPass::for_rows_of(const BlockOfHeads& of,
                                const std::function<void(const BlockRow&)>& visit) const {
  const QueryBlock& block = of.block;
  const int64_t rows = plan_.rows_of(block.shape());
  for_rows(plan_.heads_at_a_time * rows, [&](int64_t row) {
    const int64_t head = row / rows, row_of_head = row % rows;
    Attention::Keys seen = attention_.keys_of(block.query_begin + row_of_head % block.queries);
    seen = {seen.begin - block.key_begin, seen.end - block.key_begin};
    visit({of.first_row + head * attention_.rows() + row_of_head, row * block.keys, seen});
  });
}

void AttentionPass::for_rows(int64_t count, const std::function<void(int64_t row)>& visit) const {
  Api::instance().run_on_threads(threads_, [&](int thread, int threads) {
    for (int64_t row = thread; row < count; row += threads) visit(row);
  });
}

void* AttentionPass::at(AttentionPart part, uint64_t copy, int64_t line, int64_t lines) const {
  const int64_t elements = attention_.elements(part) / lines;
  return static_cast<std::byte*>(operands_.at(part, copy)) +
         line * elements * size_of(attention_.type());
}

float AttentionPass::sink_of(uint64_t copy, int64_t row) const {
  if (!attention_.has_sink) return kNoSink;
  return static_cast<const float*>(
      operands_.at(AttentionPart::kSink, copy))[row / attention_.seq_q % attention_.heads];
}

// ---- forward ------------------------------------------------------------------------------------

ForwardPass::ForwardPass(const AttentionPlan& plan, const AttentionOperands& operands, int threads)
    : AttentionPass(plan, operands, threads), weights_(plan) {
  for (const auto& [shape, of] : plan.products) products_.try_emplace(shape, of, scratchpad_);
}

int ForwardPass::run(uint64_t copy) const {
  return for_heads([&](int64_t first) {
    return for_blocks(first, [&](const BlockOfHeads& of) { return run_block(copy, of); });
  });
}

int ForwardPass::run_block(uint64_t copy, const BlockOfHeads& of) const {
  const Attention& a = attention_;
  const Products& products = products_.at(of.block.shape());
  if (const int status =
          products.scores.run(at_row(AttentionPart::kQ, copy, of.first_row),
                              at_key(AttentionPart::kK, copy, of.first_key), weights_.floats()))
    return status;
  float* const kept = log_sums(copy);
  for_rows_of(of, [&](const BlockRow& row) {
    const ScoreRow scores = {weights_.floats_at(row.first_pair), of.block.keys, row.seen.begin,
                             row.seen.end};
    const float log_sum = write_weights(scores, float(a.scale()), sink_of(copy, row.of_all),
                                        a.type(), weights_.elements_at(row.first_pair));
    if (kept) kept[row.of_all] = log_sum;
  });
  return products.output.run(weights_.elements(), at_key(AttentionPart::kV, copy, of.first_key),
                             at_row(AttentionPart::kO, copy, of.first_row));
}

// ---- gradients ----------------------------------------------------------------------------------

GradientPass::GradientPass(const AttentionPlan& plan, const AttentionOperands& operands,
                           int threads)
    : AttentionPass(plan, operands, threads),
      weights_(plan),
      gradients_(plan),
      row_sums_(uint64_t(attention_.elements(AttentionPart::kLogSum)) * sizeof(float)),
      key_sums_(plan.sum_bytes()) {
  for (const auto& [shape, of] : plan.products) products_.try_emplace(shape, of, scratchpad_);
}

int GradientPass::run(uint64_t copy) const {
  write_row_sums(copy);
  if (attention_.has_sink) write_sink_gradients(copy);
  return for_heads([&](int64_t first) { return run_heads(copy, first); });
}

void GradientPass::write_row_sums(uint64_t copy) const {
  const Attention& a = attention_;
  const int64_t row_bytes = a.dim_v * size_of(a.type());
  const auto* const output = static_cast<const std::byte*>(operands_.at(AttentionPart::kO, copy));
  const auto* const gradient =
      static_cast<const std::byte*>(operands_.at(AttentionPart::kDo, copy));
  auto* const sums = reinterpret_cast<float*>(row_sums_.data());
  for_rows(a.products() * a.rows(), [&](int64_t row) {
    sums[row] =
        sum_of_products(gradient + row * row_bytes, output + row * row_bytes, a.dim_v, a.type());
  });
}

void GradientPass::write_sink_gradients(uint64_t copy) const {
  const Attention& a = attention_;
  const auto* const sums = reinterpret_cast<const float*>(row_sums_.data());
  const float* const logarithms = log_sums(copy);
  auto* const to = static_cast<float*>(operands_.at(AttentionPart::kDsink, copy));
  for_rows(a.heads, [&](int64_t head) {
    double sum = 0;
    for (int64_t sequence = 0; sequence < a.batch; ++sequence)
      for (int64_t query = 0; query < a.seq_q; ++query) {
        const int64_t row = (sequence * a.heads + head) * a.seq_q + query;
        sum -= double(std::exp(sink_of(copy, row) - logarithms[row]) * sums[row]);
      }
    to[head] = float(sum);
  });
}

int GradientPass::run_heads(uint64_t copy, int64_t first) const {
  const Attention& a = attention_;
  const KeySums sums = sums_at(copy, first);
  for_rows(plan_.heads_at_a_time * a.seq_kv, [&](int64_t key) {
    std::fill_n(sums.dk + key * a.dim, a.dim, 0.0f);
    std::fill_n(sums.dv + key * a.dim_v, a.dim_v, 0.0f);
  });
  if (const int status =
          for_blocks(first, [&](const BlockOfHeads& of) { return run_block(copy, of, sums); }))
    return status;
  if (a.type() != DEEPBENCH_F32) store_sums(sums, copy, first);
  return 0;
}

int GradientPass::run_block(uint64_t copy, const BlockOfHeads& of, const KeySums& sums) const {
  const Attention& a = attention_;
  const Products& products = products_.at(of.block.shape());
  void* const q = at_row(AttentionPart::kQ, copy, of.first_row);
  void* const k = at_key(AttentionPart::kK, copy, of.first_key);
  void* const gradient = at_row(AttentionPart::kDo, copy, of.first_row);
  if (const int status = products.scores.run(q, k, weights_.floats())) return status;
  if (const int status = products.weight_gradients.run(
          gradient, at_key(AttentionPart::kV, copy, of.first_key), gradients_.floats()))
    return status;
  const float* const logarithms = log_sums(copy);
  const auto* const row_sums = reinterpret_cast<const float*>(row_sums_.data());
  for_rows_of(of, [&](const BlockRow& row) {
    const ScoreRow scores = {weights_.floats_at(row.first_pair), of.block.keys, row.seen.begin,
                             row.seen.end};
    const GradientOfRow gradient_of_row = {logarithms[row.of_all], row_sums[row.of_all],
                                           gradients_.floats_at(row.first_pair)};
    write_gradients(scores, gradient_of_row, float(a.scale()), a.type(),
                    weights_.elements_at(row.first_pair), gradients_.elements_at(row.first_pair));
  });
  if (const int status =
          products.dq.run(gradients_.elements(), k, at_row(AttentionPart::kDq, copy, of.first_row)))
    return status;
  if (const int status =
          products.dk.run(gradients_.elements(), q, sums.dk + of.block.key_begin * a.dim))
    return status;
  return products.dv.run(weights_.elements(), gradient, sums.dv + of.block.key_begin * a.dim_v);
}

GradientPass::KeySums GradientPass::sums_at(uint64_t copy, int64_t first) const {
  if (attention_.type() == DEEPBENCH_F32) {
    const int64_t key = first * attention_.seq_kv;
    return {static_cast<float*>(at_key(AttentionPart::kDk, copy, key)),
            static_cast<float*>(at_key(AttentionPart::kDv, copy, key))};
  }
  auto* const dk = reinterpret_cast<float*>(key_sums_.data());
  return {dk, dk + plan_.heads_at_a_time * attention_.seq_kv * attention_.dim};
}

void GradientPass::store_sums(const KeySums& sums, uint64_t copy, int64_t first) const {
  const Attention& a = attention_;
  for_rows(plan_.heads_at_a_time * a.seq_kv, [&](int64_t key) {
    const int64_t of_all = first * a.seq_kv + key;
    store_as(sums.dk + key * a.dim, a.dim, a.type(), at_key(AttentionPart::kDk, copy, of_all));
    store_as(sums.dv + key * a.dim_v, a.dim_v, a.type(), at_key(AttentionPart::kDv, copy, of_all));
  });
}

}  // namespace deepbench::cpu::onednn
