// Creates cuSPARSE's handles.
#include "cusparse/handle.hpp"

#include "deepbench/backend/memo_cache.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

nvidia::cusparseHandle_t cusparse_handle(const Stream& stream) {
  // Handles are never destroyed; they live until the process ends.
  static plugin::MemoCache<int, nvidia::cusparseHandle_t> handles;
  return handles.get(stream.device(), [&] {
    stream.make_current();
    nvidia::cusparseHandle_t made = nullptr;
    CUDA_CHECK(cusparse().cusparseCreate(&made));
    CUDA_CHECK(cusparse().cusparseSetStream(made, stream.get()));
    return made;
  });
}

}  // namespace deepbench::cuda
