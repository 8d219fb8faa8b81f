// The handle of cuBLAS for a device. All kernels share it, but each has its own workspace.
#pragma once

#include "buffer.hpp"
#include "nvidia/cublas.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class CublasSession {
 public:
  // The session of the stream's device: created on first use and bound to the device's stream.
  static CublasSession& of(const Stream& stream);

  nvidia::cublasHandle_t handle() const { return handle_; }
  // Makes the next calls use the workspace of `owner`. A workspace of 0 bytes must be set as well.
  void bind_workspace(const void* owner, const Buffer& workspace);
  // Must be called before the workspace is freed. Afterwards the handle uses the library's default
  // one.
  void unbind_workspace(const void* owner);

 private:
  explicit CublasSession(const Stream& stream);

  nvidia::cublasHandle_t handle_ = nullptr;
  nvidia::cudaStream_t stream_;
  const void* owner_ = nullptr;  // null: the library's default workspace
};

}  // namespace deepbench::cuda
