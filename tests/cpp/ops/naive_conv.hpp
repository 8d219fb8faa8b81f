// A convolution and its gradients as nine loops in double over fill.h's elements: the expected
// result of references and libraries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "deepbench/ops/conv/conv.hpp"

// Tests are compiled without optimization, in which these loops would take minutes.
#if defined(__GNUC__) && !defined(__clang__)
#define DEEPBENCH_TEST_OPTIMIZED __attribute__((optimize("O2")))
#else
#define DEEPBENCH_TEST_OPTIMIZED
#endif

namespace deepbench::testing {

// The value that an 8-bit output represents, before rounding.
inline double saturated(const Conv& conv, double sum) {
  for (int i = 0; i < conv.shift; ++i) sum /= 2;
  return std::min(std::max(sum, -128.0), 127.0);
}

class NaiveConv {
 public:
  Conv conv;
  // Mutants: taps that are skipped by output row, filter row and column; a wrong padding; a flipped
  // filter (convolution in the mathematical sense).
  bool (*counts)(int64_t p, int64_t r, int64_t s) = nullptr;
  int64_t shift = 0;
  bool flipped = false;

  explicit NaiveConv(const Conv& of, uint64_t seed = 1) : NaiveConv(of, seed, of.precision.b) {}
  NaiveConv(const Conv& of, uint64_t seed, deepbench_type w_type) : conv(of) {
    x_ = elements(of.x_type, seed, Conv::kStreamX, of.x_size());
    w_ = elements(w_type, seed, Conv::kStreamW, of.w_size());
    dy_ = elements(of.precision.a, seed, Conv::kStreamDy, of.y_size());
  }

  // Returns the sums of products, or of their squares, in verification's order.
  std::vector<double> output(bool squares = false) const {
    const ConvOutput shape = conv.output();
    std::vector<double> tensor(size_t(shape.size())), ordered(tensor.size());
    add_all(squares, tensor.data());
    for (size_t i = 0; i < ordered.size(); ++i)
      ordered[i] = tensor[size_t(shape.tensor_index(int64_t(i)))];
    return ordered;
  }

 private:
  DEEPBENCH_TEST_OPTIMIZED static std::vector<double> elements(deepbench_type type, uint64_t seed,
                                                               uint32_t stream, int64_t count) {
    std::vector<double> made(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      made.data()[i] = deepbench_element(type, seed, stream, uint64_t(i));
    return made;
  }

  DEEPBENCH_TEST_OPTIMIZED void add_all(bool squares, double* tensor) const {
    const Conv& c = conv;
    const int64_t depth = c.o(), height = c.p(), width = c.q(), channels = c.group_c();
    const int64_t x_channel = c.d * c.h * c.w, f_channel = c.t * c.r * c.s;
    const bool forward = c.phase == ConvPhase::kForward;
    const bool data = c.phase == ConvPhase::kBackwardData;
    const double *xs = x_.data(), *ws = w_.data(), *dys = dy_.data();
    for (int64_t at = 0; at < c.y_size(); ++at) {
      const int64_t q = at % width, p = at / width % height, o = at / width / height % depth;
      const int64_t nk = at / width / height / depth, k = nk % c.k, n = nk / c.k;
      const int64_t group = k / c.group_k();
      for (int64_t t = 0; t < c.t; ++t) {
        const int64_t d = o * c.stride_d - c.pad_d + t * c.dilation_d;
        for (int64_t r = 0; r < c.r; ++r) {
          const int64_t h = p * c.stride_h - c.pad_h + r * c.dilation_h;
          for (int64_t s = 0; s < c.s; ++s) {
            const int64_t s_applied = flipped ? c.s - 1 - s : s;
            const int64_t w = q * c.stride_w - c.pad_w + s_applied * c.dilation_w + shift;
            if (w < 0 || w >= c.w || h < 0 || h >= c.h || d < 0 || d >= c.d) continue;
            if (counts && !counts(p, r, s)) continue;
            int64_t x = (((n * c.c + group * channels) * c.d + d) * c.h + h) * c.w + w;
            int64_t f = ((k * channels * c.t + t) * c.r + r) * c.s + s;
            for (int64_t channel = 0; channel < channels; ++channel) {
              const double product = (data ? ws[f] : xs[x]) * (forward ? ws[f] : dys[at]);
              tensor[forward ? at : data ? x : f] += squares ? product * product : product;
              x += x_channel, f += f_channel;
            }
          }
        }
      }
    }
  }

  std::vector<double> x_, w_, dy_;
};

}  // namespace deepbench::testing
