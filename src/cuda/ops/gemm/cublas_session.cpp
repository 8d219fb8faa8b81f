// Creates handles of cuBLAS and binds their workspaces.
#include "ops/gemm/cublas_session.hpp"

#include "deepbench/backend/per_device.hpp"
#include "libraries.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// If k is split, partial sums of half and bfloat16 products remain in 32 bits; float products are
// not rounded to TF32.
constexpr auto kMath =
    nvidia::cublasMath_t(int(nvidia::CUBLAS_DEFAULT_MATH) |
                         int(nvidia::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));

}  // namespace

CublasSession& CublasSession::of(const Stream& stream) {
  return *plugin::get_or_create_per_device(stream, [&] { return new CublasSession(stream); });
}

CublasSession::CublasSession(const Stream& stream) : stream_(stream.get()) {
  CUDA_CHECK(cublas().cublasCreate_v2(&handle_));
  CUDA_CHECK(cublas().cublasSetStream_v2(handle_, stream_));
  CUDA_CHECK(cublas().cublasSetMathMode(handle_, kMath));
}

void CublasSession::bind_workspace(const void* owner, const Buffer& workspace) {
  if (owner_ == owner) return;
  CUDA_CHECK(cublas().cublasSetWorkspace_v2(handle_, workspace.data(), workspace.bytes()));
  owner_ = owner;
}

// Setting the stream resets the handle to the library's default workspace.
void CublasSession::unbind_workspace(const void* owner) {
  if (owner_ != owner) return;
  cublas().cublasSetStream_v2(handle_, stream_);
  owner_ = nullptr;
}

}  // namespace deepbench::cuda
