// Reads facts about a device from NVML: clocks, power, temperature, throttling, settings. Measuring
// needs none of them: if NVML is absent or refuses, the facts are missing.
#pragma once

#include <cstdint>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// Emits power_w, temperature_c, clock_mhz, memory_clock_mhz, throttle.
void observe(int device, plugin::Sink& sink);

// The energy since the driver was loaded. Reading it takes milliseconds. Throws plugin::Error if
// the device has no counter.
double energy_joules(int device);

// The current flags of deepbench_batch.flags; 0 if NVML cannot be queried.
uint32_t throttle_flags(int device);

// Emits the settings that belong to the context of a result: driver, limits, ECC, MIG, persistence.
void describe_sensors(int device, plugin::Sink& sink);

}  // namespace deepbench::cuda
