// NCCL's communicator: this rank, on its device, among the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/fill.h"
#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class Communicator {
 public:
  // Of all the group's ranks, this one on the stream's device. For prepare, by all ranks alike;
  // made once, and kept as long as the process: nobody then waits for anybody at the end.
  static Communicator& of(const plugin::Ranks& ranks, Stream& stream);

  // Gives one sum to the stream.
  void all_reduce(deepbench_type type, const void* from, void* to, uint64_t count) const;
  // For all that was given to the stream. Throws device_lost, with NCCL's own words, where it finds
  // that it cannot go on; whatever still runs is ended.
  void wait();

 private:
  explicit Communicator(Stream& stream) : stream_(stream) {}
  void look();

  Stream& stream_;
  nvidia::ncclComm_t handle_ = nullptr;
};

// The id of a communicator that the ranks are to make; nothing where all of them have one. Throws
// where they cannot have one together.
std::optional<nvidia::ncclUniqueId> agreed_id(const plugin::Ranks& ranks, bool has_one);

nvidia::ncclDataType_t nccl_type(deepbench_type type);

// What the user has set for NCCL: "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0"; empty if nothing.
std::string nccl_settings(const char* const* environment);

}  // namespace deepbench::cuda
