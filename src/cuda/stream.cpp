// Creates one stream for each device.
#include "stream.hpp"

#include "deepbench/backend/memo_cache.hpp"
#include "device.hpp"
#include "memory_pools.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

Stream& Stream::of(int device) {
  static plugin::MemoCache<int, Stream*> streams;
  device_facts(device);  // throws for an index without a device
  Stream& stream = *streams.get(device, [&] { return new Stream(device); });
  stream.make_current();
  return stream;
}

Stream::Stream(int device) : device_(device) {
  make_current();
  CUDA_CHECK(cudart().cudaStreamCreateWithFlags(&stream_, nvidia::cudaStreamNonBlocking));
  make_pools(*this);
}

void Stream::make_current() const { CUDA_CHECK(cudart().cudaSetDevice(device_)); }

void Stream::synchronize() const { CUDA_CHECK(cudart().cudaStreamSynchronize(stream_)); }

}  // namespace deepbench::cuda
