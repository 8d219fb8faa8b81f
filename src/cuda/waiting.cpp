// Asking the stream again and again: awake at first, since most calls are short.
#include "waiting.hpp"

#include <unistd.h>

#include <cstdint>

#include "check.hpp"

namespace deepbench::cuda {
namespace {

// Asking takes a microsecond or so.
constexpr uint64_t kAsksBetweenLooks = 256;
constexpr uint64_t kAsksAwake = 20000;  // then with pauses: the call is long
constexpr useconds_t kPauseUs = 20;

}  // namespace

void wait_for(const Stream& stream, const std::function<void()>& look) {
  const nvidia::Cudart& cuda = cudart();
  for (uint64_t asks = 0;; ++asks) {
    const nvidia::cudaError_t status = cuda.cudaStreamQuery(stream.get());
    if (status == nvidia::cudaSuccess) return;
    if (status != nvidia::cudaErrorNotReady) CUDA_CHECK_STATUS(cudaStreamQuery, status);
    if (asks % kAsksBetweenLooks == 0) look();
    if (asks > kAsksAwake) usleep(kPauseUs);
  }
}

}  // namespace deepbench::cuda
