// Making communicators, summing, and waiting with an eye on the other ranks.
#include "ops/all_reduce/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "check.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

// Looking at the stream takes a microsecond or so.
constexpr uint64_t kLooksBetweenErrors = 256;
constexpr uint64_t kLooksAwake = 20000;  // then with pauses: the call is long
constexpr useconds_t kPauseUs = 20;
constexpr std::chrono::milliseconds kLookAtRanks{20};

// What the ranks tell one another before a communicator is made.
struct Introduction {
  int32_t has_one = 0;  // of a problem before
  int32_t version = 0;
  nvidia::ncclUniqueId id = {};  // rank 0's counts
};

int version_of_nccl() {
  int version = 0;
  CUDA_CHECK(nccl().ncclGetVersion(&version));
  return version;
}

void require_one_version(const std::vector<Introduction>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].version != all[0].version)
      plugin::unsupported("rank " + std::to_string(rank) + " has NCCL " +
                          std::to_string(all[rank].version) + ", rank 0 has " +
                          std::to_string(all[0].version) + ": all need the same");
}

struct Started {
  nvidia::ncclComm_t handle = nullptr;
  nvidia::ncclResult_t status = nvidia::ncclSuccess;
};

// Within it NCCL waits for all ranks, for ever where one is gone: so that happens on a thread that
// may be left behind.
Started started(const plugin::Ranks& ranks, const Stream& stream, nvidia::ncclUniqueId id) {
  std::promise<Started> promise;
  std::future<Started> future = promise.get_future();
  const auto start = [id, &stream, size = ranks.size(), rank = ranks.rank()] {
    Started made;
    made.status = cudart().cudaSetDevice(stream.device()) != nvidia::cudaSuccess
                      ? nvidia::ncclUnhandledCudaError
                      : nccl().ncclCommInitRank(&made.handle, size, id, rank);
    return made;
  };
  std::thread([start, promise = std::move(promise)]() mutable {
    promise.set_value(start());
  }).detach();
  while (future.wait_for(kLookAtRanks) != std::future_status::ready)
    if (ranks.lost())
      throw plugin::Error(DEEPBENCH_DEVICE_LOST, "nccl: a rank is gone before all have met");
  return future.get();
}

}  // namespace

nvidia::ncclDataType_t nccl_type(deepbench_type type) {
  if (type == DEEPBENCH_F16) return nvidia::ncclFloat16;
  return type == DEEPBENCH_BF16 ? nvidia::ncclBfloat16 : nvidia::ncclFloat32;
}

std::optional<nvidia::ncclUniqueId> agreed_id(const plugin::Ranks& ranks, bool has_one) {
  Introduction own;
  own.has_one = has_one;
  own.version = version_of_nccl();
  if (ranks.rank() == 0 && !has_one) CUDA_CHECK(nccl().ncclGetUniqueId(&own.id));
  const std::vector<Introduction> all = ranks.exchange(own);
  require_one_version(all);
  const auto has = [](const Introduction& one) { return one.has_one != 0; };
  if (std::all_of(all.begin(), all.end(), has)) return std::nullopt;
  if (std::any_of(all.begin(), all.end(), has))
    throw plugin::Error(DEEPBENCH_DEVICE_LOST, "some ranks have lost their NCCL communicator");
  return all[0].id;
}

Communicator& Communicator::of(const plugin::Ranks& ranks, Stream& stream) {
  static auto* const made = new std::map<int, std::unique_ptr<Communicator>>();
  std::unique_ptr<Communicator>& mine = (*made)[stream.device()];
  const std::optional<nvidia::ncclUniqueId> id = agreed_id(ranks, mine && mine->handle_);
  if (!id) return *mine;
  std::unique_ptr<Communicator> one(new Communicator(stream));
  const Started begun = started(ranks, stream, *id);
  CUDA_CHECK_STATUS(ncclCommInitRank, begun.status);
  one->handle_ = begun.handle;
  mine = std::move(one);
  return *mine;
}

const Communicator::All& Communicator::of(const std::vector<int>& devices) {
  static auto* const made = new std::map<std::vector<int>, All>();
  All& mine = (*made)[devices];
  if (!mine.empty()) return mine;
  std::vector<nvidia::ncclComm_t> handles(devices.size());
  CUDA_CHECK(nccl().ncclCommInitAll(handles.data(), int(devices.size()), devices.data()));
  for (size_t i = 0; i < devices.size(); ++i) {
    mine.emplace_back(new Communicator(Stream::of(devices[i])));
    mine.back()->handle_ = handles[i];
  }
  return mine;
}

void Communicator::all_reduce(deepbench_type type, const void* from, void* to,
                              uint64_t count) const {
  CUDA_CHECK(nccl().ncclAllReduce(from, to, count, nccl_type(type), nvidia::ncclSum, handle_,
                                  stream_.get()));
}

void Communicator::look() {
  if (plugin::ranks().lost()) give_up("a rank is gone, and the sum was given up");
  nvidia::ncclResult_t error = nvidia::ncclSuccess;
  CUDA_CHECK(nccl().ncclCommGetAsyncError(handle_, &error));
  if (error == nvidia::ncclSuccess || error == nvidia::ncclInProgress) return;
  std::string reason = nccl().ncclGetErrorString(error);
  if (nccl().ncclGetLastError) {
    const std::string_view last = nccl().ncclGetLastError(handle_);
    if (!last.empty()) reason += ": " + std::string(last.substr(0, last.find('\n')));
  }
  give_up(reason);
}

void Communicator::give_up(const std::string& reason) {
  nccl().ncclCommAbort(handle_);
  handle_ = nullptr;  // NCCL has freed it
  throw plugin::Error(DEEPBENCH_DEVICE_LOST, "nccl: " + reason);
}

void wait_for(const Stream& stream, const std::function<void()>& look) {
  const nvidia::Cudart& cuda = cudart();
  for (uint64_t looks = 0;; ++looks) {
    const nvidia::cudaError_t status = cuda.cudaStreamQuery(stream.get());
    if (status == nvidia::cudaSuccess) return;
    if (status != nvidia::cudaErrorNotReady) CUDA_CHECK_STATUS(cudaStreamQuery, status);
    if (looks % kLooksBetweenErrors == 0) look();
    if (looks > kLooksAwake) usleep(kPauseUs);
  }
}

std::string nccl_settings(const char* const* environment) {
  std::vector<std::string> all;
  for (const char* const* one = environment; one && *one; ++one)
    if (std::strncmp(*one, "NCCL_", 5) == 0 && std::strncmp(*one, "NCCL_DEBUG", 10) != 0)
      all.emplace_back(*one);
  std::sort(all.begin(), all.end());
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : " ") + one;
  return text;
}

void describe_nccl(const std::string& library, const std::string& algorithm, plugin::Sink& sink) {
  sink.text("library", library + " " + report<nvidia::Nccl>().version);
  sink.text("algorithm", algorithm);
  sink.integer("workspace_bytes", 0);
  const std::string settings = nccl_settings(environ);
  if (!settings.empty()) sink.text("note.nccl", settings);
}

}  // namespace deepbench::cuda
