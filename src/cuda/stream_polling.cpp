// Polls the stream, at first without sleeping because most calls are short.
#include "stream_polling.hpp"

#include <unistd.h>

#include <cstdint>

#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// One poll takes about a microsecond.
constexpr uint64_t kPollsPerCheck = 256;
constexpr uint64_t kPollsBeforeSleeping = 20000;  // longer calls are polled with pauses
constexpr useconds_t kPauseUs = 20;

}  // namespace

void poll_until_done(const Stream& stream, const std::function<void()>& check_peers) {
  const nvidia::Cudart& cuda = cudart();
  for (uint64_t polls = 0;; ++polls) {
    const nvidia::cudaError_t status = cuda.cudaStreamQuery(stream.get());
    if (status == nvidia::cudaSuccess) return;
    if (status != nvidia::cudaErrorNotReady) CUDA_CHECK_STATUS(cudaStreamQuery, status);
    if (polls % kPollsPerCheck == 0) check_peers();
    if (polls > kPollsBeforeSleeping) usleep(kPauseUs);
  }
}

}  // namespace deepbench::cuda
