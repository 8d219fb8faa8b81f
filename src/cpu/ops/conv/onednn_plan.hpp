// A convolution as oneDNN plans it: which primitive in which layouts for which candidate.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/conv/conv.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

enum class ConvLayout { kLibrary, kNchw, kNhwc };  // of the activations

// "library", "nhwc:brgconv:avx2": a layout and which of the library's implementations in it, by the
// library's name; "wino": Winograd's algorithm in the library's layouts.
struct ConvCandidate {
  ConvLayout layout = ConvLayout::kLibrary;
  std::string implementation{};  // none: the library's own choice
  bool winograd = false;
};

// One operand, or the output, as the problem counts it and as the primitive stores it.
struct ConvTensor {
  const char* operand = "";  // "x", "w", "dy"
  int argument = 0;          // DNNL_ARG_...
  uint32_t stream = 0;       // of inputs, in fill.h
  deepbench_type type = DEEPBENCH_F32;
  uint64_t elements = 0;
  MemoryDesc plain;
  const_dnnl_memory_desc_t stored = nullptr;  // the primitive's

  bool is_plain() const;  // as stored
  uint64_t plain_bytes() const;
  uint64_t stored_bytes() const;
};

struct ConvPlan {
  Conv conv;
  ConvCandidate candidate;
  PrimitiveDesc primitive;
  std::array<ConvTensor, 2> inputs;
  ConvTensor output;
  MemoryDesc ordered;  // the output as verification counts it
  MemoryDesc scale;    // of sums that are stored in 8 bits: one number

  bool is_winograd() const;
  bool is_ordered() const;  // the output as stored
  uint64_t touched_bytes() const;
};

// Throws plugin::Error: unsupported with oneDNN's reason, or invalid for an unknown candidate.
ConvPlan plan_conv(const Conv& conv, const std::string& layout, const std::string& candidate);

// Ids that plan_conv takes for this problem, oneDNN's own choice first.
std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout);

}  // namespace deepbench::cpu::onednn
