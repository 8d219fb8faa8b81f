// Describes, fills and poisons images.
#include "cudnn/images.hpp"

#include <algorithm>
#include <limits>

#include "cudnn/data_type.hpp"
#include "cudnn/descriptor.hpp"
#include "deepbench/plugin.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

Images images_of(const ImageSizes& sizes, deepbench_type type, const std::string& layout,
                 uint32_t stream) {
  Images made;
  made.sizes = sizes, made.type = type, made.stream = stream;
  made.channels_last = layout == "nhwc";
  if (made.elements() > uint64_t(std::numeric_limits<int>::max()))
    plugin::unsupported("cuDNN's legacy API has tensors of at most 2^31 - 1 elements");
  // No extent or stride exceeds the number of elements.
  std::array<int, 4> extents = {}, strides = {};
  std::copy(sizes.begin(), sizes.end(), extents.begin());
  const std::array<int64_t, 4> wide_strides = made.strides();
  std::copy(wide_strides.begin(), wide_strides.end(), strides.begin());
  nvidia::cudnnTensorDescriptor_t descriptor = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&descriptor));
  made.descriptor.reset(descriptor);
  const nvidia::cudnnStatus_t status = cudnn().cudnnSetTensorNdDescriptor(
      descriptor, dnn::data_type(type), int(sizes.size()), extents.data(), strides.data());
  if (is_cudnn_refusal(status))
    plugin::unsupported("cuDNN's legacy API rejects the tensor: " + cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnnSetTensorNdDescriptor, status);
  return made;
}

ImageOperands::ImageOperands(const std::vector<const Images*>& inputs, const Images& output,
                             const plugin::CopyPlan& copies, Inputs values, uint64_t seed,
                             Stream& stream)
    : MatrixOperands(stream), output_images_(output), output_(output.bytes(), copies.copies) {
  for (const Images* images : inputs) {
    const Copies& made = inputs_.emplace_back(images->bytes(), copies.copies);
    fill(images->view(made.at(0)), values, seed, images->stream, stream);
    made.replicate(stream);
  }
  poison_outputs();
  stream.synchronize();
}

uint64_t ImageOperands::needed_bytes(const std::vector<const Images*>& inputs, const Images& output,
                                     const plugin::CopyPlan& copies) {
  uint64_t bytes =
      saturating_add(copies.flush_bytes, Copies::needed_bytes(output.bytes(), copies.copies));
  for (const Images* images : inputs)
    bytes = saturating_add(bytes, Copies::needed_bytes(images->bytes(), copies.copies));
  return bytes;
}

void ImageOperands::poison_outputs() {
  for (uint64_t copy = 0; copy < copies(); ++copy) cuda::poison(output(copy), stream_);
}

}  // namespace deepbench::cuda
