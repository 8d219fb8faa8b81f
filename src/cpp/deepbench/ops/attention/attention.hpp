// Scaled dot-product attention, O = softmax(Q K^T / sqrt(dim)) V for every head, and its gradients:
// the typed problem, the values of its operands, and its outputs. Header-only, for the core and for
// backends.
//
// Q is (batch, heads, seq_q, dim), K is (batch, kv_heads, seq_kv, dim), V is (batch, kv_heads,
// seq_kv, dim_v) and O is (batch, heads, seq_q, dim_v), each with its last dimension contiguous.
// Query head h uses the key and value head h / (heads / kv_heads). The queries of the heads that
// share a key head thus follow one another, as the rows of one matrix.
//
// With the scores s of a query over the keys that it sees, and the sink z of its head,
//   L = log(sum of exp(s) + exp(z))    without a sink: exp(z) = 0
//   P = exp(s - L), O = sum of P V
// Gradients start from O and L, which the forward pass has left, and from dO:
//   D = dO O, dS = P (dO V - D)        for each pair of a query and a key that it sees
//   dQ = sum of dS K / sqrt(dim)       over the keys
//   dK = sum of dS Q / sqrt(dim), dV = sum of P dO   over the queries of all heads of the group
//   dz = -sum of exp(z - L) D          over the queries of all sequences
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/precision.hpp"

namespace deepbench {

enum class AttentionMask {
  kNone,
  kTopLeft,     // query i sees the keys up to i
  kBottomRight  // the last query sees the keys up to the last one
};

// The inputs, the results of the forward pass, and the gradients.
enum class AttentionPart { kQ, kK, kV, kDo, kSink, kO, kLogSum, kDq, kDk, kDv, kDsink };
inline constexpr int kAttentionParts = 11;

struct Attention {
  int64_t batch = 0, heads = 0, kv_heads = 0, seq_q = 0, seq_kv = 0, dim = 0, dim_v = 0;
  int64_t window = 0;  // most keys that a query sees, including its own; 0: no limit
  AttentionMask mask = AttentionMask::kNone;
  bool has_sink = false, is_backward = false;
  PrecisionInfo precision;

  // fill.h streams of the inputs.
  static constexpr uint32_t kStreamQ = 0, kStreamK = 1, kStreamV = 2, kStreamDo = 3,
                            kStreamSink = 4;
  // A sink is this many times an element of fill.h: for some heads it weighs as much as a thousand
  // keys.
  static constexpr float kSinkScale = 8;

  // The keys [begin, end) that a query sees. If begin equals end, it sees none and its output is 0.
  struct Keys {
    int64_t begin, end;
    int64_t count() const { return end - begin; }
  };
  Keys keys_of(int64_t query) const {
    if (mask == AttentionMask::kNone) return {0, seq_kv};
    const int64_t own = query + (mask == AttentionMask::kBottomRight ? seq_kv - seq_q : 0);
    const int64_t end = std::clamp<int64_t>(own + 1, 0, seq_kv);
    const int64_t begin = window > 0 ? std::clamp<int64_t>(own + 1 - window, 0, end) : 0;
    return {begin, end};
  }
  // Whether a key is hidden from a query. The mask of one query at the bottom right hides none.
  bool hides_keys() const { return keys_of(0).end < seq_kv || keys_of(seq_q - 1).begin > 0; }

  deepbench_type type() const { return precision.a; }
  double scale() const { return 1 / std::sqrt(double(dim)); }
  int64_t group() const { return heads / kv_heads; }  // query heads that share a key head
  // The number of products of all heads: one for each key head, with the rows of its queries.
  int64_t products() const { return batch * kv_heads; }
  int64_t rows() const { return group() * seq_q; }

