// What NVML knows of a device: clocks, power, temperature, why it is slowed down, how it is set.
// Nothing of it is needed to measure: where NVML is absent or refuses, there is less to say.
#pragma once

#include <cstdint>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// power_w, temperature_c, clock_mhz, memory_clock_mhz, throttle.
void observe(int device, plugin::Sink& sink);

// Since the driver was loaded; asking takes milliseconds. Throws plugin::Error where there is none.
double energy_joules(int device);

// deepbench_batch.flags as of now; 0 where it cannot be asked.
uint32_t throttle_flags(int device);

// Settings that belong in a result's context: driver, limits, ECC, MIG, persistence.
void describe_sensors(int device, plugin::Sink& sink);

}  // namespace deepbench::cuda
