// Creates communicators, enqueues collectives, and aborts communicators.
#include "ops/collective/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deepbench/core/start_thread.hpp"
#include "deepbench/plugin.hpp"
#include "status_check.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda {
namespace {

constexpr std::chrono::milliseconds kRankPollInterval{20};
constexpr std::chrono::seconds kAbortTimeout{1};  // long enough if no graph exists

// The data that ranks exchange before they create a communicator.
struct Handshake {
  int32_t has_communicator = 0;  // from an earlier problem
  int32_t version = 0;
  nvidia::ncclUniqueId id = {};  // only the id of rank 0 is used
};

int version_of_nccl() {
  int version = 0;
  CUDA_CHECK(nccl().ncclGetVersion(&version));
  return version;
}

void require_one_version(const std::vector<Handshake>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].version != all[0].version)
      plugin::unsupported("rank " + std::to_string(rank) + " has NCCL " +
                          std::to_string(all[rank].version) + ", but rank 0 has " +
                          std::to_string(all[0].version) + "; all ranks need the same version");
}

struct InitResult {
  nvidia::ncclComm_t handle = nullptr;
  nvidia::ncclResult_t status = nvidia::ncclSuccess;
};

// NCCL waits within this call for all ranks, forever if one is gone. The call therefore runs on a
// thread that can be left behind.
InitResult init_communicator(const plugin::Ranks& ranks, const Stream& stream,
                             nvidia::ncclUniqueId id) {
  std::promise<InitResult> promise;
  std::future<InitResult> future = promise.get_future();
  const auto start = [id, &stream, size = ranks.size(), rank = ranks.rank()] {
    InitResult made;
    made.status = cudart().cudaSetDevice(stream.device()) != nvidia::cudaSuccess
                      ? nvidia::ncclUnhandledCudaError
                      : nccl().ncclCommInitRank(&made.handle, size, id, rank);
    return made;
  };
  auto join = [start, promise = std::move(promise)]() mutable { promise.set_value(start()); };
  start_thread("the thread that joins NCCL's ranks", std::move(join)).detach();
  while (future.wait_for(kRankPollInterval) != std::future_status::ready)
    if (ranks.must_abort())
      throw plugin::Error(DEEPBENCH_DEVICE_LOST,
                          "nccl: a rank exited or failed while the communicator was being created");
  return future.get();
}

// Aborting a communicator may wait for its device, on which a kernel may wait for a rank whose
// communicator is aborted later. NCCL 2.22 and newer abort several as a group; older versions abort
// them one by one.
void abort_all(const std::vector<nvidia::ncclComm_t>& handles) {
  if (handles.size() > 1) nccl().ncclGroupStart();
  for (nvidia::ncclComm_t handle : handles) nccl().ncclCommAbort(handle);  // NCCL frees it
  if (handles.size() > 1) nccl().ncclGroupEnd();
}

nvidia::ncclDataType_t nccl_type(deepbench_type type) {
  if (type == DEEPBENCH_F16) return nvidia::ncclFloat16;
  return type == DEEPBENCH_BF16 ? nvidia::ncclBfloat16 : nvidia::ncclFloat32;
}

}  // namespace

std::optional<nvidia::ncclUniqueId> agree_on_nccl_id(const plugin::Ranks& ranks,
                                                     bool has_communicator) {
  Handshake handshake;
  handshake.has_communicator = has_communicator;
  handshake.version = version_of_nccl();
  if (ranks.rank() == 0 && !has_communicator) CUDA_CHECK(nccl().ncclGetUniqueId(&handshake.id));
  const std::vector<Handshake> all = ranks.exchange(handshake);
  require_one_version(all);
  const auto has = [](const Handshake& one) { return one.has_communicator != 0; };
  if (std::all_of(all.begin(), all.end(), has)) return std::nullopt;
  if (std::any_of(all.begin(), all.end(), has))
    throw plugin::Error(DEEPBENCH_DEVICE_LOST, "some ranks have lost their NCCL communicator");
  return all[0].id;
}

const Communicator::List& Communicator::of(const plugin::Ranks& ranks, Stream& stream) {
  static auto* const made = new std::map<int, List>();
  List& communicators = (*made)[stream.device()];
  const std::optional<nvidia::ncclUniqueId> id = agree_on_nccl_id(ranks, are_usable(communicators));
  if (!id) return communicators;
  const InitResult begun = init_communicator(ranks, stream, *id);
  CUDA_CHECK_STATUS(ncclCommInitRank, begun.status);
  communicators.clear();
  communicators.emplace_back(new Communicator(stream, begun.handle, ranks.rank(), ranks.size()));
  return communicators;
}

const Communicator::List& Communicator::of(const std::vector<int>& devices) {
  static auto* const made = new std::map<std::vector<int>, List>();
  List& communicators = (*made)[devices];
  if (are_usable(communicators)) return communicators;
  std::vector<nvidia::ncclComm_t> handles(devices.size());
  CUDA_CHECK(nccl().ncclCommInitAll(handles.data(), int(devices.size()), devices.data()));
  communicators.clear();
  for (size_t i = 0; i < devices.size(); ++i)
    communicators.emplace_back(
        new Communicator(Stream::of(devices[i]), handles[i], int(i), int(devices.size())));
  return communicators;
}

void Communicator::all_reduce(deepbench_type type, const void* from, void* to,
                              uint64_t count) const {
  CUDA_CHECK(nccl().ncclAllReduce(from, to, count, nccl_type(type), nvidia::ncclSum, handle_,
                                  stream_.get()));
}

