// The softmax between the products of attention, run on the host without a device: every instance
// of the kernel against plain loops.
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

// Scores of a scale that makes some weights small.
struct SoftmaxCase {
  explicit SoftmaxCase(const Attention& attention, float largest = 30)
      : a(attention), plan(attention), scores(plan.softmax.rows * plan.softmax.keys) {
    for (int64_t head = 0; a.has_sink && head < a.heads; ++head)
      sinks.push_back(2 + 3 * float(head));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = largest * deepbench_uniform(kSeed, 0, i);
    words.assign(2 * scores.size() + 1, kGuard);
  }

  double weight(size_t i) const {
    float value;
    switch (plan.type) {
      case DEEPBENCH_F16:
        return double(deepbench_from_half(words[i]));
      case DEEPBENCH_BF16:
        return double(deepbench_from_bfloat16(words[i]));
      default:
        std::memcpy(&value, &words[2 * i], sizeof value);
        return double(value);
    }
  }
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
  std::vector<float> scores, sinks;
  std::vector<uint16_t> words;
};

template <int kType>
void run(SoftmaxCase& test) {
  const auto& p = test.plan;
  const auto call = [&](auto kernel) {
    emulate(p.shape(), Barriers::kUsed,
            [&] { kernel(test.scores.data(), test.sink_data(), test.words.data(), p.softmax); });
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
  emulate(test.plan.shape(), Barriers::kUsed,
          [&] { attention_softmax<DEEPBENCH_F32, 8, 8>(both, nullptr, both, test.plan.softmax); });
  CHECK(test.count_wrong() == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
