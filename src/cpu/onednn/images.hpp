// Calls of oneDNN on images, n x c x h x w, without weights: the layouts in which they run, and
// their operands in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/core/precision.hpp"
#include "host_memory.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

using ImageSizes = std::array<int64_t, 4>;  // n, c, h, w

// The names of the layouts, oneDNN's own one first: "blocked", with blocks of as many channels as
// fill a vector register, in which its convolutions store activations; then "nhwc" and "nchw".
std::vector<std::string> image_layouts();

struct Images {
  deepbench_type type = DEEPBENCH_F32;
  uint32_t stream = 0;  // stream of fill.h, for inputs
  uint64_t elements = 0;
  MemoryDesc plain;   // nchw, the order of the problem
  MemoryDesc stored;  // in the named layout

  bool is_plain() const;
  uint64_t plain_bytes() const { return elements * uint64_t(size_of(type)); }
  uint64_t stored_bytes() const;
};

// Throws plugin::Error (unsupported) for types that oneDNN lacks.
Images images_of(const ImageSizes& sizes, deepbench_type type, const std::string& layout,
                 uint32_t stream = 0);

class ImageOperands final : public ArrayOperands {
 public:
  // The images must outlive the operands.
  ImageOperands(const std::vector<const Images*>& inputs, const Images& output,
                const CopyPlan& copies, Inputs values, uint64_t seed);

  static uint64_t needed_bytes(const std::vector<const Images*>& inputs, const Images& output,
                               const CopyPlan& copies);

  uint64_t copies() const { return output_.count(); }
  void* input(size_t which, uint64_t copy) const { return inputs_[which].at(copy); }
  void* result(uint64_t copy) const { return output_.at(copy); }
  void poison_outputs() override;

 protected:
  // The output in the problem's order. Every reading converts it again, even a poisoned one.
  // Otherwise only the first reading after a call would take long, as if it did the call's work.
  HostMemory::Array output(uint64_t copy) const override;

 private:
  const Images& output_images_;
  std::vector<Copies> inputs_;
  Copies output_;
  const Buffer ordered_;  // the output in the problem's order, if it is stored in another one
};

}  // namespace deepbench::cpu::onednn
