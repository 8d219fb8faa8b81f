// What tests of kernels over peer memory share on devices: ranks in one process, as streams of one
// device or of several.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "deepbench/fill.h"
#include "device.hpp"
#include "kernels/peer_control.h"
#include "libraries.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda_test {

// The numbers of devices to test: one, and all if there are several.
inline std::vector<int> device_counts() {
  const int all = cuda::cudart().cudaDeviceEnablePeerAccess ? cuda::device_count() : 1;
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

inline cuda::Stream& device_stream(int device) {
  cuda::Stream& home = cuda::Stream::of(device);
  home.make_current();
  return home;
}

inline void enable_peer_access(int devices) {
  for (int device = 0; device < devices; ++device)
    for (int peer = 0; peer < devices; ++peer) {
      device_stream(device);
      if (peer == device) continue;
      const auto status = cuda::cudart().cudaDeviceEnablePeerAccess(peer, 0);
      if (status == nvidia::cudaErrorPeerAccessAlreadyEnabled)
        cuda::cudart().cudaGetLastError();
      else
        CUDA_CHECK_STATUS(cudaDeviceEnablePeerAccess, status);
    }
}

// The stream of a rank, and the memory in which it meets the others.
struct RankOnDevice {
  explicit RankOnDevice(int device)
      : home(device_stream(device)),
        control(sizeof(PeerControl), cuda::AllocationKind::kDedicated),
        host_missing(sizeof(uint32_t), false) {
    CUDA_CHECK(cuda::cudart().cudaStreamCreateWithFlags(&stream, nvidia::cudaStreamNonBlocking));
    fill_buffer(control, 0);
    std::memset(host_missing.data(), 0, host_missing.bytes());
  }
  ~RankOnDevice() { cuda::cudart().cudaStreamDestroy(stream); }
  RankOnDevice(const RankOnDevice&) = delete;
  RankOnDevice& operator=(const RankOnDevice&) = delete;

  void fill_buffer(const cuda::Buffer& buffer, int value) {
    home.make_current();
    CUDA_CHECK(cuda::cudart().cudaMemsetAsync(buffer.data(), value, buffer.bytes(), home.get()));
    home.synchronize();
  }
  void copy(void* to, const void* from, uint64_t bytes) {
    home.make_current();
    CUDA_CHECK(
        cuda::cudart().cudaMemcpyAsync(to, from, bytes, nvidia::cudaMemcpyDefault, home.get()));
    home.synchronize();
  }
  void wait() { CUDA_CHECK(cuda::cudart().cudaStreamSynchronize(stream)); }
  uint32_t reported_missing_rank() const {
    uint32_t missing = 0;
    std::memcpy(&missing, host_missing.data(), sizeof missing);
    return missing;
  }

  cuda::Stream& home;
  cuda::Buffer control;
  cuda::HostBuffer host_missing;
  nvidia::cudaStream_t stream = nullptr;
};

// Number i of an array of float, half or bfloat16.
inline void store_number(std::vector<uint16_t>& words, deepbench_type type, uint64_t i,
                         float number) {
  if (type == DEEPBENCH_F32)
    std::memcpy(words.data() + 2 * i, &number, sizeof number);
  else
    words[i] = type == DEEPBENCH_F16 ? deepbench_to_half(number) : deepbench_to_bfloat16(number);
}
inline float number_at(const std::vector<uint16_t>& words, deepbench_type type, uint64_t i) {
  if (type != DEEPBENCH_F32)
    return type == DEEPBENCH_F16 ? deepbench_from_half(words[i])
                                 : deepbench_from_bfloat16(words[i]);
  float number = 0;
  std::memcpy(&number, words.data() + 2 * i, sizeof number);
  return number;
}

}  // namespace deepbench::cuda_test
