// Creates cuDNN's handles.
#include "cudnn/handle.hpp"

#include "deepbench/backend/per_device.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cudnnHandle_t cudnn_handle(const Stream& stream, size_t worker) {
  const auto create = [&] {
    nvidia::cudnnHandle_t made = nullptr;
    CUDA_CHECK(cudnn().cudnnCreate(&made));
    CUDA_CHECK(cudnn().cudnnSetStream(made, stream.get()));
    return made;
  };
  return plugin::get_or_create_per_device(stream, create, worker);
}

}  // namespace deepbench::cuda
