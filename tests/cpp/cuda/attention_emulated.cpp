// The softmax between the products of attention and its gradient, run on the host without a device:
// every instance of the kernels against plain loops.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/fill.h"
#include "ops/attention/softmax.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <attention_softmax.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 3;
constexpr uint16_t kGuard = 0xbeef;

double number_at(const std::vector<uint16_t>& words, deepbench_type type, size_t i) {
  float value;
  switch (type) {
    case DEEPBENCH_F16:
      return double(deepbench_from_half(words[i]));
    case DEEPBENCH_BF16:
      return double(deepbench_from_bfloat16(words[i]));
    default:
      std::memcpy(&value, &words[2 * i], sizeof value);
      return double(value);
  }
}

// Scores of a scale that makes some weights small.
struct SoftmaxCase {
  explicit SoftmaxCase(const Attention& attention, float largest = 30)
      : a(attention), plan(attention), scores(plan.softmax.rows * plan.softmax.keys) {
    for (int64_t head = 0; a.has_sink && head < a.heads; ++head)
      sinks.push_back(2 + 3 * float(head));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = largest * deepbench_uniform(kSeed, 0, i);
    words.assign(2 * scores.size() + 1, kGuard);
    log_sums.assign(size_t(a.products() * a.rows()), -1);
  }

  double weight(size_t i) const { return number_at(words, plan.type, i); }
  const float* sink_data() const { return a.has_sink ? sinks.data() : nullptr; }
  bool is_guard_intact() const {
    return words[plan.type == DEEPBENCH_F32 ? 2 * scores.size() : scores.size()] == kGuard;
  }

  uint64_t count_wrong() const {
    uint64_t wrong = !is_guard_intact();
    for (int64_t row = 0; row < a.products() * a.rows(); ++row) {
      const Attention::Keys seen = a.keys_of(row % a.seq_q);
      const float* const scores_of_row = &scores[size_t(row * a.seq_kv)];
      double sum = a.has_sink ? std::exp(sinks[size_t(row / a.seq_q % a.heads)]) : 0;
      for (int64_t key = seen.begin; key < seen.end; ++key)
        sum += std::exp(a.scale() * double(scores_of_row[key]));
      const double log_sum = double(log_sums[size_t(row)]);
      wrong += sum > 0 ? !(std::abs(log_sum - std::log(sum)) <= 1e-5 * (1 + std::abs(log_sum)))
                       : !(log_sum == -HUGE_VAL);
      for (int64_t key = 0; key < a.seq_kv; ++key) {
        const bool is_seen = key >= seen.begin && key < seen.end;
        const double right = is_seen ? std::exp(a.scale() * double(scores_of_row[key])) / sum : 0;
        const double bound = is_seen ? (a.precision.output_roundoff + 1e-5) * right +
                                           a.precision.absolute_roundoff() + 1e-37
                                     : 0;
        wrong += !(std::abs(weight(size_t(row * a.seq_kv + key)) - right) <= bound);
      }
    }
    return wrong;
  }

  const Attention a;
  const cuda::SoftmaxPlan plan;
  std::vector<float> scores, sinks, log_sums;
  std::vector<uint16_t> words;
};

template <int kType>
void run(SoftmaxCase& test) {
  const auto& p = test.plan;
  const auto call = [&](auto kernel) {
    emulate(p.shape(), Barriers::kUsed, [&] {
      kernel(test.scores.data(), test.sink_data(), test.words.data(), test.log_sums.data(),
             p.softmax);
    });
  };
  if (p.vector == 8)
    p.warps == 1 ? call(attention_softmax<kType, 8, 1>) : call(attention_softmax<kType, 8, 8>);
  else
    p.warps == 1 ? call(attention_softmax<kType, 1, 1>) : call(attention_softmax<kType, 1, 8>);
}

Attention attention_of(int64_t seq_q, int64_t seq_kv, AttentionMask mask, int64_t window,
                       const char* precision) {
  Attention a;
  a.batch = 1, a.heads = 2, a.kv_heads = 1, a.seq_q = seq_q, a.seq_kv = seq_kv;
  a.dim = a.dim_v = 4, a.mask = mask, a.window = window, a.precision = precision_info(precision);
  return a;
}

void check_in_all_types(int64_t seq_q, int64_t seq_kv, AttentionMask mask, int64_t window = 0,
                        bool has_sink = false) {
  for (const char* const precision : {"float", "half", "bfloat16"}) {
    Attention attention = attention_of(seq_q, seq_kv, mask, window, precision);
    attention.has_sink = has_sink;
    SoftmaxCase test(attention);
    INFO(seq_q, " x ", seq_kv, " ", test.plan.expression());
    if (test.plan.type == DEEPBENCH_F32) run<DEEPBENCH_F32>(test);
    if (test.plan.type == DEEPBENCH_F16) run<DEEPBENCH_F16>(test);
    if (test.plan.type == DEEPBENCH_BF16) run<DEEPBENCH_BF16>(test);
    CHECK(test.count_wrong() == 0);
  }
}

