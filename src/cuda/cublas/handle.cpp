// Creates cuBLAS' handles.
#include "cublas/handle.hpp"

#include <map>
#include <mutex>

#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cublasHandle_t cublas_handle(const Stream& stream) {
  static std::mutex mutex;
  // never destroyed: handles live until the process ends
  static std::map<int, nvidia::cublasHandle_t> handles;
  const std::lock_guard<std::mutex> lock(mutex);
  nvidia::cublasHandle_t& known = handles[stream.device()];
  if (!known) {
    stream.make_current();
    nvidia::cublasHandle_t made = nullptr;
    CUDA_CHECK(cublas().cublasCreate_v2(&made));
    CUDA_CHECK(cublas().cublasSetStream_v2(made, stream.get()));
    known = made;
  }
  return known;
}

}  // namespace deepbench::cuda
