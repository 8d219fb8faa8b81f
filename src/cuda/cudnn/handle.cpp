// Creates cuDNN's handles.
#include "cudnn/handle.hpp"

#include <utility>

#include "deepbench/backend/memo_cache.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cudnnHandle_t cudnn_handle(const Stream& stream, size_t worker) {
  // Handles are never destroyed; they live until the process ends.
  static plugin::MemoCache<std::pair<int, size_t>, nvidia::cudnnHandle_t> handles;
  return handles.get({stream.device(), worker}, [&] {
    stream.make_current();
    nvidia::cudnnHandle_t made = nullptr;
    CUDA_CHECK(cudnn().cudnnCreate(&made));
    CUDA_CHECK(cudnn().cudnnSetStream(made, stream.get()));
    return made;
  });
}

}  // namespace deepbench::cuda
