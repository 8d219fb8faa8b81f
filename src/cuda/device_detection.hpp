// Determines whether this machine has usable devices, or the reason why they are not usable.
#pragma once

#include <cstdint>
#include <string>

namespace deepbench::cuda {

class Loader;

// Counts the devices: 0 if there is none or CUDA_VISIBLE_DEVICES hides all. Throws plugin::Error
// (unsupported) with the remedy if devices exist but are not usable because a library or a
// permission is missing or the driver is too old, and for every other error of the runtime. `nodes`
// is the folder of device nodes.
int32_t count_devices(Loader& loader, const std::string& nodes = "/dev");

}  // namespace deepbench::cuda
