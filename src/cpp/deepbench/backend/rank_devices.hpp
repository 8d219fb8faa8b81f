// Identifies the devices of all ranks, even those on other machines, and checks that each rank has
// a device of its own. Header-only, for backends.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// The device of one rank. It consists of plain bytes, because ranks exchange it.
struct RankDevice {
  char machine[64] = "";        // identifies the machine and its boot
  char device[32] = "";         // identifies the device on its machine, such as a PCI bus address
  int32_t visible_devices = 0;  // devices that the rank's process sees
  int32_t local_ranks = 0;      // ranks on this machine
};

namespace internal {

// An identifier that is equal in all containers of a machine: the kernel's boot id, or the host
// name if that is unavailable.
inline std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  if (!id.empty()) return id;
  char name[64] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

template <size_t kSize>
void copy_text(const std::string& text, char (&to)[kSize]) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

inline bool is_same_device(const RankDevice& a, const RankDevice& b) {
  return std::strncmp(a.machine, b.machine, sizeof a.machine) == 0 &&
         std::strncmp(a.device, b.device, sizeof a.device) == 0;
}

inline std::string count_text(int32_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace internal

// The device `device` of this rank, in a process that sees `visible_devices`.
inline RankDevice identify_rank_device(const std::string& device, int32_t visible_devices,
                                       const Ranks& ranks) {
  RankDevice rank_device;
  internal::copy_text(internal::machine_id(), rank_device.machine);
  internal::copy_text(device, rank_device.device);
  rank_device.visible_devices = visible_devices;
  rank_device.local_ranks = ranks.local_size();
  return rank_device;
}

// The reason why these ranks cannot each have a separate device, or an empty string.
inline std::string shared_device_reason(const std::vector<RankDevice>& rank_devices) {
  for (size_t later = 1; later < rank_devices.size(); ++later) {
    const RankDevice& rank_device = rank_devices[later];
    const auto end = rank_devices.begin() + std::ptrdiff_t(later);
    const auto first = std::find_if(rank_devices.begin(), end, [&](const RankDevice& earlier) {
      return internal::is_same_device(earlier, rank_device);
    });
    if (first == end) continue;
    const std::string device(rank_device.device,
                             strnlen(rank_device.device, sizeof rank_device.device));
    const std::string both = "ranks " + std::to_string(first - rank_devices.begin()) + " and " +
                             std::to_string(later) + " share device " + device;
    if (rank_device.local_ranks > rank_device.visible_devices)
      return internal::count_text(rank_device.local_ranks, "rank") + " on a machine with " +
             internal::count_text(rank_device.visible_devices, "device") +
             ": each rank needs a separate device (" + both +
             "); --backend cpu sums in host memory";
    return both +
           ": each rank needs a separate device; without --device, every rank selects its own "
           "device";
  }
  return "";
}

// All ranks must call it with their devices, in prepare. Throws unsupported on all ranks if two of
// them share a device.
inline void require_distinct_devices(const Ranks& ranks, const RankDevice& mine) {
  const std::string reason = shared_device_reason(ranks.exchange(mine));
  if (!reason.empty()) unsupported(reason);
}

}  // namespace deepbench::plugin
