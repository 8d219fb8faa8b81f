// How a convolution is handed to a library: channels first or last, padded channels, where each
// element lies, and how much memory that takes. Knows no library and no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/conv/conv.hpp"
#include "operand.hpp"

namespace deepbench::cuda {

// A tensor [first][second][rest], as the problem counts it, in memory: with second the slowest
// within each of first, or the fastest (channels last), and its padding.
struct ConvTensor {
  const char* operand = "";  // "x", "w", "dy"; of the output "y", "dx", "dw"
  uint32_t stream = 0;       // of inputs, in fill.h
  deepbench_type type = DEEPBENCH_F32;
  std::vector<int64_t> sizes;  // as the library gets them: first, second, then depth, height, width
  int64_t first = 1, second = 1, rest = 1;  // as the problem has them
  bool channels_last = false;

  uint64_t elements() const;  // padding included
  uint64_t bytes() const;
  bool is_padded() const;
  std::vector<int64_t> strides() const;   // as `sizes`
  Matrix logical_view(void* data) const;  // counted as fill.h does
  // Counted with one of the first two dimensions slowest.
  Matrix output_view(const ConvOutput& output, void* data) const;
};

struct ConvLayout {
  std::string name;          // "nchw", "nhwc"; with channels padded less than by the rule "nhwc4"
  Conv problem;              // the problem
  Conv executed;             // with the channels that the library is called with
  std::string padding_rule;  // why channels were padded; empty if none was
  bool channels_last = false;
  ConvTensor x, w, y;  // or dx, dw, dy

  const ConvTensor& output() const;
  std::vector<const ConvTensor*> inputs() const;
  bool is_padded() const { return executed.c != problem.c || executed.k != problem.k; }

  std::string key(int device) const;  // all that a library's answer depends on

  uint64_t touched_bytes() const;  // by one call, the workspace aside
  uint64_t needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes) const;
};

// The layouts in which a library may be given the problem, the default one first. With
// layout=library those are channels first for float, else last, and then the other one; where
// tensor cores take more channels than the data has, the padding of the original benchmark.
std::vector<ConvLayout> conv_layouts(const Conv& problem, const std::string& layout, bool pad);

}  // namespace deepbench::cuda
