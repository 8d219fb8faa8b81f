// A matrix product by three loops in double over the elements of fill.h: the expected result of
// every library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "harness.hpp"

namespace deepbench::cpu_test {

struct Dimensions {
  int64_t m, n, k, batch = 1;
};

inline std::string gemm_text(const Dimensions& d, bool trans_a, bool trans_b,
                             const std::string& precision, const std::string& b_type = "") {
  return "m=" + std::to_string(d.m) + " n=" + std::to_string(d.n) + " k=" + std::to_string(d.k) +
         " trans_a=" + (trans_a ? "t" : "n") + " trans_b=" + (trans_b ? "t" : "n") +
         " precision=" + precision + (b_type.empty() ? "" : " b_type=" + b_type) +
         (d.batch == 1 ? "" : " batch=" + std::to_string(d.batch));
}

inline Gemm gemm_of(const Dimensions& d, bool trans_a, bool trans_b, const std::string& precision,
                    const std::string& b_type = "") {
  Gemm gemm;
  gemm.m = d.m, gemm.n = d.n, gemm.k = d.k, gemm.batch = d.batch;
  gemm.trans_a = trans_a, gemm.trans_b = trans_b;
  gemm.precision = precision_info(precision);
  gemm.b_type = b_type == "u8" ? DEEPBENCH_U8 : gemm.precision.b;
  return gemm;
}

// How many elements all products of the batch have of an operand of these dimensions.
inline uint64_t batch_of(const Gemm& gemm, int64_t rows, int64_t columns) {
  return uint64_t(rows * columns * gemm.batch);
}
inline uint64_t outputs_of(const Gemm& gemm) { return batch_of(gemm, gemm.m, gemm.n); }

// The scales of op(A)[i, l] and op(B)[l, j]; 1 without scales of blocks.
inline int32_t scale_of_a(const Gemm& gemm, uint64_t seed, bool integers, int64_t i, int64_t l) {
  if (!gemm.scales_blocks) return 1;
  const auto index = uint64_t(l / 128 + i / 128 * (gemm.k / 128));
  return deepbench_small_integer(Gemm::scales(integers), seed, Gemm::kStreamScaleA, index);
}
inline int32_t scale_of_b(const Gemm& gemm, uint64_t seed, bool integers, int64_t l, int64_t j) {
  if (!gemm.scales_blocks) return 1;
  const auto index = uint64_t(j + l / 128 * gemm.n);
  return deepbench_small_integer(Gemm::scales(integers), seed, Gemm::kStreamScaleB, index);
}

// All outputs of one call on operands that were refilled with "integers", which are exact.
inline std::vector<double> exact_outputs(const Gemm& gemm, uint64_t seed) {
  const auto element = [&](uint32_t stream, uint64_t index) {
    return deepbench_small_integer(gemm.integers(stream), seed, stream, index);
  };
  std::vector<double> outputs(outputs_of(gemm));
  for (size_t index = 0; index < outputs.size(); ++index) {
    const int64_t i = int64_t(index) % gemm.m, j = int64_t(index) / gemm.m;
    outputs[index] = element(Gemm::kStreamC, index);
    for (int64_t l = 0; l < gemm.k; ++l)
      if (const int32_t a = element(Gemm::kStreamA, gemm.index_a(i, l)))
        outputs[index] += a * element(Gemm::kStreamB, gemm.index_b(l, j)) *
                          scale_of_a(gemm, seed, true, i, l) * scale_of_b(gemm, seed, true, l, j);
  }
  return outputs;
}

class NaiveGemm {
 public:
  // `facts` are the kernel's facts; they define the type of A's values and beta.
  NaiveGemm(const Gemm& gemm, const Emitted& facts, uint64_t seed) : gemm_(gemm) {
    const deepbench_type a_type = facts.text("fill.a") == "s7" ? DEEPBENCH_S7 : gemm.precision.a;
    beta_ = facts.has("beta") ? facts.number("beta") : 1;
    rounds_product_ = facts.text("accumulator") == "rounded_product";
    approximates_tanh_ = facts.text("accumulator") == "approximate_tanh";
    a_.resize(batch_of(gemm, gemm.m, gemm.k)), b_.resize(batch_of(gemm, gemm.k, gemm.n));
    for (uint64_t i = 0; i < a_.size(); ++i)
      a_[i] = deepbench_element(a_type, seed, Gemm::kStreamA, i);
    for (uint64_t i = 0; i < b_.size(); ++i)
      b_[i] = deepbench_element(gemm.b_type, seed, Gemm::kStreamB, i);
    seed_ = seed;
  }

  // Returns how many elements of `got` are wrong after `calls` in-place calls since the last
  // restore.
  uint64_t count_wrong(const std::vector<double>& got, int calls = 1) const {
    uint64_t wrong = 0;
    for (int64_t j = 0; j < gemm_.n * gemm_.batch; ++j)
      for (int64_t i = 0; i < gemm_.m; ++i) wrong += !is_right(i, j, got, calls);
    return wrong;
  }

 private:
  double element_of_c(uint64_t index) const {
    return deepbench_element(gemm_.precision.c, seed_, Gemm::kStreamC, index);
  }
  double after_epilogue(double sum) const {
    if (gemm_.epilogue == Epilogue::kRelu) return std::max(sum, 0.0);
    return gemm_.epilogue == Epilogue::kGelu ? gelu(sum) : sum;
  }

  bool is_right(int64_t i, int64_t j, const std::vector<double>& got, int calls) const {
    const auto index = uint64_t(i + j * gemm_.m);
    const bool has_epilogue = gemm_.has_epilogue();
    const double c = has_epilogue ? element_of_c(uint64_t(i)) : beta_ * element_of_c(index);
    double sum = 0, squares = c * c;
    const int64_t item = j / gemm_.n;
    const auto first_a = uint64_t(item * gemm_.m * gemm_.k);
    const auto first_b = uint64_t(item * gemm_.k * gemm_.n);
    for (int64_t l = 0; l < gemm_.k; ++l) {
      const double product =
          a_[first_a + gemm_.index_a(i, l)] * b_[first_b + gemm_.index_b(l, j % gemm_.n)] *
          scale_of_a(gemm_, seed_, false, i, l) * scale_of_b(gemm_, seed_, false, l, j);
      sum += product, squares += product * product;
    }
    const double expected = has_epilogue ? after_epilogue(c + sum)
                            : beta_ == 0 ? sum
                                         : c + calls * sum;
    const double bound =
        calls * (gemm_.precision.output_roundoff *
                     (std::abs(expected) + 1 + (rounds_product_ ? std::abs(sum) : 0)) +
                 4 * std::sqrt(double(gemm_.k) * squares) * gemm_.precision.sum_roundoff) +
        (approximates_tanh_ ? std::abs(c + sum) / (1 << 11) : 0);
    return std::abs(got[index] - expected) <= bound;  // For integers the bound is 0.
  }

  Gemm gemm_;
  bool rounds_product_ = false, approximates_tanh_ = false;
  double beta_ = 1;
  uint64_t seed_ = 0;
  std::vector<double> a_, b_;
};

}  // namespace deepbench::cpu_test
