// Products of matrices share their loops; the other operations have theirs.

// Tests are compiled without optimisation, in which these loops would take minutes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

#include "plain_kernels.hpp"

#include <stdexcept>

#include "../ops/naive_conv.hpp"
#include "../ops/naive_int8_rnn.hpp"
#include "../ops/naive_rnn.hpp"
#include "deepbench/core/sums.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/ops/memory/memory.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench::testing {
namespace {

constexpr uint64_t kSeed = 1;

// op(A) with its rows one after another, op(B) and C with their columns.
struct Matrices {
  int64_t m, n, k;
  std::vector<float> a, b, c;
};

double gemm_element(const Gemm& gemm, const std::string& inputs, deepbench_type type,
                    uint32_t stream, uint64_t index) {
  if (inputs == "integers" && !gemm.is_int8())
    return deepbench_small_integer(gemm.integers(stream), kSeed, stream, index);
  return deepbench_element(type, kSeed, stream, index);
}

// The matrix whose element (i, l) is element(i, l), with its rows of `width` one after another.
template <class Element>
std::vector<float> matrix(int64_t height, int64_t width, const Element& element) {
  std::vector<float> made(size_t(height * width));
  float* to = made.data();
  for (int64_t i = 0; i < height; ++i)
    for (int64_t l = 0; l < width; ++l) *to++ = float(element(i, l));
  return made;
}

std::vector<float> gemm_c(const Gemm& gemm, const std::string& inputs) {
  return matrix(gemm.n, gemm.m, [&](int64_t j, int64_t i) {
    return gemm_element(gemm, inputs, gemm.precision.c, 2, uint64_t(i + j * gemm.m));
  });
}

std::vector<float> sparse_c(const SparseGemm& gemm) {
  return matrix(gemm.n, gemm.m, [&](int64_t j, int64_t i) {
    return deepbench_element(gemm.precision.c, kSeed, 2, gemm.index_c(i, j));
  });
}

Matrices gemm_matrices(const Gemm& gemm, const std::string& inputs) {
  const auto a = [&](int64_t i, int64_t l) {
    return gemm_element(gemm, inputs, gemm.precision.a, 0, gemm.index_a(i, l));
  };
  const auto b = [&](int64_t j, int64_t l) {
    return gemm_element(gemm, inputs, gemm.b_type, 1, gemm.index_b(l, j));
  };
  return {gemm.m,
          gemm.n,
          gemm.k,
          matrix(gemm.m, gemm.k, a),
          matrix(gemm.n, gemm.k, b),
          gemm_c(gemm, inputs)};
}

Matrices sparse_matrices(const SparseGemm& gemm) {
  const auto a = [&](int64_t i, int64_t l) {
    const uint64_t index = gemm.index_a(i, l);
    return gemm.is_nonzero(kSeed, index) ? deepbench_element(gemm.precision.a, kSeed, 0, index) : 0;
  };
  const auto b = [&](int64_t j, int64_t l) {
    return deepbench_element(gemm.precision.b, kSeed, 1, gemm.index_b(l, j));
  };
  return {gemm.m,        gemm.n, gemm.k, matrix(gemm.m, gemm.k, a), matrix(gemm.n, gemm.k, b),
          sparse_c(gemm)};
}

// As TF32 units read an input.
float tf32(float value) {
  const float unit = std::ldexp(1.0f, std::ilogb(value == 0 ? 1 : value) - 10);
  return std::nearbyint(value / unit) * unit;
}

void change_operands(const std::string& error, Matrices& of) {
  if (error == "tf32") {
    for (float& a : of.a) a = tf32(a);
    for (float& b : of.b) b = tf32(b);
  } else if (error == "last term dropped") {
    for (int64_t i = 0; i < of.m; ++i) of.a[size_t((i + 1) * of.k - 1)] = 0;
  } else if (error == "last non-zero dropped") {
    auto last = of.a.rbegin();
    while (last != of.a.rend() && *last == 0) ++last;
    if (last != of.a.rend()) *last = 0;
  } else if (error == "columns of A off by one") {
    std::rotate(of.a.begin(), of.a.begin() + 1, of.a.begin() + of.k);
  } else if (error == "C ignored") {
    std::fill(of.c.begin(), of.c.end(), 0);
  } else if (error == "C twice") {
    for (float& c : of.c) c *= 2;
  } else if (error == "alpha 0.995") {
    for (float& b : of.b) b *= 0.995f;
  } else if (error == "a column without its product") {
    const int64_t column = of.n / 2;
    std::fill_n(of.b.begin() + column * of.k, of.k, 0);
  } else if (error == "a row of another row of A") {
    std::copy_n(of.a.begin(), of.k, of.a.begin() + of.m / 2 * of.k);
  } else if (!error.empty() && error != "16-bit sums") {
    throw std::invalid_argument("no product makes the error '" + error + "'");
  }
}

double narrow_dot(const float* a, const float* b, int64_t k, deepbench_type type) {
  double sum = 0;
  for (int64_t l = 0; l < k; ++l) sum = stored(type, sum + double(a[l]) * b[l]);
  return sum;
}

// `sums`: the type of partial sums.
std::vector<double> products(const Matrices& of, deepbench_type sums) {
  std::vector<double> c(of.c.begin(), of.c.end());
  for (int64_t j = 0; j < of.n; ++j)
    for (int64_t i = 0; i < of.m; ++i) {
      const float *a = of.a.data() + i * of.k, *b = of.b.data() + j * of.k;
      c.data()[i + j * of.m] +=
          sums == DEEPBENCH_F64 ? dot_sums(a, b, of.k).products : narrow_dot(a, b, of.k, sums);
    }
  return c;
}

Outputs multiply(Matrices matrices, deepbench_type type, const std::string& error) {
  change_operands(error, matrices);
  const deepbench_type narrow = type == DEEPBENCH_BF16 ? DEEPBENCH_BF16 : DEEPBENCH_F16;
  return {type, products(matrices, error == "16-bit sums" ? narrow : DEEPBENCH_F64), matrices.m};
}

bool all_but_the_last_row(int64_t p, int64_t, int64_t) { return p > 0; }
bool all_but_a_tap(int64_t, int64_t r, int64_t s) { return r > 0 || s > 0; }
bool all_but_a_tap_of_a_row(int64_t p, int64_t r, int64_t s) { return p != 1 || r > 0 || s > 0; }

Outputs convolve(const Conv& conv, const std::string& error) {
  NaiveConv naive(conv);
  if (error == "a tap dropped") naive.counts = all_but_a_tap;
  if (error == "a tap dropped in a row") naive.counts = all_but_a_tap_of_a_row;
  if (error == "a row of images dropped") naive.counts = all_but_the_last_row;
  if (error == "padding off by one") naive.shift = 1;
  naive.flipped = error == "filter flipped";
  if (error == "another layer's groups") naive.conv.groups = 1;
  Outputs out = {conv.precision.c, naive.output(), conv.output().rows()};
  if (conv.saturates())
    for (double& value : out.values) value = saturated(conv, value);
  return out;
}

std::vector<double> recur_in_int8(const Rnn& rnn, const std::string& error) {
  NaiveInt8Rnn naive(rnn, DEEPBENCH_S8);
  naive.mutant = error;
  const std::vector<float> states = naive.forward();
  return {states.begin(), states.end()};
}

Outputs recur(const Rnn& rnn, const std::string& error) {
  Outputs out = {rnn.precision.c, {}, rnn.hidden};
  if (rnn.is_quantised()) {
    out = {DEEPBENCH_F32, recur_in_int8(rnn, error), rnn.hidden};
    return out;
  }
  NaiveRnn<float> naive(rnn);
  naive.mutant = error;
  naive.narrow = size_of(rnn.precision.c) == 2;
  const std::vector<float> values = rnn.is_forward() ? naive.forward() : naive.backward();
  out.values.assign(values.begin(), values.end());
  return out;
}

double summand(const AllReduce& of, int rank, int64_t i) {
  return deepbench_summand(of.precision.c, kSeed, uint32_t(rank), kSummingRanks, uint64_t(i));
}

Outputs sum_over_ranks(const AllReduce& of, const std::string& error) {
  Outputs out = {of.precision.c, {}, of.elements};
  for (int rank = 0; rank < kLocalRanks; ++rank)
    for (int64_t i = 0; i < of.elements; ++i) {
      double sum = 0;
      const bool is_last = i == of.elements - 1;
      const int last = error == "a rank left out" ? kSummingRanks - 1 : kSummingRanks;
      for (int other = 0; other < last; ++other) {
        const double value = summand(of, other, i);
        sum = error == "maximum" && other > 0 ? std::max(sum, value) : sum + value;
      }
      if (error == "a rank twice") sum += summand(of, 0, i);
      if (error == "the last element not summed" && is_last) sum = summand(of, rank, i);
      if (error == "the second rank has its own summand" && rank == 1) sum = summand(of, rank, i);
      out.values.push_back(sum);
    }
  return out;
}

Outputs move(const Memory& memory, const std::string& error) {
  Outputs out = {DEEPBENCH_S32, {}, 1};
  if (memory.kind == MemoryKind::kRead) {
    uint32_t all = 0;
    const int64_t words = memory.words() - (error == "the last word dropped" ? 1 : 0);
    for (int64_t i = 0; i < words; ++i) all ^= memory_word(kSeed, uint64_t(i));
    out.values = {double(all)};
    return out;
  }
  Memory moved = memory;
  for (int64_t i = 0; i < memory.words(); ++i) {
    uint64_t source = moved.source_of(uint64_t(i));
    if (error == "words off by one") source = (source + 1) % uint64_t(memory.words());
    uint32_t word =
        memory.kind == MemoryKind::kWrite ? write_pattern(kSeed) : memory_word(kSeed, source);
    if (error == "a word off" && i == memory.words() * 5 / 8) word ^= 1u << 20;
    if (error == "a bit everywhere") word ^= 1u << 9;
    out.values.push_back(word);
  }
  return out;
}

}  // namespace

