// The form in which a matrix product is passed to a library: padded dimensions, stored
// transpositions, converted operands and the time of their conversion. Its sizes saturate instead
// of overflowing. Header-only, for backends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/matrix.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// When an operand is converted from the problem's layout to the transposed layout that the library
// requires.
enum class Conversion {
  kNone,        // stored as in the problem
  kBeforehand,  // once, because it is constant in its application
  kInCall       // in every call, included in its time
};

struct GemmLayout {
  std::string name;  // "plain" or "tn"
  Gemm problem;
  Gemm executed;             // the dimensions and transpositions of the library's call
  std::string padding_rule;  // the reason why dimensions are padded; empty if none is
  Conversion a = Conversion::kNone, b = Conversion::kNone;
  bool in_place = false;  // the result replaces C; otherwise it is stored in D

  bool is_padded() const {
    return executed.m != problem.m || executed.n != problem.n || executed.k != problem.k;
  }

  // The size of one copy in the library's layout, of all products of a batch.
  uint64_t a_bytes() const { return bytes(executed.m, executed.k, executed.precision.a); }
  uint64_t b_bytes() const { return bytes(executed.k, executed.n, executed.b_type); }
  // The size of C and of D, which have the same type.
  uint64_t c_bytes() const { return bytes(executed.m, executed.n, executed.precision.c); }
  uint64_t bias_bytes() const {
    return problem.has_epilogue() ? matrix_bytes(executed.m, 1, executed.precision.c) : 0;
  }
  // The scales of blocks as libraries store them. Those of A along k are padded to a multiple of 4,
  // for each block of rows; those of B are stored for all columns, for each block along k. The
  // sizes are 0 without scales.
  int64_t leading_scale_a() const { return (executed.blocks_k() + 3) / 4 * 4; }
  uint64_t scale_a_bytes() const {
    if (!problem.scales_blocks) return 0;
    return matrix_bytes(leading_scale_a(), executed.blocks_m(), DEEPBENCH_F32);
  }
  uint64_t scale_b_bytes() const {
    if (!problem.scales_blocks) return 0;
    return matrix_bytes(executed.n, executed.blocks_k(), DEEPBENCH_F32);
  }
  // The size of one copy in the problem's layout.
  uint64_t plain_a_bytes() const { return bytes(problem.m, problem.k, problem.precision.a); }
  uint64_t plain_b_bytes() const { return bytes(problem.k, problem.n, problem.b_type); }

  // The number of arrays of the size of C: C and the result, unless the result replaces C or there
  // is no C.
  int results() const { return in_place || problem.has_epilogue() ? 1 : 2; }

  // The bytes that one call touches, without the workspace.
  uint64_t touched_bytes() const {
    uint64_t bytes = saturating_add(saturating_add(a_bytes(), b_bytes()),
                                    saturating_multiply(c_bytes(), uint64_t(results())));
    bytes = saturating_add(bytes, saturating_add(scale_a_bytes(), scale_b_bytes()));
    if (a == Conversion::kInCall) bytes = saturating_add(bytes, plain_a_bytes());
    if (b == Conversion::kInCall) bytes = saturating_add(bytes, plain_b_bytes());
    return bytes;
  }

  // The operands that are converted at the given time: "", "a", "b" or "a,b".
  std::string operands_converted(Conversion when) const {
    std::string operands = a == when ? "a" : "";
    if (b == when) operands += operands.empty() ? "b" : ",b";
    return operands;
  }

 private:
  uint64_t bytes(int64_t rows, int64_t columns, deepbench_type type) const {
    return saturating_multiply(matrix_bytes(rows, columns, type), uint64_t(problem.batch));
  }
};

// ---- the parts of a layout, also for a library with a layout of its own ----

inline constexpr int64_t kTensorCoreGrain = 16;  // in 8-bit elements: 16 bytes
inline constexpr int64_t kInt8Grain = 4;         // leading dimensions must be multiples of 32 bits
inline constexpr int64_t kTf32Grain = 4;         // 16 bytes, which tensor cores load at a time
// Larger dimensions exceed the index range of every library.
inline constexpr int64_t kMaxPadded = int64_t{1} << 48;

inline int64_t round_up(int64_t value, int64_t grain) {
  return (value + grain - 1) / grain * grain;
}

inline bool can_pad(const Gemm& gemm, const Options& options) {
  return options.pad && std::max({gemm.m, gemm.n, gemm.k}) <= kMaxPadded;
}

