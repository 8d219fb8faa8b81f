// One stream for each device.
#include "stream.hpp"

#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "check.hpp"
#include "device.hpp"

namespace deepbench::cuda {

namespace {

// What was given back stays with the process: asking the driver anew takes up to a millisecond.
void keep_pool(int device) {
  nvidia::cudaMemPool_t pool = nullptr;
  CUDA_CHECK(cudart().cudaDeviceGetDefaultMemPool(&pool, device));
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  CUDA_CHECK(
      cudart().cudaMemPoolSetAttribute(pool, nvidia::cudaMemPoolAttrReleaseThreshold, &threshold));
}

}  // namespace

Stream& Stream::of(int device) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<Stream>> streams;
  device_facts(device);  // throws for an index that is no device
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Stream>& stream = streams[device];
  if (!stream) stream.reset(new Stream(device));
  stream->enter();
  return *stream;
}

Stream::Stream(int device) : device_(device) {
  enter();
  CUDA_CHECK(cudart().cudaStreamCreateWithFlags(&stream_, nvidia::cudaStreamNonBlocking));
  if (device_facts(device).memory_pools) keep_pool(device);
}

void Stream::enter() const { CUDA_CHECK(cudart().cudaSetDevice(device_)); }

void Stream::synchronize() const { CUDA_CHECK(cudart().cudaStreamSynchronize(stream_)); }

}  // namespace deepbench::cuda