TEST_CASE("kernels on the host: the softmax of attention under every mask") {
  check_in_all_types(3, 40, AttentionMask::kNone);
  check_in_all_types(3, 37, AttentionMask::kNone);
  check_in_all_types(11, 16, AttentionMask::kTopLeft);
  check_in_all_types(7, 24, AttentionMask::kBottomRight);
  check_in_all_types(9, 5, AttentionMask::kBottomRight);  // some queries see no key
  check_in_all_types(9, 24, AttentionMask::kTopLeft, 3);
  check_in_all_types(5, 1, AttentionMask::kTopLeft, 1);
}

TEST_CASE("kernels on the host: the softmax of attention of long rows") {
  check_in_all_types(1, 3000, AttentionMask::kNone);
  check_in_all_types(2, 1027, AttentionMask::kBottomRight);
  check_in_all_types(3, 2056, AttentionMask::kTopLeft);  // most chunks have no key
  check_in_all_types(2, 1536, AttentionMask::kBottomRight, 100);
}

TEST_CASE("kernels on the host: the softmax of attention with a sink of each head") {
  check_in_all_types(3, 40, AttentionMask::kNone, 0, true);
  check_in_all_types(9, 24, AttentionMask::kTopLeft, 3, true);
  check_in_all_types(9, 5, AttentionMask::kBottomRight, 0, true);
  check_in_all_types(2, 1027, AttentionMask::kBottomRight, 0, true);
  check_in_all_types(2, 2048, AttentionMask::kNone, 0, true);
}

TEST_CASE("kernels on the host: weights in float overwrite their scores") {
  SoftmaxCase test(attention_of(3, 1032, AttentionMask::kTopLeft, 0, "float"));
  std::memcpy(test.words.data(), test.scores.data(), test.scores.size() * sizeof(float));
  auto* const both = reinterpret_cast<float*>(test.words.data());
  emulate(test.plan.shape(), Barriers::kUsed, [&] {
    attention_softmax<DEEPBENCH_F32, 8, 8>(both, nullptr, both, test.log_sums.data(),
                                           test.plan.softmax);
  });
  CHECK(test.count_wrong() == 0);
}

// ---- gradients ----------------------------------------------------------------------------------

// The forward pass's results need not belong to the scores: each row has a D of its own.
struct GradientCase {
  explicit GradientCase(const Attention& attention) : forward(attention), a(forward.a) {
    const size_t pairs = forward.scores.size(), rows = forward.log_sums.size();
    products.resize(pairs), sink_terms.resize(rows), d_sinks.resize(size_t(a.heads));
    for (size_t i = 0; i < pairs; ++i) products[i] = deepbench_uniform(kSeed, 1, i);
    for (size_t row = 0; row < rows; ++row) forward.log_sums[row] = float(log_sum_of(row));
    fill(d_o, 2), fill(o, 3);
    weights.assign(2 * pairs + 1, kGuard), gradients.assign(2 * pairs + 1, kGuard);
  }

  void fill(std::vector<uint16_t>& words, uint32_t operand) const {
    const size_t count = forward.log_sums.size() * size_t(a.dim_v);
    words.resize(2 * count);
    for (size_t i = 0; i < count; ++i) {
      const float value = deepbench_uniform(kSeed, operand, i);
      if (forward.plan.type == DEEPBENCH_F32)
        std::memcpy(&words[2 * i], &value, sizeof value);
      else
        words[i] = forward.plan.type == DEEPBENCH_F16 ? deepbench_to_half(value)
                                                      : deepbench_to_bfloat16(value);
    }
  }
  double sink_of(size_t row) const {
    return double(forward.sinks[row / size_t(a.seq_q) % size_t(a.heads)]);
  }
  double log_sum_of(size_t row) const {
    const Attention::Keys seen = a.keys_of(int64_t(row) % a.seq_q);
    double sum = a.has_sink ? std::exp(sink_of(row)) : 0;
    for (int64_t key = seen.begin; key < seen.end; ++key)
      sum += std::exp(a.scale() * double(forward.scores[row * size_t(a.seq_kv) + size_t(key)]));
    return std::log(sum);
  }
  double d_of(size_t row) const {
    double sum = 0;
    for (size_t i = row * size_t(a.dim_v); i < (row + 1) * size_t(a.dim_v); ++i)
      sum += number_at(d_o, forward.plan.type, i) * number_at(o, forward.plan.type, i);
    return sum;
  }
  bool are_guards_intact() const {
    const size_t end = products.size() * (forward.plan.type == DEEPBENCH_F32 ? 2 : 1);
    return weights[end] == kGuard && gradients[end] == kGuard;
  }
  bool is_near(const std::vector<uint16_t>& got, size_t i, double right, double magnitude) const {
    const double bound = a.precision.output_roundoff * std::abs(right) + 2e-5 * magnitude +
                         a.precision.absolute_roundoff() + 1e-37;
    return std::abs(number_at(got, forward.plan.type, i) - right) <= bound;
  }

