// Creates cuDNN's handles.
#include "cudnn/handle.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cudnnHandle_t cudnn_handle(const Stream& stream, size_t worker) {
  static std::mutex mutex;
  // Handles are never destroyed; they live until the process ends.
  static std::map<std::pair<int, size_t>, nvidia::cudnnHandle_t> handles;
  const std::lock_guard<std::mutex> lock(mutex);
  nvidia::cudnnHandle_t& known = handles[{stream.device(), worker}];
  if (!known) {
    stream.make_current();
    nvidia::cudnnHandle_t made = nullptr;
    CUDA_CHECK(cudnn().cudnnCreate(&made));
    CUDA_CHECK(cudnn().cudnnSetStream(made, stream.get()));
    known = made;
  }
  return known;
}

}  // namespace deepbench::cuda
