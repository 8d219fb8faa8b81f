// The number of devices, and the facts about each that the core needs.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/plugin.hpp"
#include "nvidia/driver.hpp"

namespace deepbench::cuda {

struct DeviceFacts {
  std::string name, pci_bus_id, uuid;  // uuid: "" if the driver does not report it
  int major = 0, minor = 0;            // compute capability
  int architecture() const { return 10 * major + minor; }
  int multiprocessors = 0;
  uint64_t l2_bytes = 0, memory_bytes = 0;
  uint64_t shared_bytes = 0;    // maximum for one block
  uint64_t register_bytes = 0;  // registers of a multiprocessor
  bool shares_host_memory = false;
  // Supports kernels whose blocks are all resident at the same time.
  bool cooperative_launch = false;
  bool memory_pools = false;  // supports allocation in the order of a stream
};

// 0 without an NVIDIA driver or device, which is not an error. Throws plugin::Error with the remedy
// if a device exists but is not usable (no cudart, driver too old, no permission).
int32_t device_count();

// Throws plugin::Error for an index without a device. The driver and the runtime number devices in
// the same way: both follow CUDA_VISIBLE_DEVICES.
const DeviceFacts& device_facts(int device);
nvidia::CUdevice device_handle(int device);
uint64_t memory_available(int device);
void describe_device(int device, plugin::Sink& sink);

}  // namespace deepbench::cuda
