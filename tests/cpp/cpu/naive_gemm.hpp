// A matrix product by three loops in double over the elements of fill.h: the expected result of
// every library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/parallel.hpp"
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

// Of the products of one output.
struct NaiveSums {
  double products = 0, squares = 0;
};

// The sums of every output. a(index, i, l) and b(index, l, j) give an element of op(A) and op(B),
// whose index counts through all products of the batch, without its scale.
template <class A, class B>
std::vector<NaiveSums> naive_sums(const Gemm& gemm, uint64_t seed, bool integers, const A& a,
                                  const B& b) {
  const auto k = size_t(gemm.k);
  std::vector<double> columns(batch_of(gemm, gemm.k, gemm.n));
  parallel_for(gemm.n * gemm.batch, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t j = begin; j < end; ++j) {
      const auto first = uint64_t(j / gemm.n * gemm.k * gemm.n);
      for (int64_t l = 0; l < gemm.k; ++l)
        columns[size_t(j) * k + size_t(l)] =
            b(first + gemm.index_b(l, j % gemm.n)) * scale_of_b(gemm, seed, integers, l, j);
    }
  });
  std::vector<NaiveSums> sums(outputs_of(gemm));
  parallel_for(gemm.m * gemm.batch, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> row(k);
    for (int64_t number = begin; number < end; ++number) {
      const int64_t item = number / gemm.m, i = number % gemm.m;
      const auto first = uint64_t(item * gemm.m * gemm.k);
      for (int64_t l = 0; l < gemm.k; ++l)
        row[size_t(l)] = a(first + gemm.index_a(i, l)) * scale_of_a(gemm, seed, integers, i, l);
      for (int64_t j = item * gemm.n; j < (item + 1) * gemm.n; ++j) {
        const double* const column = columns.data() + size_t(j) * k;
        NaiveSums sum;
        for (size_t l = 0; l < k; ++l) {
          const double product = row[l] * column[l];
          sum.products += product, sum.squares += product * product;
        }
        sums[size_t(i + j * gemm.m)] = sum;
      }
    }
  });
  return sums;
}

// All outputs of one call on operands that were refilled with "integers", which are exact.
inline std::vector<double> exact_outputs(const Gemm& gemm, uint64_t seed) {
  const auto elements = [&](uint32_t stream) {
    return [integers = gemm.integers(stream), seed, stream](uint64_t index) {
      return double(deepbench_small_integer(integers, seed, stream, index));
    };
  };
  const auto c = elements(Gemm::kStreamC);
  std::vector<double> outputs;
  for (const NaiveSums& sums : naive_sums(gemm, seed, /*integers=*/true, elements(Gemm::kStreamA),
                                          elements(Gemm::kStreamB)))
    outputs.push_back(c(outputs.size()) + sums.products);
  return outputs;
}

// The sums are computed once, so that many results can be compared with them.
class NaiveGemm {
 public:
  // `facts` are the kernel's facts; they define the type of A's values and beta.
  NaiveGemm(const Gemm& gemm, const Emitted& facts, uint64_t seed) : gemm_(gemm), seed_(seed) {
    const deepbench_type a_type = facts.text("fill.a") == "s7" ? DEEPBENCH_S7 : gemm.precision.a;
    beta_ = facts.has("beta") ? facts.number("beta") : 1;
    rounds_product_ = facts.text("accumulator") == "rounded_product";
    approximates_tanh_ = facts.text("accumulator") == "approximate_tanh";
    const auto elements = [seed](deepbench_type type, uint32_t stream) {
      return [=](uint64_t index) -> double { return deepbench_element(type, seed, stream, index); };
    };
    sums_ = naive_sums(gemm, seed, /*integers=*/false, elements(a_type, Gemm::kStreamA),
                       elements(gemm.b_type, Gemm::kStreamB));
  }

  // Returns how many elements of `got` are wrong after `calls` in-place calls since the last
  // restore.
  uint64_t count_wrong(const std::vector<double>& got, int calls = 1) const {
    uint64_t wrong = 0;
    for (uint64_t index = 0; index < sums_.size(); ++index)
      wrong += !is_right(index, got[index], calls);
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

  bool is_right(uint64_t index, double got, int calls) const {
    const bool has_epilogue = gemm_.has_epilogue();
    const double c =
        has_epilogue ? element_of_c(index % uint64_t(gemm_.m)) : beta_ * element_of_c(index);
    const double sum = sums_[index].products, squares = c * c + sums_[index].squares;
    const double expected = has_epilogue ? after_epilogue(c + sum)
                            : beta_ == 0 ? sum
                                         : c + calls * sum;
    const double bound =
        calls * (gemm_.precision.output_roundoff *
                     (std::abs(expected) + 1 + (rounds_product_ ? std::abs(sum) : 0)) +
                 4 * std::sqrt(double(gemm_.k) * squares) * gemm_.precision.sum_roundoff) +
        (approximates_tanh_ ? std::abs(c + sum) / (1 << 11) : 0);
    return std::abs(got - expected) <= bound;  // For integers the bound is 0.
  }

  Gemm gemm_;
  bool rounds_product_ = false, approximates_tanh_ = false;
  double beta_ = 1;
  uint64_t seed_ = 0;
  std::vector<NaiveSums> sums_;
};

}  // namespace deepbench::cpu_test