Outputs compute_plainly(const Problem& problem, const std::string& inputs,
                        const std::string& error) {
  const std::string& op = problem.op();
  if (op == "gemm") {
    const Gemm gemm = gemm_problem(problem);
    return multiply(gemm_matrices(gemm, inputs), gemm.precision.c, error);
  }
  if (op == "sparse_gemm") {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    return multiply(sparse_matrices(gemm), gemm.precision.c, error);
  }
  if (op == "conv") return convolve(conv_problem(problem), error);
  if (op == "rnn") return recur(rnn_problem(problem), error);
  if (op == "all_reduce") return sum_over_ranks(all_reduce_problem(problem), error);
  return move(memory_problem(problem), error);
}

std::vector<double> exact_gradients(const Problem& problem) {
  return NaiveRnn<double>(rnn_problem(problem)).backward();
}

std::vector<double> exact_states(const Problem& problem, const std::vector<double>& before) {
  NaiveRnn<double> naive(rnn_problem(problem));
  naive.forced = before;
  return naive.forward();
}

std::vector<double> initial_outputs(const Problem& problem, const std::string& inputs) {
  const std::vector<float> c = problem.op() == "gemm" ? gemm_c(gemm_problem(problem), inputs)
                                                      : sparse_c(sparse_gemm_problem(problem));
  return {c.begin(), c.end()};
}

}  // namespace deepbench::testing
