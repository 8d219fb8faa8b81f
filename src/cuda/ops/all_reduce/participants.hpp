// Who takes part in a sum, and on which device: the ranks of a group on one device each, or one
// process on several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"

namespace deepbench::cuda {

// The ranks that a kernel of this process has.
struct Participants {
  std::vector<int> devices;  // of its ranks, in their order; the first is the options'
  int first_rank = 0;        // rank of the first
  int ranks = 1;             // of all processes

  int local() const { return int(devices.size()); }
};

// Of a library whose one process has all devices: those that the options name. Throws unsupported
// where they are not several, or this process is a rank itself.
Participants process_participants(const plugin::Options& options);

// One rank's device, as the others get to know it.
struct RankDevice {
  char machine[64] = "";        // which boot of which machine
  char device[32] = "";         // its address on the bus
  int32_t visible_devices = 0;  // devices that the rank's process sees
  int32_t local_ranks = 0;      // ranks on its machine
};
RankDevice identify_rank_device(int device, const plugin::Ranks& ranks);

// Why these ranks cannot each have a device of their own; empty if they do.
std::string shared_device_reason(const std::vector<RankDevice>& rank_devices);

// For prepare, by all ranks alike: throws unsupported, on all of them, where two share a device.
void require_distinct_devices(const plugin::Ranks& ranks, int device);

}  // namespace deepbench::cuda
