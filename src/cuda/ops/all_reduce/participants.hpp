// The devices of an all_reduce's participants: all devices of one process, or one of each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/participants.hpp"

namespace deepbench::cuda {

using plugin::Participants;

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
