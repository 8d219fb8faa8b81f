// Calls of cuDNN's legacy API on images, n x c x h x w, without weights: tensors with channels
// first or last, and the operands in device memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "cudnn/unique_descriptor.hpp"
#include "image_layout.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

using ImageSizes = std::array<int64_t, 4>;  // n, c, h, w

struct Images : ImageLayout {
  uint32_t stream = 0;  // stream of fill.h, for inputs
  UniqueCudnn<nvidia::cudnnTensorDescriptor_t> descriptor;
};

// `layout` is "nchw" or "nhwc". Throws plugin::Error (unsupported) if cuDNN rejects the tensor.
Images images_of(const ImageSizes& sizes, deepbench_type type, const std::string& layout,
                 uint32_t stream = 0);

class ImageOperands final : public MatrixOperands {
 public:
  // The images must outlive the operands.
  ImageOperands(const std::vector<const Images*>& inputs, const Images& output,
                const plugin::CopyPlan& copies, Inputs values, uint64_t seed, Stream& stream);

  static uint64_t needed_bytes(const std::vector<const Images*>& inputs, const Images& output,
                               const plugin::CopyPlan& copies);

  uint64_t copies() const { return output_.count(); }
  void* input(size_t which, uint64_t copy) const { return inputs_[which].at(copy); }
  void* result(uint64_t copy) const { return output_.at(copy); }

  void poison_outputs() override;

 private:
  Matrix output(uint64_t copy) const override { return output_images_.view(output_.at(copy)); }

  const Images& output_images_;
  std::vector<Copies> inputs_;
  Copies output_;
};

}  // namespace deepbench::cuda
