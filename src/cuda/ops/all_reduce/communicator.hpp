// NCCL's communicator: this rank, on its device, among the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/fill.h"
#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class Communicator {
 public:
  using List = std::vector<std::unique_ptr<Communicator>>;  // of this process

  // Of all the group's ranks, this one on the stream's device. For prepare, by all ranks alike;
  // made once, and kept as long as the process: nobody then waits for anybody at the end.
  static const List& of(const plugin::Ranks& ranks, Stream& stream);
  // Of this process alone, one for each of the devices. Both are made anew once they are given up.
  static const List& of(const std::vector<int>& devices);

  // Gives one sum to the stream.
  void all_reduce(deepbench_type type, const void* from, void* to, uint64_t count) const;
  // Throws device_lost, with NCCL's own words, where one of them cannot go on, or where a rank is
  // gone. Whatever still runs of all of them is ended: kernels would wait for one another for ever.
  static void check_errors(const List& all);

 private:
  Communicator(Stream& stream, nvidia::ncclComm_t handle) : stream_(stream), handle_(handle) {}
  static bool are_usable(const List& all) { return !all.empty() && all.front()->handle_; }
  static void abandon(const List& all);
  std::string failure() const;  // empty: none

  friend class PendingSumsGuard;
  Stream& stream_;
  nvidia::ncclComm_t handle_;  // nullptr: given up
};

// Where a call is left by an error, sums that it has begun may go on. This waits for their end, so
// that what they read and write can be let go; not for ever, once they are given up.
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

// The id of a communicator that the ranks are to make; nothing where all of them have one. Throws
// where they cannot have one together.
std::optional<nvidia::ncclUniqueId> agree_on_id(const plugin::Ranks& ranks, bool has_communicator);

}  // namespace deepbench::cuda
