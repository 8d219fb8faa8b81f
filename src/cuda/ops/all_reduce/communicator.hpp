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
  using All = std::vector<std::unique_ptr<Communicator>>;

  // Of all the group's ranks, this one on the stream's device. For prepare, by all ranks alike;
  // made once, and kept as long as the process: nobody then waits for anybody at the end.
  static Communicator& of(const plugin::Ranks& ranks, Stream& stream);
  // Of this process alone, one for each of the devices.
  static const All& of(const std::vector<int>& devices);

  // Gives one sum to the stream.
  void all_reduce(deepbench_type type, const void* from, void* to, uint64_t count) const;
  // Throws device_lost, with NCCL's own words, where it cannot go on, or where a rank is gone.
  // Whatever still runs of it is ended: its kernels would wait for the others for ever.
  void look();

 private:
  explicit Communicator(Stream& stream) : stream_(stream) {}
  [[noreturn]] void give_up(const std::string& reason);

  Stream& stream_;
  nvidia::ncclComm_t handle_ = nullptr;
};

// For all that was given to the stream, looking now and then.
void wait_for(const Stream& stream, const std::function<void()>& look);

// The id of a communicator that the ranks are to make; nothing where all of them have one. Throws
// where they cannot have one together.
std::optional<nvidia::ncclUniqueId> agreed_id(const plugin::Ranks& ranks, bool has_one);

nvidia::ncclDataType_t nccl_type(deepbench_type type);

// What the user has set for NCCL: "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0"; empty if nothing.
std::string nccl_settings(const char* const* environment);

// library, algorithm, workspace_bytes, and a note of what is set.
void describe_nccl(const std::string& library, const std::string& algorithm, plugin::Sink& sink);

}  // namespace deepbench::cuda