  uint64_t count_wrong() const {
    uint64_t wrong = !are_guards_intact();
    std::vector<double> sinks(d_sinks.size());
    for (size_t row = 0; row < forward.log_sums.size(); ++row) {
      const Attention::Keys seen = a.keys_of(int64_t(row) % a.seq_q);
      const double log_sum = log_sum_of(row), d = d_of(row);
      for (int64_t key = 0; key < a.seq_kv; ++key) {
        const size_t i = row * size_t(a.seq_kv) + size_t(key);
        const bool is_seen = key >= seen.begin && key < seen.end;
        const double p = is_seen ? std::exp(a.scale() * double(forward.scores[i]) - log_sum) : 0;
        wrong += !is_near(weights, i, p, p);
        wrong += !is_near(gradients, i, p * (double(products[i]) - d) * a.scale(), 4 * p);
      }
      if (a.has_sink)
        sinks[row / size_t(a.seq_q) % sinks.size()] -= std::exp(sink_of(row) - log_sum) * d;
    }
    for (size_t head = 0; a.has_sink && head < sinks.size(); ++head)
      wrong += !(std::abs(double(d_sinks[head]) - sinks[head]) <= 1e-4);
    return wrong;
  }

  SoftmaxCase forward;
  const Attention& a;
  std::vector<float> products, sink_terms, d_sinks;
  std::vector<uint16_t> d_o, o, weights, gradients;
};

template <int kType>
void run(GradientCase& test) {
  const auto& p = test.forward.plan;
  const float* const sinks = test.forward.sink_data();
  const auto call = [&](auto kernel) {
    emulate(p.shape(), Barriers::kUsed, [&] {
      kernel(test.forward.scores.data(), test.products.data(), test.d_o.data(), test.o.data(),
             test.forward.log_sums.data(), sinks, test.weights.data(), test.gradients.data(),
             test.sink_terms.data(), p.softmax);
    });
  };
  if (p.vector == 8)
    p.warps == 1 ? call(attention_softmax_gradient<kType, 8, 1>)
                 : call(attention_softmax_gradient<kType, 8, 8>);
  else
    p.warps == 1 ? call(attention_softmax_gradient<kType, 1, 1>)
                 : call(attention_softmax_gradient<kType, 1, 8>);
  if (sinks)
    emulate(p.sink_shape(), Barriers::kUsed, [&] {
      attention_sink_gradient<8>(test.sink_terms.data(), test.d_sinks.data(), p.softmax);
    });
}

void check_gradients(int64_t seq_q, int64_t seq_kv, AttentionMask mask, int64_t window = 0,
                     bool has_sink = false) {
  for (const char* const precision : {"float", "half", "bfloat16"}) {
    Attention attention = attention_of(seq_q, seq_kv, mask, window, precision);
    attention.batch = 2, attention.dim_v = 37;
    attention.has_sink = has_sink, attention.is_backward = true;
    GradientCase test(attention);
    INFO(seq_q, " x ", seq_kv, " ", test.forward.plan.gradient_expression());
    if (test.forward.plan.type == DEEPBENCH_F32) run<DEEPBENCH_F32>(test);
    if (test.forward.plan.type == DEEPBENCH_F16) run<DEEPBENCH_F16>(test);
    if (test.forward.plan.type == DEEPBENCH_BF16) run<DEEPBENCH_BF16>(test);
    CHECK(test.count_wrong() == 0);
  }
}

TEST_CASE("kernels on the host: the softmax gradient of attention under every mask") {
  check_gradients(3, 40, AttentionMask::kNone);
  check_gradients(11, 37, AttentionMask::kTopLeft);
  check_gradients(9, 5, AttentionMask::kBottomRight);  // some queries see no key
  check_gradients(9, 24, AttentionMask::kTopLeft, 3);
  check_gradients(2, 1027, AttentionMask::kBottomRight);
  check_gradients(2, 1536, AttentionMask::kBottomRight, 100);
}

TEST_CASE("kernels on the host: the softmax gradient of attention with a sink of each head") {
  check_gradients(3, 40, AttentionMask::kNone, 0, true);
  check_gradients(300, 5, AttentionMask::kTopLeft, 3, true);
  check_gradients(9, 5, AttentionMask::kBottomRight, 0, true);
  check_gradients(2, 1027, AttentionMask::kBottomRight, 0, true);
}

}  // namespace
}  // namespace deepbench::cuda_test
