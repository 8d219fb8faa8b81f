// Creates cuBLAS' handles.
#include "cublas/handle.hpp"

#include "deepbench/backend/memo_cache.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cublasHandle_t cublas_handle(const Stream& stream) {
  // Handles are never destroyed; they live until the process ends.
  static plugin::MemoCache<int, nvidia::cublasHandle_t> handles;
  return handles.get(stream.device(), [&] {
    stream.make_current();
    nvidia::cublasHandle_t made = nullptr;
    CUDA_CHECK(cublas().cublasCreate_v2(&made));
    CUDA_CHECK(cublas().cublasSetStream_v2(made, stream.get()));
    return made;
  });
}

}  // namespace deepbench::cuda
