// Identifies the devices of a machine.
#include "ops/all_reduce/participants.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "device.hpp"

namespace deepbench::cuda {
namespace {

template <size_t kSize>
void copy_text(const std::string& text, char (&to)[kSize]) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

// An identifier that is equal in all containers of a machine: the kernel's boot id, or the host
// name if that is unavailable.
std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  if (!id.empty()) return id;
  char name[64] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

bool is_same_device(const RankDevice& a, const RankDevice& b) {
  return std::strncmp(a.machine, b.machine, sizeof a.machine) == 0 &&
         std::strncmp(a.device, b.device, sizeof a.device) == 0;
}

std::string count_text(int32_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

Participants process_participants(const plugin::Options& options) {
  if (plugin::ranks().size() > 1)
    plugin::unsupported(
        "this library sums over all devices in one process, but this process is one of " +
        std::to_string(plugin::ranks().size()) + " ranks; start it without ranks");
  if (options.devices.size() < 2)
    plugin::unsupported("a sum in one process needs at least two devices; use --devices 2");
  for (const int device : options.devices) device_facts(device);  // throws for an invalid device
  return {options.devices, 0, int(options.devices.size())};
}

RankDevice identify_rank_device(int device, const plugin::Ranks& ranks) {
  RankDevice rank_device;
  copy_text(machine_id(), rank_device.machine);
  copy_text(device_facts(device).pci_bus_id, rank_device.device);
  rank_device.visible_devices = device_count();
  rank_device.local_ranks = ranks.local_size();
  return rank_device;
}

std::string shared_device_reason(const std::vector<RankDevice>& rank_devices) {
  for (size_t later = 1; later < rank_devices.size(); ++later) {
    const auto end = rank_devices.begin() + std::ptrdiff_t(later);
    const auto first = std::find_if(rank_devices.begin(), end, [&](const RankDevice& rank_device) {
      return is_same_device(rank_device, rank_devices[later]);
    });
    if (first == end) continue;
    const RankDevice& rank_device = rank_devices[later];
    const std::string device(rank_device.device,
                             strnlen(rank_device.device, sizeof rank_device.device));
    const std::string both = "ranks " + std::to_string(first - rank_devices.begin()) + " and " +
                             std::to_string(later) + " share device " + device;
    if (rank_device.local_ranks > rank_device.visible_devices)
      return count_text(rank_device.local_ranks, "rank") + " on a machine with " +
             count_text(rank_device.visible_devices, "device") +
             ": each rank needs a separate device (" + both +
             "); --backend cpu sums in host memory";
    return both +
           ": each rank needs a separate device; without --device, every rank selects its own "
           "device";
  }
  return "";
}

void require_distinct_devices(const plugin::Ranks& ranks, int device) {
  const std::string reason =
      shared_device_reason(ranks.exchange(identify_rank_device(device, ranks)));
  if (!reason.empty()) plugin::unsupported(reason);
}

}  // namespace deepbench::cuda
