// NCCL's communicator, which connects this rank and its device with the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/ops/collective/collective.hpp"
#include "libraries.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class Communicator {
 public:
  using List = std::vector<std::unique_ptr<Communicator>>;  // all communicators of this process

  // Returns the communicator of all ranks of the group, with this rank on the stream's device. All
  // ranks must call it, in prepare. It is created once and lives until the process ends, so that no
  // rank waits for others at exit.
  static const List& of(const plugin::Ranks& ranks, Stream& stream);
  // Returns one communicator for each of the devices, all within this process. Both functions
  // create new communicators after an abort.
  static const List& of(const std::vector<int>& devices);

  // Enqueues the collective's call (nccl_function()) on the stream. If the collective has one
  // array, `from` and `to` are the same.
  void enqueue(const Collective& collective, const void* from, void* to) const;
  // Enqueues one sum on the stream.
  void all_reduce(deepbench_type type, const void* from, void* to, uint64_t count) const;
  // Throws device_lost with NCCL's reason if a communicator cannot continue or a rank is gone.
  // Aborts all sums that are still running, because their kernels would wait for one another
  // forever.
  static void check_errors(const List& all);

 private:
  Communicator(Stream& stream, nvidia::ncclComm_t handle, int rank, int ranks)
      : stream_(stream), handle_(handle), rank_(rank), ranks_(ranks) {}
  void exchange_blocks(const void* from, void* to, uint64_t count, uint64_t element_bytes,
                       nvidia::ncclDataType_t type) const;
  static bool are_usable(const List& all) { return !all.empty() && all.front()->handle_; }
  static void abandon(const List& all);
  std::string failure() const;  // empty if there is no failure

  friend class PendingSumsGuard;
  Stream& stream_;
  nvidia::ncclComm_t handle_;  // nullptr if aborted
  const int rank_, ranks_;
};

// The functions that compute the collective: "ncclAllReduce".
const char* nccl_function(CollectiveKind kind);

// Makes the calls of `body` as one group. Ends the group even after an error in one of the calls;
// otherwise later calls would join it.
template <class Body>
void in_nccl_group(Body body) {
  CUDA_CHECK(nccl().ncclGroupStart());
  try {
    body();
  } catch (...) {
    nccl().ncclGroupEnd();
    throw;
  }
  CUDA_CHECK(nccl().ncclGroupEnd());
}

// Sums may still be running when an error ends a call. The destructor waits for them, so that their
// operands can be freed, but only for a limited time if they are aborted.
class PendingSumsGuard {
 public:
  explicit PendingSumsGuard(const Communicator::List& all) : all_(all) {}
  ~PendingSumsGuard();
  PendingSumsGuard(const PendingSumsGuard&) = delete;
  PendingSumsGuard& operator=(const PendingSumsGuard&) = delete;

 private:
  bool wait(const std::function<void()>& look) const;

  const Communicator::List& all_;
};

// Returns the id of the communicator that the ranks must create, or nothing if all of them have
// one. Throws if they cannot have one together.
std::optional<nvidia::ncclUniqueId> agree_on_nccl_id(const plugin::Ranks& ranks,
                                                     bool has_communicator);

}  // namespace deepbench::cuda
