// The devices: how many there are, and what the core must know of each.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/plugin.hpp"
#include "nvidia/driver.hpp"

namespace deepbench::cuda {

struct DeviceFacts {
  std::string name, pci_bus_id, uuid;  // uuid: "" from drivers that do not tell
  int major = 0, minor = 0;            // compute capability
  int architecture() const { return 10 * major + minor; }
  int multiprocessors = 0;
  uint64_t l2_bytes = 0, memory_bytes = 0;
  uint64_t shared_bytes = 0;  // of one block, at most
  bool shares_host_memory = false;
  bool memory_pools = false;  // allocation in the order of a stream
};

// 0 without an NVIDIA driver or device: not an error. Throws plugin::Error where a device is there
// but cannot be used (no cudart, driver too old, no permission), with the cure.
int32_t device_count();

// Throws plugin::Error for an index that is no device. The driver numbers devices as the run time
// does: both follow CUDA_VISIBLE_DEVICES.
const DeviceFacts& device_facts(int device);
nvidia::CUdevice device_handle(int device);
uint64_t memory_available(int device);
void describe_device(int device, plugin::Sink& sink);

}  // namespace deepbench::cuda
