// Attention and its gradients in plain loops, right or with an error that a kernel can make.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/attention/attention.hpp"

namespace deepbench::testing {

class NaiveAttention {
 public:
  // An element of an input that is not what the generator fills it with.
  struct Change {
    AttentionPart part;
    size_t index;
    double by;
  };

  // `error` names what is wrong; empty: nothing.
  NaiveAttention(Attention attention, uint64_t seed, std::string inputs = "uniform",
                 std::string error = "", const std::vector<Change>& changes = {})
      : a_(std::move(attention)), error_(std::move(error)) {
    if (error_ == "top_left for bottom_right") a_.mask = AttentionMask::kTopLeft;
    if (error_ == "window off by one") ++a_.window;
    fill(AttentionPart::kQ, Attention::kStreamQ, seed, inputs);
    fill(AttentionPart::kK, Attention::kStreamK, seed, inputs);
    fill(AttentionPart::kV, Attention::kStreamV, seed, inputs);
    fill(AttentionPart::kDo, Attention::kStreamDo, seed, inputs);
    fill(AttentionPart::kSink, Attention::kStreamSink, seed, inputs);
    for (const Change& change : changes) values(change.part)[change.index] += change.by;
    for (const AttentionPart part : a_.outputs())
      values(part).assign(size_t(a_.elements(part)), 0.0);
    for (int64_t head = 0; head < a_.batch * a_.heads; ++head)
      for (int64_t query = 0; query < a_.seq_q; ++query)
        a_.is_backward ? differentiate(head, query) : attend(head, query);
  }

  const std::vector<double>& outputs(AttentionPart part = AttentionPart::kO) const {
    return parts_[size_t(part)];
  }

 private:
  // The weights of a query and its output.
  struct Row {
    std::vector<double> p;  // of all keys
    double sink = 0;
    std::vector<double> o;
  };

  bool is(const char* error) const { return error_ == error; }
  std::vector<double>& values(AttentionPart part) { return parts_[size_t(part)]; }
  const double* row_of(AttentionPart part, int64_t row, int64_t dim) const {
    return &parts_[size_t(part)][size_t(row * dim)];
  }

  void fill(AttentionPart part, uint32_t stream, uint64_t seed, const std::string& inputs) {
    const deepbench_type type = a_.type_of(part);
    std::vector<double>& to = values(part);
    to.resize(size_t(a_.elements(part)));
    for (size_t i = 0; i < to.size(); ++i) {
      if (inputs == "integers")
        to[i] = deepbench_small_integer(a_.integers(stream), seed, stream, i);
      else if (inputs == "ones")
        to[i] = part == AttentionPart::kSink ? double(Attention::kSinkScale) : 1;
      else
        to[i] = deepbench_element(type, seed, stream, i) *
                (part == AttentionPart::kSink ? double(Attention::kSinkScale) : 1);
    }
  }

  Attention::Keys keys_of(int64_t query) const {
    Attention::Keys keys = a_.keys_of(query);
    if (is("mask off by one") && keys.end < a_.seq_kv) ++keys.end;
    if (is("last key dropped") && keys.end == a_.seq_kv) --keys.end;
    return keys;
  }

  int64_t key_head_of(int64_t head) const {
    const int64_t key_head = head / a_.group();
    return is("another key head") ? (key_head + 1) % a_.products() : key_head;
  }
  int64_t value_head_of(int64_t head) const {
    const int64_t key_head = key_head_of(head);
    return is("values of another sequence") ? (key_head + a_.kv_heads) % a_.products() : key_head;
  }

  double score(int64_t head, int64_t query, int64_t key, bool is_scaled) const {
    const double* const q = row_of(AttentionPart::kQ, head * a_.seq_q + query, a_.dim);
    const double* const k = row_of(AttentionPart::kK, key_head_of(head) * a_.seq_kv + key, a_.dim);
    double score = 0;
    for (int64_t d = 0; d < a_.dim; ++d) score += q[d] * k[d];
    return is_scaled ? a_.scale() * score : score;
  }

