// How a matrix product is handed to a library: padded dimensions, stored transpositions, what is
// converted and when, and how much memory that takes. Knows no library and no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/gemm/gemm.hpp"

namespace deepbench::cuda {

bool is_fp8(const Gemm& gemm);

// When an operand that the library wants transposed is brought from the problem's layout into it.
enum class Conversion {
  kNone,        // it is stored as the problem has it
  kBeforehand,  // once, since it is constant in its application
  kInCall       // by every call, as part of its time
};

struct GemmLayout {
  std::string name;          // "plain" or "tn"
  Gemm problem;              // the problem
  Gemm executed;             // what the library is called with: dimensions and transpositions
  std::string padding_rule;  // why dimensions were padded; empty if none was
  Conversion a = Conversion::kNone, b = Conversion::kNone;
  bool in_place = false;  // C is replaced by the result, else D takes it

  bool is_padded() const {
    return executed.m != problem.m || executed.n != problem.n || executed.k != problem.k;
  }

  // Of one copy, as the library gets it.
  uint64_t a_bytes() const;
  uint64_t b_bytes() const;
  uint64_t c_bytes() const;  // of C, and of D: they have the same type
  // As the problem stores it.
  uint64_t plain_a_bytes() const;
  uint64_t plain_b_bytes() const;

  uint64_t touched_bytes() const;  // by one call, the workspace aside
  uint64_t needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes) const;
};

// The layouts in which a library may be given the problem, the problem's own first: "plain", padded
// by the original's rule and to what libraries need. For 8-bit types also "tn", A stored transposed
// and B not, dimensions multiples of 16: what tensor cores take as it is.
std::vector<GemmLayout> gemm_layouts(const Gemm& problem, const plugin::Options& options,
                                     bool in_place);

// Those of built-in kernels for products with few columns. In 8-bit types: A transposed and B not,
// as above, but only k a multiple of 16, so that rows begin at whole vectors. In 16-bit types: B
// not transposed, A as it is, m and k multiples of 8 for the same reason.
GemmLayout skinny_layout(const Gemm& problem, const plugin::Options& options);
GemmLayout skinny_mma_layout(const Gemm& problem, const plugin::Options& options);

}  // namespace deepbench::cuda
