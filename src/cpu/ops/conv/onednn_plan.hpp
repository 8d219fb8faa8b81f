// How oneDNN computes a convolution: the primitive and the layouts of each candidate.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/ops/conv/conv.hpp"
#include "onednn/api.hpp"
#include "onednn/row_plans.hpp"

namespace deepbench::cpu::onednn {

enum class ConvLayout { kLibrary, kNchw, kNhwc };  // The layout of the activations.

// The forms of a candidate's id are "library", a layout; "nhwc:brgconv:avx2", a layout and the
// library's name of an implementation in it; and "wino", Winograd's algorithm in the library's
// layouts.
struct ConvCandidate {
  ConvLayout layout = ConvLayout::kLibrary;
  std::string implementation{};  // Empty for the library's default.
  bool winograd = false;
};

// One operand, input or output, in the problem's layout and in the primitive's layout.
struct ConvTensor {
  const char* operand = "";  // "x", "w", "dy"
  int argument = 0;          // DNNL_ARG_...
  uint32_t stream = 0;       // The random stream of an input, in fill.h.
  deepbench_type type = DEEPBENCH_F32;
  uint64_t elements = 0;
  MemoryDesc plain;
  const_dnnl_memory_desc_t stored = nullptr;  // Owned by the primitive description.

  bool is_plain() const;  // Whether the primitive stores it in the problem's layout.
  uint64_t plain_bytes() const;
  uint64_t stored_bytes() const;
};

struct ConvPlan {
  Conv conv;
  ConvCandidate candidate;
  PrimitiveDesc primitive;
  PrimitiveDesc alternatives;  // oneDNN's list of further implementations.
  std::array<ConvTensor, 2> inputs;
  ConvTensor output;
  MemoryDesc ordered;  // The output in verification's order.
  MemoryDesc scale;    // A single number: the scale of sums that are stored in 8 bits.

  bool is_winograd() const;
  bool is_ordered() const;  // Whether the output is stored in verification's order.
  uint64_t touched_bytes() const;
};

// Throws plugin::Error: unsupported with oneDNN's reason, or invalid for an unknown candidate.
std::shared_ptr<const ConvPlan> plan_conv(const Conv& conv, const std::string& layout,
                                          const std::string& candidate, RowPlans<ConvPlan>& row);

// The ids that plan_conv accepts for this problem. The first one is oneDNN's default.
std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         RowPlans<ConvPlan>& row);

}  // namespace deepbench::cpu::onednn
