// Queries the driver, then the runtime. If they see no device, examines the device nodes.
#include "device_detection.hpp"

#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "deepbench/plugin.hpp"
#include "loader.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr int kMaxDevices = 256;

bool exists(const std::string& node) { return access(node.c_str(), F_OK) == 0; }

// The first node that exists and that this user may not open; "" if there is none. A node that a
// container or a scheduler blocks for everybody (EPERM) does not count as a device of this process.
std::string inaccessible_device_node(const std::string& nodes) {
  std::vector<std::string> names = {"nvidiactl", "nvidia-uvm"};
  for (int i = 0; i < kMaxDevices; ++i) names.push_back("nvidia" + std::to_string(i));
  for (const std::string& name : names) {
    const std::string node = nodes + "/" + name;
    if (exists(node) && access(node.c_str(), R_OK | W_OK) != 0 && errno == EACCES) return node;
  }
  return "";
}

// The driver ignores the list from the first entry that names no device.
bool all_devices_are_hidden() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible && !std::isdigit(static_cast<unsigned char>(*visible)) && *visible != 'G' &&
         *visible != 'M';
}

[[noreturn]] void throw_driver_unusable(const nvidia::Driver& driver, nvidia::CUresult status,
                                        const std::string& node) {
  const char* text = nullptr;
  driver.cuGetErrorString(status, &text);
  std::string reason =
      "the NVIDIA driver cannot be used: " + std::string(text ? text : "unknown error");
  if (!node.empty())
    reason += "; no permission for " + node +
              ": ask for membership of the group that owns it, or start the container with its "
              "GPUs";
  plugin::unsupported(reason);
}

bool driver_has_devices(Loader& loader, const std::string& nodes) {
  // The node of the kernel module proves that there is a device, even if the libraries see none.
  const bool driver_is_loaded = exists(nodes + "/nvidiactl");
  const LoadedLibrary<nvidia::Driver>& driver = loader.get<nvidia::Driver>();
  if (!driver.report.usable()) {
    if (!driver_is_loaded) return false;
    plugin::unsupported("an NVIDIA device is there, but not its driver's library: " +
                        driver.report.reason);
  }
  const nvidia::CUresult status = driver.table.cuInit(0);
  if (status != nvidia::CUDA_SUCCESS) {
    if (!driver_is_loaded) return false;  // an image contains libcuda but runs without a GPU
    const std::string node = inaccessible_device_node(nodes);
    const bool has_no_device = status == nvidia::CUDA_ERROR_NO_DEVICE;
    if (has_no_device && (node.empty() || all_devices_are_hidden())) return false;
    throw_driver_unusable(driver.table, status, node);
  }
  int count = 0;
  CUDA_CHECK_STATUS(cuDeviceGetCount, driver.table.cuDeviceGetCount(&count));
  return count > 0;
}

[[noreturn]] void throw_driver_too_old(const LibraryReport& driver, const LibraryReport& runtime) {
  plugin::unsupported("the driver is for CUDA " + driver.version + " and older than " +
                      runtime.path + " (" + runtime.version + ") needs: update it");
}

}  // namespace

int32_t count_devices(Loader& loader, const std::string& nodes) {
  if (!driver_has_devices(loader, nodes)) return 0;
  const LoadedLibrary<nvidia::Cudart>& runtime = loader.get<nvidia::Cudart>();
  if (!runtime.report.usable())
    plugin::unsupported("an NVIDIA device is there, but cudart cannot be used: " +
                        runtime.report.reason);
  int count = 0;
  const nvidia::cudaError_t status = runtime.table.cudaGetDeviceCount(&count);
  if (status == nvidia::cudaErrorNoDevice) return 0;
  if (status == nvidia::cudaErrorInsufficientDriver)
    throw_driver_too_old(loader.get<nvidia::Driver>().report, runtime.report);
  CUDA_CHECK_STATUS(cudaGetDeviceCount, status);
  return count;
}

}  // namespace deepbench::cuda
