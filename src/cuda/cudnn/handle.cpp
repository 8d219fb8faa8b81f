// Making cuDNN's handles.
#include "cudnn/handle.hpp"

#include <map>
#include <mutex>

#include "check.hpp"

namespace deepbench::cuda {

nvidia::cudnnHandle_t cudnn_handle(const Stream& stream) {
  static std::mutex mutex;
  static std::map<int, nvidia::cudnnHandle_t> handles;  // never destroyed: the process ends first
  const std::lock_guard<std::mutex> lock(mutex);
  nvidia::cudnnHandle_t& known = handles[stream.device()];
  if (!known) {
    stream.enter();
    nvidia::cudnnHandle_t made = nullptr;
    CUDA_CHECK(cudnn().cudnnCreate(&made));
    CUDA_CHECK(cudnn().cudnnSetStream(made, stream.get()));
    known = made;
  }
  return known;
}

}  // namespace deepbench::cuda
