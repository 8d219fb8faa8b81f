// Whether this machine has devices, and what keeps them from being used.
#pragma once

#include <cstdint>
#include <string>

namespace deepbench::cuda {

class Loader;

// How many devices there are: 0 where there is none, or CUDA_VISIBLE_DEVICES hides all. Throws
// plugin::Error (unsupported), with the cure, where there are some that cannot be used: for want of
// a library or of permission, or for a driver that is too old; and whatever else the run time
// answers. `nodes` is the folder of devices' nodes.
int32_t count_devices(Loader& loader, const std::string& nodes = "/dev");

}  // namespace deepbench::cuda
