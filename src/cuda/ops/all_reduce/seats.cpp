// Telling devices of one machine apart.
#include "ops/all_reduce/seats.hpp"

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

// The same in every container of a machine; its name where the kernel does not tell.
std::string this_machine() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  if (!id.empty()) return id;
  char name[64] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

bool share(const Seat& a, const Seat& b) {
  return std::strncmp(a.machine, b.machine, sizeof a.machine) == 0 &&
         std::strncmp(a.device, b.device, sizeof a.device) == 0;
}

std::string counted(int32_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

Seats seats_of_process(const plugin::Options& options) {
  if (plugin::ranks().size() > 1)
    plugin::unsupported("one process sums over all devices here, and this is one of " +
                        std::to_string(plugin::ranks().size()) + " ranks: start it without");
  if (options.devices.size() < 2)
    plugin::unsupported("a sum in one process needs at least two devices: --devices 2");
  for (const int device : options.devices) device_facts(device);  // throws for one that is none
  return {options.devices, 0, int(options.devices.size())};
}

Seat seat_on(int device, const plugin::Ranks& ranks) {
  Seat seat;
  copy_text(this_machine(), seat.machine);
  copy_text(device_facts(device).pci_bus_id, seat.device);
  seat.visible = device_count();
  seat.neighbours = ranks.local_size();
  return seat;
}

std::string shared_device(const std::vector<Seat>& seats) {
  for (size_t later = 1; later < seats.size(); ++later) {
    const auto end = seats.begin() + std::ptrdiff_t(later);
    const auto first = std::find_if(seats.begin(), end,
                                    [&](const Seat& seat) { return share(seat, seats[later]); });
    if (first == end) continue;
    const Seat& seat = seats[later];
    const std::string device(seat.device, strnlen(seat.device, sizeof seat.device));
    const std::string both = "ranks " + std::to_string(first - seats.begin()) + " and " +
                             std::to_string(later) + " share device " + device;
    if (seat.neighbours > seat.visible)
      return counted(seat.neighbours, "rank") + " on a machine with " +
             counted(seat.visible, "device") + ": each needs one of its own (" + both +
             "); --backend cpu sums in host memory";
    return both + ": each rank needs one of its own; without --device every rank takes its own";
  }
  return "";
}

void require_own_devices(const plugin::Ranks& ranks, int device) {
  const std::string reason = shared_device(ranks.exchange(seat_on(device, ranks)));
  if (!reason.empty()) plugin::unsupported(reason);
}

}  // namespace deepbench::cuda
