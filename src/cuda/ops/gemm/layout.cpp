// Padding, transposition, and size computations that saturate instead of overflowing.
#include "ops/gemm/layout.hpp"

#include <algorithm>

#include "buffer.hpp"
#include "kernels/skinny_mma.h"

namespace deepbench::cuda {
namespace {

// Larger dimensions exceed the index range of every library.
constexpr int64_t kMaxPadded = int64_t{1} << 48;
constexpr int64_t kTensorCoreGrain = 16;  // in 8-bit elements: 16 bytes
constexpr int64_t kInt8Grain = 4;         // leading dimensions must be multiples of 32 bits

uint64_t matrix_bytes(int64_t rows, int64_t columns, deepbench_type type) {
  return saturating_multiply(saturating_multiply(uint64_t(rows), uint64_t(columns)),
                             uint64_t(size_of(type)));
}

bool is_int8(const Gemm& gemm) { return gemm.precision.precision == Precision::kInt8; }

int64_t round_up(int64_t value, int64_t grain) { return (value + grain - 1) / grain * grain; }

void pad_all(Gemm& gemm, int64_t grain) {
  gemm.m = round_up(gemm.m, grain), gemm.n = round_up(gemm.n, grain),
  gemm.k = round_up(gemm.k, grain);
}

// Pads the leading dimensions of A, B and C.
void pad_leading(Gemm& gemm, int64_t grain) {
  gemm.m = round_up(gemm.m, grain);
  int64_t& leading_a = gemm.trans_a ? gemm.k : gemm.m;
  int64_t& leading_b = gemm.trans_b ? gemm.n : gemm.k;
  leading_a = round_up(leading_a, grain), leading_b = round_up(leading_b, grain);
}

GemmLayout layout_of(const char* name, const Gemm& problem, bool in_place) {
  GemmLayout layout;
  layout.name = name;
  layout.problem = layout.executed = problem;
  layout.in_place = in_place;
  return layout;
}

bool can_pad(const Gemm& gemm, const plugin::Options& options) {
  return options.pad && std::max({gemm.m, gemm.n, gemm.k}) <= kMaxPadded;
}

GemmLayout plain_layout(const Gemm& problem, const plugin::Options& options, bool in_place) {
  GemmLayout layout = layout_of("plain", problem, in_place);
  if (!can_pad(problem, options)) return layout;
  layout.executed = padded_like_original(problem);
  const char* rule = "to multiples of 8, as in the original benchmark";
  if (is_int8(problem)) {
    pad_leading(layout.executed, kInt8Grain);
    rule =
        "to multiples of 4: m as in the original benchmark, leading dimensions because the "
        "library requires it";
  } else if (is_fp8(problem)) {
    pad_all(layout.executed, kTensorCoreGrain);
    rule = "to multiples of 16, because the library requires it";
  }
  if (layout.is_padded()) layout.padding_rule = rule;
  return layout;
}

Conversion choose_conversion(bool from, bool to, bool constant) {
  if (from == to) return Conversion::kNone;
  return constant ? Conversion::kBeforehand : Conversion::kInCall;
}

// The layout with A stored transposed and B not, so that k is contiguous in both. Without padding.
GemmLayout layout_along_k(const Gemm& problem, const plugin::Options& options, bool in_place) {
  GemmLayout layout = layout_of("tn", problem, in_place);
  layout.executed.trans_a = true, layout.executed.trans_b = false;
  layout.a = choose_conversion(problem.trans_a, true, options.is_constant("a"));
  layout.b = choose_conversion(problem.trans_b, false, options.is_constant("b"));
  return layout;
}

GemmLayout tensor_core_layout(const Gemm& problem, const plugin::Options& options, bool in_place) {
  GemmLayout layout = layout_along_k(problem, options, in_place);
  if (!can_pad(problem, options)) return layout;
  pad_all(layout.executed, kTensorCoreGrain);
  if (layout.is_padded())
    layout.padding_rule = "to multiples of 16, as tensor cores require for 8-bit types";
  return layout;
}

bool is_same(const Gemm& a, const Gemm& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k && a.trans_a == b.trans_a && a.trans_b == b.trans_b;
}

}  // namespace

bool is_fp8(const Gemm& gemm) {
  return gemm.precision.precision == Precision::kFp8E4m3 ||
         gemm.precision.precision == Precision::kFp8E5m2;
}

uint64_t GemmLayout::a_bytes() const {
  return matrix_bytes(executed.m, executed.k, executed.precision.a);
}
uint64_t GemmLayout::b_bytes() const {
  return matrix_bytes(executed.k, executed.n, executed.b_type);
}
uint64_t GemmLayout::c_bytes() const {
  return matrix_bytes(executed.m, executed.n, executed.precision.c);
}
uint64_t GemmLayout::plain_a_bytes() const {
  return matrix_bytes(problem.m, problem.k, problem.precision.a);
}
uint64_t GemmLayout::plain_b_bytes() const {
  return matrix_bytes(problem.k, problem.n, problem.b_type);
}

uint64_t GemmLayout::touched_bytes() const {
  uint64_t bytes = saturating_add(saturating_add(a_bytes(), b_bytes()),
                                  saturating_multiply(c_bytes(), in_place ? 1 : 2));
  if (a == Conversion::kInCall) bytes = saturating_add(bytes, plain_a_bytes());
  if (b == Conversion::kInCall) bytes = saturating_add(bytes, plain_b_bytes());
  return bytes;
}

uint64_t GemmLayout::needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes) const {
  const auto plain = [&](Conversion conversion, uint64_t bytes) {
    if (conversion == Conversion::kNone) return uint64_t{0};
    return Copies::needed_bytes(bytes, conversion == Conversion::kInCall ? plan.copies : 1);
  };
  uint64_t bytes = saturating_add(Copies::needed_bytes(a_bytes(), plan.copies),
                                  Copies::needed_bytes(b_bytes(), plan.copies));
  bytes = saturating_add(bytes, Copies::needed_bytes(c_bytes(), plan.copies));
  // D; in place, the first values of C.
  bytes = saturating_add(bytes, Copies::needed_bytes(c_bytes(), in_place ? 1 : plan.copies));
  bytes = saturating_add(bytes, plain(a, plain_a_bytes()));
  bytes = saturating_add(bytes, plain(b, plain_b_bytes()));
  return saturating_add(saturating_add(bytes, workspace_bytes), plan.flush_bytes);
}

