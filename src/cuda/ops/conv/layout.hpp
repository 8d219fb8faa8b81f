// The form in which a convolution is passed to a library: channels first or last, padded channels,
// the position of each element, and the memory that this takes. Depends on no library and no
// device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/conv/conv.hpp"
#include "operand.hpp"

namespace deepbench::cuda {

// A tensor [first][second][rest] of the problem in memory, with its padding. Within each index of
// `first`, `second` is the slowest dimension or, with channels last, the fastest.
struct ConvTensor {
  const char* operand = "";  // "x", "w", "dy"; for the output "y", "dx", "dw"
  uint32_t stream = 0;       // the stream of an input in fill.h
  deepbench_type type = DEEPBENCH_F32;
  std::vector<int64_t> sizes;  // in the library's layout: first, second, then depth, height, width
  int64_t first = 1, second = 1, rest = 1;  // in the problem's layout
  bool channels_last = false;

  uint64_t elements() const;  // including padding
  uint64_t bytes() const;
  bool is_padded() const;
  std::vector<int64_t> strides() const;   // in the order of `sizes`
  Matrix logical_view(void* data) const;  // indexed as in fill.h
  // Indexed with the dimension that `output` selects, `first` or `second`, as the slowest.
  Matrix output_view(const ConvOutput& output, void* data) const;
};

struct ConvLayout {
  std::string name;  // "nchw" or "nhwc"; a number, as in "nhwc4", is a smaller multiple of channels
  Conv problem;
  Conv executed;             // with the numbers of channels in the library's call
  std::string padding_rule;  // the reason why channels are padded; empty if none is
  bool channels_last = false;
  ConvTensor x, w, y;  // or dx, dw, dy

  const ConvTensor& output() const;
  std::vector<const ConvTensor*> inputs() const;
  bool is_padded() const { return executed.c != problem.c || executed.k != problem.k; }

  uint64_t touched_bytes() const;  // bytes that one call touches, without the workspace
  uint64_t needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes) const;
};

// The layouts in which a library may receive the problem, the default first. With layout=library,
// the default is channels first for float and channels last otherwise, and the other order follows.
// If tensor cores require more channels than the data has, channels are padded as in the original
// benchmark.
std::vector<ConvLayout> conv_layouts(const Conv& problem, const std::string& layout, bool pad);

}  // namespace deepbench::cuda