  deepbench_type type_of(AttentionPart part) const {
    const bool is_float = part == AttentionPart::kSink || part == AttentionPart::kLogSum ||
                          part == AttentionPart::kDsink;
    return is_float ? DEEPBENCH_F32 : type();
  }
  // The number of elements; 0 if the problem has no such part.
  int64_t elements(AttentionPart part) const {
    switch (part) {
      case AttentionPart::kQ:
        return batch * heads * seq_q * dim;
      case AttentionPart::kK:
        return batch * kv_heads * seq_kv * dim;
      case AttentionPart::kV:
        return batch * kv_heads * seq_kv * dim_v;
      case AttentionPart::kO:
        return batch * heads * seq_q * dim_v;
      case AttentionPart::kSink:
        return has_sink ? heads : 0;
      case AttentionPart::kDo:
        return is_backward ? elements(AttentionPart::kO) : 0;
      case AttentionPart::kLogSum:
        return is_backward ? batch * heads * seq_q : 0;
      case AttentionPart::kDq:
        return is_backward ? elements(AttentionPart::kQ) : 0;
      case AttentionPart::kDk:
        return is_backward ? elements(AttentionPart::kK) : 0;
      case AttentionPart::kDv:
        return is_backward ? elements(AttentionPart::kV) : 0;
      case AttentionPart::kDsink:
        return is_backward ? elements(AttentionPart::kSink) : 0;
    }
    return 0;
  }
  // The outputs in the order of their numbers.
  std::vector<AttentionPart> outputs() const {
    if (!is_backward) return {AttentionPart::kO};
    if (!has_sink) return {AttentionPart::kDq, AttentionPart::kDk, AttentionPart::kDv};
    return {AttentionPart::kDq, AttentionPart::kDk, AttentionPart::kDv, AttentionPart::kDsink};
  }
  // Bytes that move if every part is read or written once.
  double bytes() const {
    double bytes = 0;
    for (int i = 0; i < kAttentionParts; ++i) {
      const auto part = AttentionPart(i);
      bytes += double(elements(part)) * double(size_of(type_of(part)));
    }
    return bytes;
  }

  // Pairs of a query and a key that it sees, in one head.
  double visible_pairs() const {
    double pairs = 0;
    for (int64_t query = 0; query < seq_q; ++query) pairs += double(keys_of(query).count());
    return pairs;
  }
  // The gradients consist of five products: three with the length of a key, and two with that of a
  // value.
  double flops() const {
    const int64_t products = is_backward ? 3 * dim + 2 * dim_v : dim + dim_v;
    return double(batch) * double(heads) * visible_pairs() * 2 * double(products);
  }

  // The contents of the operands after a refill with "integers". All scores are 0, so that the
  // weights of a query are equal. In the forward pass, Q is 0 and an output is a multiple of the
  // sum of the values that its query sees. In the backward pass, K is 0, sums over queries give dK
  // and dV, and dQ is 0.
  deepbench_small_integers integers(uint32_t stream) const {
    constexpr uint32_t kAll = uint32_t{1} << 28;
    const bool is_zero = stream == (is_backward ? kStreamK : kStreamQ);
    const bool is_wide = stream == kStreamV || stream == kStreamSink;
    return {is_zero ? 0 : kAll, is_wide ? 7u : 1u};
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Attention attention_problem(const Attributes& attributes) {
  Attention attention;
  attention.batch = attributes.integer("batch");
  attention.heads = attributes.integer("heads");
  const int64_t kv_heads = attributes.integer("kv_heads");  // 0 if it is absent
  attention.kv_heads = kv_heads > 0 ? kv_heads : attention.heads;
  attention.seq_q = attributes.integer("seq_q");
  attention.seq_kv = attributes.integer("seq_kv");
  attention.dim = attributes.integer("dim");
  const int64_t dim_v = attributes.integer("dim_v");
  attention.dim_v = dim_v > 0 ? dim_v : attention.dim;
  attention.window = attributes.integer("window");
  const std::string mask = attributes.text("mask");
  attention.mask = mask == "top_left"       ? AttentionMask::kTopLeft
                   : mask == "bottom_right" ? AttentionMask::kBottomRight
                                            : AttentionMask::kNone;
  attention.has_sink = attributes.text("sink") == "yes";
  attention.is_backward = attributes.text("phase") == "bwd";
  attention.precision = precision_info(attributes.text("precision"));
  return attention;
}

}  // namespace deepbench
