// Plans the products of attention and adds up their memory.
#include "ops/attention/unfused_plan.hpp"

#include <algorithm>

#include "buffer.hpp"

namespace deepbench::cuda {
namespace {

// Plans the gradients' products. The sums of dK and dV include the queries of all heads that share
// a key head.
std::unique_ptr<const UnfusedPlan::Gradients> plan_gradients(const Attention& a, uint64_t limit,
                                                             int device) {
  if (!a.is_backward) return nullptr;
  const auto product = [&](const ProductShape& shape) {
    return BatchedProduct(shape, a.precision, limit, device);
  };
  const int64_t rows = a.rows(), heads = a.products();
  return std::unique_ptr<const UnfusedPlan::Gradients>(
      new UnfusedPlan::Gradients{product({a.seq_kv, rows, a.dim_v, heads, true, false, true}),
                                 product({a.dim, rows, a.seq_kv, heads, false, false, false}),
                                 product({a.dim, a.seq_kv, rows, heads, false, true, false}),
                                 product({a.dim_v, a.seq_kv, rows, heads, false, true, false})});
}

// The bytes of a matrix of all pairs of a query and a key.
uint64_t bytes_of_pairs(const Attention& a, uint64_t size) {
  const uint64_t pairs = saturating_multiply(uint64_t(a.products() * a.rows()), uint64_t(a.seq_kv));
  return saturating_multiply(pairs, size);
}

}  // namespace

UnfusedPlan::UnfusedPlan(const Attention& a, uint64_t workspace_limit, int device)
    : attention(a),
      scores({a.seq_kv, a.rows(), a.dim, a.products(), true, false, true}, a.precision,
             workspace_limit, device),
      output({a.dim_v, a.rows(), a.seq_kv, a.products(), false, false, false}, a.precision,
             workspace_limit, device),
      softmax(a),
      gradients(plan_gradients(a, workspace_limit, device)) {}

uint64_t UnfusedPlan::score_bytes() const { return bytes_of_pairs(attention, sizeof(float)); }

uint64_t UnfusedPlan::weight_bytes() const {
  const auto size = uint64_t(size_of(attention.type()));
  return size == sizeof(float) ? 0 : bytes_of_pairs(attention, size);
}

uint64_t UnfusedPlan::sink_term_bytes() const {
  const bool has_terms = attention.is_backward && attention.has_sink;
  return has_terms ? uint64_t(attention.elements(AttentionPart::kLogSum)) * sizeof(float) : 0;
}

uint64_t UnfusedPlan::library_bytes() const {
  uint64_t most = std::max(scores.workspace_bytes(), output.workspace_bytes());
  if (gradients)
    for (const BatchedProduct* const product :
         {&gradients->weights, &gradients->dq, &gradients->dk, &gradients->dv})
      most = std::max(most, product->workspace_bytes());
  return most;
}

// Gradients have two matrices of all pairs: the scores and their gradients.
uint64_t UnfusedPlan::workspace_bytes() const {
  const uint64_t pairs =
      saturating_multiply(saturating_add(score_bytes(), weight_bytes()), gradients ? 2 : 1);
  return saturating_add(saturating_add(pairs, sink_term_bytes()), library_bytes());
}

// Names the products, except those of gradients, of which there are too many.
std::string UnfusedPlan::algorithm() const {
  if (gradients) return "softmax gradient between 5 products";
  return scores.algorithm() + ", softmax, " + output.algorithm();
}

std::string UnfusedPlan::products() const {
  if (!gradients) return "";
  return "scores " + scores.algorithm() + "; weights " + gradients->weights.algorithm() + "; dq " +
         gradients->dq.algorithm() + "; dk " + gradients->dk.algorithm() + "; dv " +
         gradients->dv.algorithm();
}

}  // namespace deepbench::cuda
