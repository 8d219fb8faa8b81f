// Dense matrix product, C = op(A) op(B) + C, column-major as in the original benchmark: the typed
// problem and its padding rule. Header-only, for the core and for backends.
//
// op(A) is m x k, op(B) is k x n, C is m x n. With trans_a=n, A is stored as m x k (leading
// dimension m); with trans_a=t as k x m (leading dimension k). B is likewise stored as k x n or n x
// k. The index of output (i, j) is i + j*m.
//
// A batch consists of `batch` products of these dimensions. The matrices of an operand follow one
// another without gaps: the index of element x of matrix number `item` is x + item times the size
// of one matrix. The output is thus one array of m rows and n*batch columns.
//
// With scales of blocks, an element of op(A) counts times the scale of its block of 128 x 128
// elements, and one of op(B) times that of its 128 elements along k: the form of weights (A) and
// activations (B). The scale of op(A)[i, l] has the index l/128 + (i/128)*(k/128) of its stream,
// that of op(B)[l, j] the index j + (l/128)*n.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "deepbench/core/precision.hpp"

namespace deepbench {

// The function after a product: C = f(op(A) op(B) + bias), where the bias has one element for each
// row and f is the identity, max(0, x) or gelu(x). C is then not added.
enum class Epilogue { kNone, kBias, kRelu, kGelu };

inline Epilogue epilogue_named(const std::string& name) {
  if (name == "bias") return Epilogue::kBias;
  if (name == "relu") return Epilogue::kRelu;
  return name == "gelu" ? Epilogue::kGelu : Epilogue::kNone;
}

inline bool is_nonlinear(Epilogue epilogue) {
  return epilogue == Epilogue::kRelu || epilogue == Epilogue::kGelu;
}

// The approximation with tanh, which libraries fuse with products.
inline double gelu(double x) {
  const double root_of_2_over_pi = 0.7978845608028654;
  return x / 2 * (1 + std::tanh(root_of_2_over_pi * (x + 0.044715 * x * x * x)));
}

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;  // number of products
  bool trans_a = false, trans_b = false;
  PrecisionInfo precision;
  deepbench_type b_type = DEEPBENCH_F32;  // int8: s8, or u8 for libraries that need unsigned B
  Epilogue epilogue = Epilogue::kNone;
  bool scales_blocks = false;  // fp8: scaling=block128

  static constexpr int64_t kScaleBlock = 128;

  // fill.h streams of the operands. A bias has the first elements of C's.
  static constexpr uint32_t kStreamA = 0, kStreamB = 1, kStreamC = 2;
  static constexpr uint32_t kStreamScaleA = 3, kStreamScaleB = 4;

  bool has_epilogue() const { return epilogue != Epilogue::kNone; }

  int64_t rows_a() const { return trans_a ? k : m; }  // rows of the stored A, its leading dimension
  int64_t columns_a() const { return trans_a ? m : k; }
  int64_t rows_b() const { return trans_b ? n : k; }
  int64_t columns_b() const { return trans_b ? k : n; }

  // The index of op(A)[i, l] and op(B)[l, j] in the stored, unpadded operand of one product.
  uint64_t index_a(int64_t i, int64_t l) const {
    return static_cast<uint64_t>(trans_a ? l + i * k : i + l * m);
  }
  uint64_t index_b(int64_t l, int64_t j) const {
    return static_cast<uint64_t>(trans_b ? j + l * n : l + j * k);
  }

  bool is_int8() const { return precision.precision == Precision::kInt8; }
  bool is_fp8() const {
    return precision.precision == Precision::kFp8E4m3 || precision.precision == Precision::kFp8E5m2;
  }

  // The blocks of op(A) along m, and of both operands along k.
  int64_t blocks_m() const { return (m + kScaleBlock - 1) / kScaleBlock; }
  int64_t blocks_k() const { return (k + kScaleBlock - 1) / kScaleBlock; }
  // Bytes of the scales, which are float; 0 if blocks have no scales.
  double scale_bytes() const {
    if (!scales_blocks) return 0;
    return double(size_of(DEEPBENCH_F32)) * double(blocks_k()) * (double(blocks_m()) + double(n));
  }
  // Scales are odd integers of both signs. Where sums have to be exact they are -1 and 1, so that
  // the sums are as small as without scales.
  static deepbench_small_integers scales(bool exact_sums) {
    return {1u << 28, exact_sums ? 1u : 7u};
  }

