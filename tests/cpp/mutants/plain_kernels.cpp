// Products of matrices share their loops; the other operations have theirs.

// Tests are compiled with little optimization, in which these loops would take minutes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

#include "plain_kernels.hpp"

#include <stdexcept>

#include "../ops/naive_attention.hpp"
#include "../ops/naive_conv.hpp"
#include "../ops/naive_elementwise.hpp"
#include "../ops/naive_embedding.hpp"
#include "../ops/naive_int8_rnn.hpp"
#include "../ops/naive_pool.hpp"
#include "../ops/naive_rnn.hpp"
#include "../ops/naive_rows.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/sums.hpp"
#include "deepbench/ops/collective/collective.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/ops/grouped_gemm/grouped_gemm.hpp"
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
  return matrix(gemm.n * gemm.batch, gemm.m, [&](int64_t j, int64_t i) {
    return gemm_element(gemm, inputs, gemm.precision.c, 2, uint64_t(i + j * gemm.m));
  });
}

// The elements with which the operands of a product of a batch begin.
struct FirstElements {
  int64_t a, b;
};

FirstElements first_elements(const Gemm& gemm, int64_t item, const std::string& error) {
  const int64_t strided = error == "a stride of 0 in the batch" ? 0 : item;
  const int64_t off = error == "a stride off by one in the batch" ? item : 0;
  return {strided * gemm.m * gemm.k - off, item * gemm.k * gemm.n};
}

std::vector<float> sparse_c(const SparseGemm& gemm) {
  return matrix(gemm.n, gemm.m, [&](int64_t j, int64_t i) {
    return deepbench_element(gemm.precision.c, kSeed, 2, gemm.index_c(i, j));
  });
}

// Of one product of a batch; `c` holds the matrices of all.
Matrices gemm_matrices(const Gemm& gemm, const std::string& inputs, int64_t item,
                       const FirstElements& first, const std::vector<float>& c) {
  const auto a = [&](int64_t i, int64_t l) {
    return gemm_element(gemm, inputs, gemm.precision.a, 0, uint64_t(first.a) + gemm.index_a(i, l));
  };
  const auto b = [&](int64_t j, int64_t l) {
    return gemm_element(gemm, inputs, gemm.b_type, 1, uint64_t(first.b) + gemm.index_b(l, j));
  };
  const auto own_c = c.begin() + item * gemm.m * gemm.n;
  return {gemm.m,
          gemm.n,
          gemm.k,
          matrix(gemm.m, gemm.k, a),
          matrix(gemm.n, gemm.k, b),
          {own_c, own_c + gemm.m * gemm.n}};
}

