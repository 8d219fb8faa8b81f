// Maps types to cuDNN's.
#include "cudnn/data_type.hpp"

namespace deepbench::cuda::dnn {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

cudnnDataType_t data_type(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_F64:
      return CUDNN_DATA_DOUBLE;
    case DEEPBENCH_F16:
      return CUDNN_DATA_HALF;
    case DEEPBENCH_BF16:
      return CUDNN_DATA_BFLOAT16;
    case DEEPBENCH_E4M3:
      return CUDNN_DATA_FP8_E4M3;
    case DEEPBENCH_E5M2:
      return CUDNN_DATA_FP8_E5M2;
    case DEEPBENCH_S8:
      return CUDNN_DATA_INT8;
    case DEEPBENCH_U8:
      return CUDNN_DATA_UINT8;
    case DEEPBENCH_S32:
      return CUDNN_DATA_INT32;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

}  // namespace deepbench::cuda::dnn