std::vector<GemmLayout> gemm_layouts(const Gemm& problem, const plugin::Options& options,
                                     bool in_place) {
  std::vector<GemmLayout> layouts = {plain_layout(problem, options, in_place)};
  if (is_int8(problem) || is_fp8(problem)) {
    const GemmLayout tn = tensor_core_layout(problem, options, in_place);
    if (!is_same(tn.executed, layouts.front().executed)) layouts.push_back(tn);
  }
  return layouts;
}

GemmLayout skinny_layout(const Gemm& problem, const plugin::Options& options) {
  GemmLayout layout = layout_along_k(problem, options, /*in_place=*/false);
  if (!can_pad(problem, options)) return layout;
  layout.executed.k = round_up(problem.k, kTensorCoreGrain);
  if (layout.is_padded())
    layout.padding_rule = "k to multiples of 16, so that rows are aligned to vectors";
  return layout;
}

GemmLayout skinny_mma_layout(const Gemm& problem, const plugin::Options& options) {
  GemmLayout layout = layout_of("plain", problem, /*in_place=*/false);
  layout.executed.trans_b = false;
  layout.b = choose_conversion(problem.trans_b, false, options.is_constant("b"));
  if (!can_pad(problem, options)) return layout;
  layout.executed.m = round_up(problem.m, SKINNY_MMA_GRAIN),
  layout.executed.k = round_up(problem.k, SKINNY_MMA_GRAIN);
  if (layout.is_padded())
    layout.padding_rule = "m and k to multiples of 8, so that columns are aligned to vectors";
  return layout;
}

}  // namespace deepbench::cuda
