// Reads the facts about devices.
#include "device.hpp"

#include <cstdio>
#include <string>

#include "deepbench/backend/memo_cache.hpp"
#include "device_detection.hpp"
#include "memory_pools.hpp"
#include "sensors.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

using nvidia::cudaDeviceAttr;

constexpr double kEventResolutionNs = 500;  // documented for cudaEventElapsedTime
// Two events in a graph are 2 to 3 us farther apart than the calls between them take (measured on
// an H200), which is half a percent of such a span.
constexpr double kMinSpanNs = 500e3;
// The pool may keep this fraction of the device's memory idle.
constexpr uint64_t kIdlePoolDivisor = 4;

int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  CUDA_CHECK(cudart().cudaDeviceGetAttribute(&value, which, device));
  return value;
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The UUID in the format of nvidia-smi.
std::string uuid_of(int device) {
  nvidia::CUuuid uuid = {};
  const auto ask = driver().cuDeviceGetUuid_v2;
  if (!ask || ask(&uuid, device_handle(device)) != nvidia::CUDA_SUCCESS) return "";
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    snprintf(hex, sizeof hex, "%02x", unsigned(static_cast<unsigned char>(uuid.bytes[i])));
    text += hex;
  }
  return text;
}

DeviceFacts read_facts(int device) {
  DeviceFacts facts;
  facts.major = device_attribute(nvidia::cudaDevAttrComputeCapabilityMajor, device);
  facts.minor = device_attribute(nvidia::cudaDevAttrComputeCapabilityMinor, device);
  facts.multiprocessors = device_attribute(nvidia::cudaDevAttrMultiProcessorCount, device);
  facts.l2_bytes = uint64_t(device_attribute(nvidia::cudaDevAttrL2CacheSize, device));
  facts.shared_bytes =
      uint64_t(device_attribute(nvidia::cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  facts.register_bytes =
      4 * uint64_t(device_attribute(nvidia::cudaDevAttrMaxRegistersPerMultiprocessor, device));
  facts.shares_host_memory = device_attribute(nvidia::cudaDevAttrIntegrated, device) != 0;
  facts.cooperative_launch = device_attribute(nvidia::cudaDevAttrCooperativeLaunch, device) != 0;
  facts.memory_pools = device_attribute(nvidia::cudaDevAttrMemoryPoolsSupported, device) != 0;
  CUDA_CHECK(cudart().cudaSetDevice(device));
  uint64_t available = 0;
  CUDA_CHECK(cudart().cudaMemGetInfo(&available, &facts.memory_bytes));
  char name[256] = "";
  CUDA_CHECK(driver().cuDeviceGetName(name, int(sizeof name), device_handle(device)));
  facts.name = name;
  char bus[32] = "";
  CUDA_CHECK(cudart().cudaDeviceGetPCIBusId(bus, int(sizeof bus), device));
  facts.pci_bus_id = bus;
  facts.uuid = uuid_of(device);
  return facts;
}

}  // namespace

nvidia::CUdevice device_handle(int device) {
  nvidia::CUdevice handle = 0;
  CUDA_CHECK(driver().cuDeviceGet(&handle, device));
  return handle;
}

int32_t device_count() {
  static const int32_t count = count_devices(loader());
  return count;
}

const DeviceFacts& device_facts(int device) {
  static plugin::MemoCache<int, const DeviceFacts*> known;
  return *known.get(device, [&] {
    const int32_t count = device_count();
    if (device < 0 || device >= count)
      plugin::invalid("device " + std::to_string(device) + ": there " +
                      (count == 1 ? "is 1 device" : "are " + std::to_string(count) + " devices") +
                      ", counted from 0");
    return new DeviceFacts(read_facts(device));
  });
}

uint64_t memory_available(int device) {
  CUDA_CHECK(cudart().cudaSetDevice(device));
  // Memory that was freed in stream order is available only after the synchronization.
  Stream::of(device).synchronize();
  // The backend can use the idle memory of its pool, but libraries that allocate by themselves
  // cannot. The pool therefore keeps only a part of the memory. Trimming takes milliseconds,
  // which is too long for every row.
  const uint64_t idle = idle_pool_bytes(device);
  if (idle > device_facts(device).memory_bytes / kIdlePoolDivisor) trim_pool(device);
  uint64_t available = 0, total = 0;
  CUDA_CHECK(cudart().cudaMemGetInfo(&available, &total));
  return available + idle_pool_bytes(device);
}

void describe_device(int device, plugin::Sink& sink) {
  const DeviceFacts& facts = device_facts(device);
  sink.text("name", facts.name);
  sink.text("pci_bus_id", facts.pci_bus_id);
  if (!facts.uuid.empty()) sink.text("uuid", facts.uuid);
  sink.text("compute_capability", std::to_string(facts.major) + "." + std::to_string(facts.minor));
  sink.integer("multiprocessors", facts.multiprocessors);
  sink.integer("last_level_cache_bytes", int64_t(facts.l2_bytes));
  sink.integer("memory_bytes", int64_t(facts.memory_bytes));
  sink.integer("shares_host_memory", facts.shares_host_memory ? 1 : 0);
  sink.integer("memory_available_bytes", int64_t(memory_available(device)));
  sink.real("timer_resolution_ns", kEventResolutionNs);
  sink.real("min_span_ns", kMinSpanNs);
  int version = 0;
  CUDA_CHECK(driver().cuDriverGetVersion(&version));
  sink.text("driver_cuda", cuda_version(version));
  describe_sensors(device, sink);
}

}  // namespace deepbench::cuda
