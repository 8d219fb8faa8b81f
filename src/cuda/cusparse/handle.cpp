// Creates cuSPARSE's handles.
#include "cusparse/handle.hpp"

#include <map>
#include <mutex>

#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cusparseHandle_t cusparse_handle(const Stream& stream) {
  static std::mutex mutex;
  // Handles are never destroyed; they live until the process ends.
  static std::map<int, nvidia::cusparseHandle_t> handles;
  const std::lock_guard<std::mutex> lock(mutex);
  nvidia::cusparseHandle_t& known = handles[stream.device()];
  if (!known) {
    stream.make_current();
    nvidia::cusparseHandle_t made = nullptr;
    CUDA_CHECK(cusparse().cusparseCreate(&made));
    CUDA_CHECK(cusparse().cusparseSetStream(made, stream.get()));
    known = made;
  }
  return known;
}

}  // namespace deepbench::cuda
