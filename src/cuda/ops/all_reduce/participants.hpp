// The participants of an all_reduce and their devices: the ranks of a group with one device each,
// or one process with several devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"

namespace deepbench::cuda {

// The ranks that a kernel of this process represents.
struct Participants {
  // Devices of these ranks in their order; the first is the options' device.
  std::vector<int> devices;
  int first_rank = 0;  // rank number of the first device
  int ranks = 1;       // number of ranks in all processes

  int local() const { return int(devices.size()); }
};

// The participants for a library in which one process drives all devices that the options name.
// Throws unsupported if there is only one device or this process is a rank of a group.
Participants process_participants(const plugin::Options& options);

// The device of one rank, as other ranks can identify it.
struct RankDevice {
  char machine[64] = "";        // identifies the machine and its boot
  char device[32] = "";         // PCI bus address
  int32_t visible_devices = 0;  // devices that the rank's process sees
  int32_t local_ranks = 0;      // ranks on this machine
};
RankDevice identify_rank_device(int device, const plugin::Ranks& ranks);

// The reason why these ranks cannot each have a separate device, or an empty string.
std::string shared_device_reason(const std::vector<RankDevice>& rank_devices);

// All ranks must call it, in prepare. Throws unsupported on all ranks if two of them share a
// device.
void require_distinct_devices(const plugin::Ranks& ranks, int device);

}  // namespace deepbench::cuda
