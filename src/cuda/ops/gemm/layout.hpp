// The form in which a matrix product is passed to a library: padded dimensions, stored
// transpositions, converted operands and the time of their conversion, and the memory that this
// takes. Depends on no library and no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/gemm/gemm.hpp"

namespace deepbench::cuda {

bool is_fp8(const Gemm& gemm);

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
  Gemm executed;             // the dimensions and transpositions that the library is called with
  std::string padding_rule;  // why dimensions are padded; empty if none is
  Conversion a = Conversion::kNone, b = Conversion::kNone;
  bool in_place = false;  // the result replaces C; otherwise it is stored in D

  bool is_padded() const {
    return executed.m != problem.m || executed.n != problem.n || executed.k != problem.k;
  }

  // The size of one copy in the library's layout.
  uint64_t a_bytes() const;
  uint64_t b_bytes() const;
  uint64_t c_bytes() const;  // of C and of D, which have the same type
  // The size of one copy in the problem's layout.
  uint64_t plain_a_bytes() const;
  uint64_t plain_b_bytes() const;

  uint64_t touched_bytes() const;  // by one call, excluding the workspace
  uint64_t needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes) const;
};

// The layouts in which a library may be given the problem. The first is "plain", the problem's
// layout, padded as in the original benchmark and as the libraries require. For 8-bit types, "tn"
// follows, which tensor cores support directly: A is stored transposed and B is not, and dimensions
// are multiples of 16.
std::vector<GemmLayout> gemm_layouts(const Gemm& problem, const plugin::Options& options,
                                     bool in_place);

// The layouts of the built-in kernels for products with few columns. For 8-bit types, A is
// transposed and B is not, as in "tn", but only k is padded, to a multiple of 16, so that rows are
// aligned to vectors. For 16-bit types, B is not transposed, A is stored as in the problem, and m
// and k are padded to multiples of 8 for the same reason.
GemmLayout skinny_layout(const Gemm& problem, const plugin::Options& options);
GemmLayout skinny_mma_layout(const Gemm& problem, const plugin::Options& options);

}  // namespace deepbench::cuda