  // The contents of the operand after a refill with "integers".
  deepbench_small_integers integers(uint32_t stream) const {
    return deepbench_gemm_integers(precision.c, static_cast<uint64_t>(k), stream);
  }
  // Whether the bounds of rounding are so wide that they may contain a result without C or without
  // some of the products. Exact sums of integers are then required.
  bool needs_exact_sums() const {
    constexpr int64_t kManyProducts = 100000;
    if (epilogue == Epilogue::kGelu) return false;  // no sum of integers makes gelu exact
    return is_fp8() || (!is_int8() && k > kManyProducts);
  }

  double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch); }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Gemm gemm_problem(const Attributes& attributes) {
  Gemm gemm;
  gemm.m = attributes.integer("m");
  gemm.n = attributes.integer("n");
  gemm.k = attributes.integer("k");
  gemm.batch = std::max<int64_t>(1, attributes.integer("batch"));  // 0 if it is absent
  gemm.trans_a = attributes.text("trans_a") == "t";
  gemm.trans_b = attributes.text("trans_b") == "t";
  gemm.epilogue = epilogue_named(attributes.text("epilogue"));    // none if it is absent
  gemm.scales_blocks = attributes.text("scaling") == "block128";  // tensor if it is absent
  gemm.precision = precision_info(attributes.text("precision"));
  gemm.b_type = gemm.precision.b;
  if (gemm.precision.precision == Precision::kInt8 && attributes.text("b_type") == "u8")
    gemm.b_type = DEEPBENCH_U8;
  return gemm;
}

// The number of calls that the plugin interface treats as unlimited.
inline constexpr int64_t kManyCalls = 1 << 20;

// How many products can be added to C in place before a sum can leave C's range; at most
// `max_calls`.
//
// A uniform element has a root mean square of 1/sqrt(3) and either sign: a sum of k products has a
// standard deviation of sqrt(k)/3, and in 10^8 sums none exceeds six of those. Signed 8-bit
// elements have a mean of -1/2 and a root mean square of 74, unsigned ones a mean of at most 255/2
// and a root mean square of at most 148. Where all elements have the same sign (`uniform` is
// false), every product counts in full.
inline int64_t calls_before_overflow(const Gemm& gemm, bool uniform,
                                     int64_t max_calls = kManyCalls) {
  const double k = double(gemm.k);
  double range = 0, call = 1;
  if (gemm.precision.c == DEEPBENCH_F16) {
    range = 65504;
    call = uniform ? 6 * std::sqrt(k) / 3 : k;
  } else if (gemm.precision.c == DEEPBENCH_S32) {
    range = 2147483647.0;
    call = uniform ? 64 * k + 6 * std::sqrt(k) * 74 * 148 : k;
  } else {
    return max_calls;  // bfloat16 has the exponent range of float
  }
  return std::clamp(int64_t(range / call) - 1, int64_t{1}, max_calls);
}

// The padding rule of the original benchmark. For half and bfloat16 it rounds up to multiples of 8
// where an operand's leading dimension requires it for tensor cores; for int8 it rounds m up to a
// multiple of 4. Returns the dimensions to run.
inline Gemm padded_like_original(Gemm gemm) {
  auto up = [](int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; };
  if (gemm.precision.precision == Precision::kInt8) {
    gemm.m = up(gemm.m, 4);
  } else if (gemm.precision.precision == Precision::kHalf ||
             gemm.precision.precision == Precision::kBfloat16) {
    if (!gemm.trans_b) {  // nn, tn
      if (gemm.m % 8 || gemm.k % 8) gemm.m = up(gemm.m, 8), gemm.k = up(gemm.k, 8);
    } else if (!gemm.trans_a) {  // nt
      if (gemm.m % 8 || gemm.n % 8) gemm.m = up(gemm.m, 8), gemm.n = up(gemm.n, 8);
    } else if (gemm.m % 8 || gemm.n % 8 || gemm.k % 8) {
      gemm.m = up(gemm.m, 8), gemm.n = up(gemm.n, 8), gemm.k = up(gemm.k, 8);
    }
  }
  return gemm;
}

}  // namespace deepbench
