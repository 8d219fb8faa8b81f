// Describes tensors to cuDNN's graph API.
#include "cudnn/graph_tensor.hpp"

namespace deepbench::cuda {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

// The alignment of every operand in bytes; allocations have a stricter alignment.
constexpr int64_t kAlignment = 16;

CudnnDescriptor GraphTensor::describe() const {
  CudnnDescriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, is_by_value);
  made.finalize();
  return made;
}

}  // namespace deepbench::cuda