inline void pad_dimensions(Gemm& gemm, int64_t grain) {
  gemm.m = round_up(gemm.m, grain), gemm.n = round_up(gemm.n, grain),
  gemm.k = round_up(gemm.k, grain);
}

// Pads the leading dimensions of A, B and C.
inline void pad_leading_dimensions(Gemm& gemm, int64_t grain) {
  gemm.m = round_up(gemm.m, grain);
  int64_t& leading_a = gemm.trans_a ? gemm.k : gemm.m;
  int64_t& leading_b = gemm.trans_b ? gemm.n : gemm.k;
  leading_a = round_up(leading_a, grain), leading_b = round_up(leading_b, grain);
}

inline Conversion choose_conversion(bool from, bool to, bool constant) {
  if (from == to) return Conversion::kNone;
  return constant ? Conversion::kBeforehand : Conversion::kInCall;
}

// The problem's own layout, without padding.
inline GemmLayout unpadded_layout(const char* name, const Gemm& problem, bool in_place) {
  GemmLayout layout;
  layout.name = name;
  layout.problem = layout.executed = problem;
  layout.in_place = in_place;
  return layout;
}

// The layout with A stored transposed and B not, so that k is contiguous in both. Without padding.
inline GemmLayout layout_along_k(const Gemm& problem, const Options& options, bool in_place) {
  GemmLayout layout = unpadded_layout("tn", problem, in_place);
  layout.executed.trans_a = true, layout.executed.trans_b = false;
  layout.a = choose_conversion(problem.trans_a, true, options.is_constant("a"));
  layout.b = choose_conversion(problem.trans_b, false, options.is_constant("b"));
  return layout;
}

// ---- the layouts ----

// The problem's layout, padded as in the original benchmark and as the libraries require.
inline GemmLayout plain_layout(const Gemm& problem, const Options& options, bool in_place) {
  GemmLayout layout = unpadded_layout("plain", problem, in_place);
  if (!can_pad(problem, options)) return layout;
  layout.executed = padded_like_original(problem);
  const char* rule = "to multiples of 8, as in the original benchmark";
  if (problem.is_int8()) {
    pad_leading_dimensions(layout.executed, kInt8Grain);
    rule =
        "to multiples of 4: m as in the original benchmark, leading dimensions because the "
        "library requires it";
  } else if (problem.precision.precision == Precision::kTf32) {
    pad_leading_dimensions(layout.executed, kTf32Grain);
    rule = "to multiples of 4, as tensor cores require for tf32";
  } else if (problem.is_fp8()) {
    pad_dimensions(layout.executed, kTensorCoreGrain);
    rule = "to multiples of 16, because the library requires it";
  }
  if (layout.is_padded()) layout.padding_rule = rule;
  return layout;
}

// The layout that tensor cores support directly for 8-bit types: A is stored transposed and B is
// not, and dimensions are multiples of 16.
inline GemmLayout tensor_core_layout(const Gemm& problem, const Options& options, bool in_place) {
  GemmLayout layout = layout_along_k(problem, options, in_place);
  if (!can_pad(problem, options)) return layout;
  pad_dimensions(layout.executed, kTensorCoreGrain);
  if (layout.is_padded())
    layout.padding_rule = "to multiples of 16, as tensor cores require for 8-bit types";
  return layout;
}

// The layouts in which a library may receive the problem: "plain", and for 8-bit types also "tn",
// the layout of tensor cores, unless it is the same. The operands of a batch are not converted.
inline std::vector<GemmLayout> gemm_layouts(const Gemm& problem, const Options& options,
                                            bool in_place) {
  std::vector<GemmLayout> layouts = {plain_layout(problem, options, in_place)};
  if (!problem.is_int8() && !problem.is_fp8()) return layouts;
  const GemmLayout tn = tensor_core_layout(problem, options, in_place);
  const Gemm &a = tn.executed, &b = layouts.front().executed;
  const bool is_same =
      a.m == b.m && a.n == b.n && a.k == b.k && a.trans_a == b.trans_a && a.trans_b == b.trans_b;
  const bool is_converted = tn.a != Conversion::kNone || tn.b != Conversion::kNone;
  if (!is_same && !(problem.batch > 1 && is_converted)) layouts.push_back(tn);
  return layouts;
}

}  // namespace deepbench::plugin
