// Describes packed tensors, and interprets the results of cuDNN's older calls.
#include "cudnn/tensor.hpp"

#include <limits>
#include <string>

#include "cudnn/descriptor.hpp"
#include "deepbench/plugin.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

namespace {

cudnnDataType_t data_type_of(deepbench_type type) {
  return type == DEEPBENCH_F16    ? CUDNN_DATA_HALF
         : type == DEEPBENCH_BF16 ? CUDNN_DATA_BFLOAT16
                                  : CUDNN_DATA_FLOAT;
}

}  // namespace

UniqueCudnn<cudnnTensorDescriptor_t> make_packed_tensor(deepbench_type type,
                                                        const std::vector<int64_t>& sizes) {
  std::vector<int> dimensions, strides(sizes.size());
  int64_t elements = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = int(elements);
    if (__builtin_mul_overflow(elements, sizes[i], &elements) ||
        elements > std::numeric_limits<int>::max())
      plugin::unsupported("cuDNN's older calls support only tensors of less than 2^31 elements");
  }
  for (const int64_t size : sizes) dimensions.push_back(int(size));
  cudnnTensorDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&made));
  UniqueCudnn<cudnnTensorDescriptor_t> owned(made);
  require_accepted_call(
      cudnn().cudnnSetTensorNdDescriptor(made, data_type_of(type), int(sizes.size()),
                                         dimensions.data(), strides.data()),
      "cudnnSetTensorNdDescriptor");
  return owned;
}

void require_accepted_call(cudnnStatus_t status, const char* call) {
  if (is_cudnn_refusal(status))
    plugin::unsupported(std::string(call) + ": " + cudnn_reason(status));
  check(status, SourceLocation{call, __FILE__, __LINE__});
}

}  // namespace deepbench::cuda