// Multiplies both operands of the product by the scales of their blocks, or by wrong ones.
void scale_blocks(const Gemm& gemm, const std::string& inputs, const std::string& error,
                  Matrices& of) {
  if (!gemm.scales_blocks || error == "scales ignored") return;
  const int64_t blocks = gemm.k / 128, next = error == "scales of the next block";
  const auto scale = [&](uint32_t stream, int64_t index) {
    return float(deepbench_small_integer(Gemm::scales(inputs == "integers"), kSeed, stream,
                                         uint64_t(index)));
  };
  const bool transposed = error == "scales transposed";
  const auto of_a = [&](int64_t i, int64_t block) {
    const int64_t rows = (gemm.m + 127) / 128, off = error == "scales of the next rows";
    const int64_t row = (i / 128 + off) % rows;
    const float own =
        scale(Gemm::kStreamScaleA, transposed ? row + block * rows : block + row * blocks);
    return error == "a scale of A negated" && row + 1 == rows && block == 0 ? -own : own;
  };
  const auto of_b = [&](int64_t j, int64_t block) {
    if (error == "the scales of A for B") return of_a(j, block);
    const float own =
        scale(Gemm::kStreamScaleB, transposed ? block + j * blocks : j + block * gemm.n);
    return error == "a scale of B negated" && j == gemm.n * 5 / 8 && block == 0 ? -own : own;
  };
  for (int64_t l = 0; l < gemm.k; ++l) {
    const int64_t block = (l / 128 + next) % blocks;
    for (int64_t i = 0; i < gemm.m; ++i) of.a[size_t(l + i * gemm.k)] *= of_a(i, block);
    for (int64_t j = 0; j < gemm.n; ++j) of.b[size_t(l + j * gemm.k)] *= of_b(j, block);
  }
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

// With an epilogue, what is added is a bias for each row instead of C.
std::vector<float> added_to_products(const Gemm& gemm, const std::string& inputs,
                                     const std::string& error) {
  std::vector<float> c = gemm_c(gemm, inputs);
  if (!gemm.has_epilogue()) return c;
  const std::vector<float> bias(c.begin(), c.begin() + gemm.m);
  const size_t shift = error == "the bias of the next row" ? 1 : 0;
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = error == "no bias" ? 0 : bias[(i + shift) % bias.size()];
  return c;
}

void apply_epilogue(Epilogue epilogue, std::vector<double>& values) {
  for (double& value : values) {
    if (epilogue == Epilogue::kRelu) value = std::max(value, 0.0);
    if (epilogue == Epilogue::kGelu) value = gelu(value);
  }
}

Outputs multiply_batch(const Gemm& gemm, const std::string& inputs, const std::string& error) {
  Outputs all = {gemm.precision.c, {}, gemm.m};
  const bool is_of_product = error.find("batch") == std::string::npos &&
                             error.find("bias") == std::string::npos &&
                             error.find("scale") == std::string::npos && error != "no function";
  const std::vector<float> c = added_to_products(gemm, inputs, error);
  for (int64_t item = 0; item < gemm.batch; ++item) {
    Matrices one = gemm_matrices(gemm, inputs, item, first_elements(gemm, item, error), c);
    scale_blocks(gemm, inputs, error, one);
    const Outputs added = multiply(std::move(one), all.type, is_of_product ? error : "");
    all.values.insert(all.values.end(), added.values.begin(), added.values.end());
  }
  if (error != "no function") apply_epilogue(gemm.epilogue, all.values);
  if (error == "a product of the batch unwritten") {
    all.is_written.resize(all.values.size(), 1);
    std::fill_n(all.is_written.begin() + gemm.batch / 2 * gemm.m * gemm.n, gemm.m * gemm.n, 0);
  }
  return all;
}

// The matrix that the kernel multiplies the rows of a group by.
int64_t matrix_of_group(const GroupedGemm& of, int64_t group, const std::string& error) {
  int64_t matrix = group;
  if (error == "an empty group shifts the others")
    for (int64_t before = 0; before < group; ++before) matrix -= of.rows_of(before) == 0;
  const bool is_last = of.first_row(group + 1) == of.rows;
  return error == "a group uses its neighbor's matrix" && is_last ? group - 1 : matrix;
}

Outputs multiply_groups(const GroupedGemm& of, const std::string& inputs,
                        const std::string& error) {
  const auto vectors = [&](deepbench_type type, uint32_t stream, int64_t first, int64_t count) {
    return matrix(count, of.k, [&](int64_t i, int64_t l) -> double {
      const auto index = uint64_t(l + (first + i) * of.k);
      if (inputs == "integers")
        return deepbench_small_integer(of.integers(stream), kSeed, stream, index);
      return deepbench_element(type, kSeed, stream, index);
    });
  };
  Outputs out = {of.precision.c, {}, of.n};
  for (int64_t group = 0; group < of.groups; ++group) {
    const int64_t rows = of.rows_of(group);
    if (rows == 0) continue;
    const std::vector<float> a = vectors(of.precision.a, 0, of.first_row(group), rows);
    const int64_t number = matrix_of_group(of, group, error);
    const std::vector<float> b = vectors(of.precision.b, 1, number * of.n, of.n);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < of.n; ++j)
        out.values.push_back(dot_sums(a.data() + row * of.k, b.data() + j * of.k, of.k).products);
    if (error == "the last row of a group dropped" && group == of.groups / 2)
      std::fill_n(out.values.end() - of.n, of.n, 0);
  }
  return out;
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
  if (rnn.is_quantized()) {
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

float sums_in_bfloat16(float sum) { return float(stored(DEEPBENCH_BF16, sum)); }

// In float, whose range an exponential may exceed.
Outputs softmax_of_rows(const Softmax& softmax, const std::string& inputs,
                        const std::string& error) {
  NaiveSoftmax<float> naive = {softmax, error};
  if (error == "16-bit sums") naive.sums = sums_in_bfloat16;
  const bool is_right = error.empty();
  return {softmax.type(),
          is_right ? NaiveSoftmax<double>{softmax}.output(inputs) : naive.output(inputs),
          softmax.columns};
}

Outputs combine(const Elementwise& elementwise, const std::string& error) {
  return {elementwise.type(), NaiveElementwise<double>(elementwise, error).output(),
          elementwise.columns};
}

Outputs activate(const Activation& activation, const std::string& error) {
  return {activation.type(), naive_activations<double>(activation, error), 1};
}

Outputs pool(const Pool& of, const std::string& error) {
  return {of.type(), NaivePool(of, kSeed, error).output(), of.output_plane()};
}

Outputs normalize(const Lrn& of, const std::string& error) {
  return {of.type(), naive_lrn(of, kSeed, error), of.c * of.plane()};
}

Outputs look_up(const Embedding& of, const std::string& error) {
  return {of.output_type(), naive_embedding(of, kSeed, error), of.dim};
}

double summand(const Collective& of, int rank, int64_t i) {
  return deepbench_summand(of.precision.c, kSeed, uint32_t(rank), kSummingRanks, uint64_t(i));
}

// Another place than the right one, of those of the four ranks.
int another(int rank) { return (rank + 1) % kSummingRanks; }

// Outputs that are copies.
Outputs pass_between_ranks(const Collective& of, const std::string& error) {
  Outputs out = {of.precision.c, {}, of.elements};
  const int64_t block = int64_t(of.count(kSummingRanks));
  for (int rank = 0; rank < kLocalRanks; ++rank)
    for (int64_t i = 0; i < of.elements; ++i) {
      SourceElement source = of.source(uint32_t(rank), kSummingRanks, uint64_t(i));
      if (error == "another root" || error == "another sender")
        source.rank = uint32_t(another(int(source.rank)));
      if (error == "a block in the wrong place" && i / block < 2)
        source.rank = 1 - source.rank;  // the first two blocks are swapped
      if (error == "another rank's block")
        source = of.source(uint32_t(another(rank)), kSummingRanks, uint64_t(i));
      if (error == "the last element repeats the one before" && i == block - 1) --source.index;
      out.values.push_back(deepbench_element(of.precision.c, kSeed, source.rank, source.index));
      out.is_written.push_back(error != "its own block missing" || i / block != rank);
    }
  return out;
}

Outputs scatter_sums(const Collective& of, const std::string& error) {
  const auto block = int64_t(of.count(kSummingRanks));
  Outputs out = {of.precision.c, {}, block};
  for (int rank = 0; rank < kLocalRanks; ++rank)
    for (int64_t i = 0; i < block; ++i) {
      const int place = error == "a block in the wrong place" ? another(rank) : rank;
      double sum = 0;
      for (int other = 0; other < kSummingRanks; ++other)
        if (other != rank || error != "a rank left out")
          sum += summand(of, other, place * block + i);
      out.values.push_back(sum);
    }
  return out;
}

Outputs sum_over_ranks(const Collective& of, const std::string& error) {
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

Outputs exchange(const Collective& collective, const std::string& error) {
  if (collective.kind == CollectiveKind::kAllReduce) return sum_over_ranks(collective, error);
  return collective.is_sum() ? scatter_sums(collective, error)
                             : pass_between_ranks(collective, error);
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

Outputs attend(const Attention& attention, const std::string& inputs, const std::string& error) {
  return {attention.type(), NaiveAttention(attention, kSeed, inputs, error).outputs(),
          attention.dim_v};
}

}  // namespace

Outputs compute_plainly(const Problem& problem, const std::string& inputs,
                        const std::string& error) {
  const std::string& op = problem.op();
  if (op == "gemm") return multiply_batch(gemm_problem(problem), inputs, error);
  if (op == "grouped_gemm") return multiply_groups(grouped_gemm_problem(problem), inputs, error);
  if (op == "sparse_gemm") {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    return multiply(sparse_matrices(gemm), gemm.precision.c, error);
  }
  if (op == "conv") return convolve(conv_problem(problem), error);
  if (op == "attention") return attend(attention_problem(problem), inputs, error);
  if (op == "rnn") return recur(rnn_problem(problem), error);
  if (op == "softmax") return softmax_of_rows(softmax_problem(problem), inputs, error);
  if (op == "elementwise") return combine(elementwise_problem(problem), error);
  if (op == "activation") return activate(activation_problem(problem), error);
  if (op == "pool") return pool(pool_problem(problem), error);
  if (op == "lrn") return normalize(lrn_problem(problem), error);
  if (op == "embedding") return look_up(embedding_problem(problem), error);
  if (problem.operation().is_collective()) return exchange(collective_problem(problem), error);
  if (op == "memory") return move(memory_problem(problem), error);
  throw std::invalid_argument("plain_kernels.cpp has no kernel of " + op);
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
  if (problem.op() == "embedding") return initial_table(embedding_problem(problem), kSeed);
  const std::vector<float> c = problem.op() == "gemm" ? gemm_c(gemm_problem(problem), inputs)
                                                      : sparse_c(sparse_gemm_problem(problem));
  return {c.begin(), c.end()};
}

}  // namespace deepbench::testing
