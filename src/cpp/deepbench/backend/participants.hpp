// The ranks of a collective that a kernel represents, and their devices: one rank of a group, or
// all ranks if one process drives several devices. Header-only, for backends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

struct Participants {
  // Devices of these ranks in their order; the first is the options' device.
  std::vector<int> devices;
  int first_rank = 0;  // rank number of the first device
  int ranks = 1;       // number of ranks in all processes

  int local() const { return int(devices.size()); }
};

// Returns this process as the only rank that the kernel represents. Throws unsupported if the group
// has no other rank; `cure` is the option that starts ranks on this machine.
inline Participants participants_of_joined_group(std::string_view operation, const Options& options,
                                                 const std::string& cure) {
  require_ranks(operation, cure);
  return {{options.device}, ranks().rank(), ranks().size()};
}

// All devices that the options name, for a library in which one process drives all of them. Throws
// unsupported if there is only one device or this process is one of several ranks.
inline Participants participants_of_process(const Options& options, const Ranks& ranks) {
  if (ranks.size() > 1)
    unsupported("this library drives all devices in one process, but this process is one of " +
                std::to_string(ranks.size()) + " ranks; start it without ranks");
  if (options.devices.size() < 2)
    unsupported("a collective in one process needs at least two devices; use --devices 2");
  return {options.devices, 0, int(options.devices.size())};
}

}  // namespace deepbench::plugin