void Communicator::enqueue(const Collective& collective, const void* from, void* to) const {
  const nvidia::ncclDataType_t type = nccl_type(collective.precision.c);
  const uint64_t count = collective.count(ranks_);
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      return all_reduce(collective.precision.c, from, to, count);
    case CollectiveKind::kAllGather:
      CUDA_CHECK(nccl().ncclAllGather(from, to, count, type, handle_, stream_.get()));
      return;
    case CollectiveKind::kReduceScatter:
      CUDA_CHECK(
          nccl().ncclReduceScatter(from, to, count, type, nvidia::ncclSum, handle_, stream_.get()));
      return;
    case CollectiveKind::kAllToAll:
      return exchange_blocks(from, to, count, uint64_t(size_of(collective.precision.c)), type);
    case CollectiveKind::kBroadcast:
      CUDA_CHECK(nccl().ncclBroadcast(from, to, count, type, Collective::root(ranks_), handle_,
                                      stream_.get()));
      return;
    case CollectiveKind::kSendRecv:
      return in_nccl_group([&] {
        CUDA_CHECK(
            nccl().ncclSend(from, count, type, (rank_ + 1) % ranks_, handle_, stream_.get()));
        CUDA_CHECK(nccl().ncclRecv(to, count, type, (rank_ + ranks_ - 1) % ranks_, handle_,
                                   stream_.get()));
      });
  }
}

void Communicator::exchange_blocks(const void* from, void* to, uint64_t count,
                                   uint64_t element_bytes, nvidia::ncclDataType_t type) const {
  if (nccl().ncclAlltoAll) {
    CUDA_CHECK(nccl().ncclAlltoAll(from, to, count, type, handle_, stream_.get()));
    return;
  }
  in_nccl_group([&] {
    for (int peer = 0; peer < ranks_; ++peer) {
      const uint64_t offset = uint64_t(peer) * count * element_bytes;
      CUDA_CHECK(nccl().ncclSend(static_cast<const std::byte*>(from) + offset, count, type, peer,
                                 handle_, stream_.get()));
      CUDA_CHECK(nccl().ncclRecv(static_cast<std::byte*>(to) + offset, count, type, peer, handle_,
                                 stream_.get()));
    }
  });
}

const char* nccl_function(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "ncclAllReduce";
    case CollectiveKind::kAllGather:
      return "ncclAllGather";
    case CollectiveKind::kReduceScatter:
      return "ncclReduceScatter";
    case CollectiveKind::kAllToAll:
      return nccl().ncclAlltoAll ? "ncclAlltoAll" : "ncclSend_ncclRecv";
    case CollectiveKind::kBroadcast:
      return "ncclBroadcast";
    case CollectiveKind::kSendRecv:
      return "ncclSend_ncclRecv";
  }
  return "";
}

void Communicator::check_errors(const List& all) {
  for (const auto& one : all) {
    const std::string failure = one->failure();
    if (failure.empty()) continue;
    abandon(all);
    throw plugin::Error(DEEPBENCH_DEVICE_LOST, "nccl: " + failure);
  }
}

std::string Communicator::failure() const {
  if (!handle_) return "the communicator was aborted";
  if (plugin::ranks().must_abort()) return "a rank exited or failed, so the call was aborted";
  nvidia::ncclResult_t error = nvidia::ncclSuccess;
  CUDA_CHECK(nccl().ncclCommGetAsyncError(handle_, &error));
  if (error == nvidia::ncclSuccess || error == nvidia::ncclInProgress) return "";
  const std::string reason = nccl().ncclGetErrorString(error);
  if (!nccl().ncclGetLastError) return reason;
  const std::string_view last = nccl().ncclGetLastError(handle_);
  return last.empty() ? reason : reason + ": " + std::string(last.substr(0, last.find('\n')));
}

// ncclCommAbort ends running kernels at once, but waits for the destruction of all graphs that
// contain sums of these communicators, which the caller owns. It therefore runs on a thread that
// can be left behind. Where no thread can be started, the communicators are left behind: whoever
// waits for their sums gives up after kAbortTimeout.
void Communicator::abandon(const List& all) {
  if (!are_usable(all)) return;
  std::vector<nvidia::ncclComm_t> handles;
  for (const auto& one : all) handles.push_back(std::exchange(one->handle_, nullptr));
  std::promise<void> promise;
  const std::future<void> ended = promise.get_future();
  auto abort = [handles, promise = std::move(promise)]() mutable {
    abort_all(handles);
    promise.set_value();
  };
  try {
    start_thread("the thread that aborts NCCL's sums", std::move(abort)).detach();
  } catch (const std::runtime_error&) {
    return;
  }
  ended.wait_for(kAbortTimeout);
}

PendingSumsGuard::~PendingSumsGuard() {
  if (wait([this] { Communicator::check_errors(all_); })) return;
  // The sums are aborted or the device is lost: running kernels end soon or never.
  const auto end = std::chrono::steady_clock::now() + kAbortTimeout;
  wait([&] {
    if (std::chrono::steady_clock::now() > end)
      throw plugin::Error(DEEPBENCH_DEVICE_LOST, "nccl: aborted sums are still running");
  });
}

// Returns whether all sums have ended. The next call reports errors.
bool PendingSumsGuard::wait(const std::function<void()>& look) const {
  try {
    for (const auto& one : all_) poll_until_done(one->stream_, look);
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace deepbench::cuda