  Row row(int64_t head, int64_t query) const {
    Row made;
    made.p.assign(size_t(a_.seq_kv), 0.0);
    made.o.assign(size_t(a_.dim_v), 0.0);
    const Attention::Keys keys = keys_of(query);
    if (a_.has_sink && !is("sink ignored"))
      made.sink = std::exp(parts_[size_t(AttentionPart::kSink)][size_t(head % a_.heads)]);
    double sum = is("sink counted twice") ? 2 * made.sink : made.sink;
    for (int64_t key = keys.begin; key < keys.end; ++key)
      sum += made.p[size_t(key)] = std::exp(score(head, query, key, !is("no scale")));
    if (sum == 0 || is("not normalized")) sum = 1;
    made.sink /= sum;
    for (int64_t key = keys.begin; key < keys.end; ++key) {
      made.p[size_t(key)] /= sum;
      const double* const v =
          row_of(AttentionPart::kV, value_head_of(head) * a_.seq_kv + key, a_.dim_v);
      for (int64_t d = 0; d < a_.dim_v; ++d) made.o[size_t(d)] += made.p[size_t(key)] * v[d];
    }
    return made;
  }

  void attend(int64_t head, int64_t query) {
    const Row made = row(head, query);
    std::copy(made.o.begin(), made.o.end(),
              values(AttentionPart::kO).begin() + (head * a_.seq_q + query) * a_.dim_v);
  }

  // The weights as a gradient computes them once more, from the forward pass that is right.
  std::vector<double> recomputed(int64_t head, int64_t query, const Row& forward) const {
    std::vector<double> p = forward.p;
    const Attention::Keys keys = a_.keys_of(query);
    if (is("gradient without mask") && keys.end < a_.seq_kv && keys.end > 0)
      p[size_t(keys.end)] =
          p[size_t(keys.end - 1)] *
          std::exp(score(head, query, keys.end, true) - score(head, query, keys.end - 1, true));
    if (is("gradient without scale of scores"))
      for (int64_t key = keys.begin; key < keys.end; ++key)
        p[size_t(key)] *= std::exp(score(head, query, key, false) - score(head, query, key, true));
    return p;
  }

  bool is_dropped_from_sums(int64_t head, int64_t query) const {
    const int64_t of_group = head % a_.group();
    return (is("sums without the last head of a group") && of_group == a_.group() - 1) ||
           (is("sums of the first head of a group") && of_group > 0) ||
           (is("sums without the last query") && query == a_.seq_q - 1);
  }

  void differentiate(int64_t head, int64_t query) {
    const Row forward = row(head, query);
    const int64_t at = head * a_.seq_q + query;
    const double* const gradient = row_of(AttentionPart::kDo, at, a_.dim_v);
    double d = 0;
    for (int64_t i = 0; i < a_.dim_v; ++i) d += gradient[i] * forward.o[size_t(i)];
    if (a_.has_sink && !(is("dsink of the first sequence") && head >= a_.heads))
      values(AttentionPart::kDsink)[size_t(head % a_.heads)] -= forward.sink * d;
    if (is("D ignored")) d = 0;
    const std::vector<double> p = recomputed(head, query, forward);
    for (int64_t key = 0; key < a_.seq_kv; ++key)
      if (p[size_t(key)] != 0) add_pair(head, query, key, p[size_t(key)], d);
  }

  // Adds factor * from to row `at` of a gradient.
  void add(AttentionPart part, int64_t at, int64_t dim, double factor, const double* from) {
    double* const to = &values(part)[size_t(at * dim)];
    for (int64_t i = 0; i < dim; ++i) to[i] += factor * from[i];
  }

  void add_pair(int64_t head, int64_t query, int64_t key, double p, double d) {
    const int64_t at = head * a_.seq_q + query, key_at = key_head_of(head) * a_.seq_kv + key;
    const double* const gradient = row_of(AttentionPart::kDo, at, a_.dim_v);
    const double* const v = row_of(AttentionPart::kV, key_at, a_.dim_v);
    double x = 0;
    for (int64_t i = 0; i < a_.dim_v; ++i) x += gradient[i] * v[i];
    const double ds = p * (x - d);
    add(AttentionPart::kDq, at, a_.dim, (is("dQ without scale") ? 1 : a_.scale()) * ds,
        row_of(AttentionPart::kK, key_at, a_.dim));
    if (is_dropped_from_sums(head, query)) return;
    add(AttentionPart::kDk, key_at, a_.dim, (is("dK without scale") ? 1 : a_.scale()) * ds,
        row_of(AttentionPart::kQ, at, a_.dim));
    if (is("dV of the last head dropped") && head == a_.batch * a_.heads - 1) return;
    add(AttentionPart::kDv, key_at, a_.dim_v, p, gradient);
  }

  Attention a_;
  const std::string error_;
  std::array<std::vector<double>, kAttentionParts> parts_;
};

}  // namespace deepbench::testing
