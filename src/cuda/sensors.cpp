// Queries NVML.
#include "sensors.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/memo_cache.hpp"
#include "device.hpp"
#include "run_processes.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using nvidia::nvmlDevice_t;

// The device in NVML; nullptr if NVML is not usable. NVML numbers devices differently, so that the
// bus address identifies the device.
nvmlDevice_t find_device(int device) {
  if (!report<nvidia::Nvml>().usable()) return nullptr;
  static const bool ready = nvml().nvmlInit_v2() == nvidia::NVML_SUCCESS;
  const char* const bus = device_facts(device).pci_bus_id.c_str();
  nvmlDevice_t handle = nullptr;
  if (!ready || nvml().nvmlDeviceGetHandleByPciBusId_v2(bus, &handle) != nvidia::NVML_SUCCESS)
    return nullptr;
  return handle;
}

nvmlDevice_t handle_of(int device) {
  static plugin::MemoCache<int, nvmlDevice_t> known;
  return known.get(device, [&] { return find_device(device); });
}

bool succeeded(nvidia::nvmlReturn_t status) { return status == nvidia::NVML_SUCCESS; }

// The current reasons for a lowered clock; 0 if NVML cannot be queried.
unsigned long long slowdown_reasons(nvmlDevice_t handle) {
  unsigned long long reasons = 0;
  const nvidia::Nvml& library = nvml();
  const auto ask = library.nvmlDeviceGetCurrentClocksEventReasons
                       ? library.nvmlDeviceGetCurrentClocksEventReasons
                       : library.nvmlDeviceGetCurrentClocksThrottleReasons;
  return ask && succeeded(ask(handle, &reasons)) ? reasons : 0;
}

constexpr unsigned long long kThrottlingReasons =
    nvidia::nvmlClocksEventReasonSwThermalSlowdown | nvidia::nvmlClocksThrottleReasonHwSlowdown |
    nvidia::nvmlClocksThrottleReasonHwThermalSlowdown |
    nvidia::nvmlClocksThrottleReasonHwPowerBrakeSlowdown;

std::string reasons_text(unsigned long long reasons) {
  static const std::array<std::pair<unsigned long long, const char*>, 5> names = {{
      {nvidia::nvmlClocksEventReasonSwPowerCap, "software power cap"},
      {nvidia::nvmlClocksEventReasonSwThermalSlowdown, "software thermal slowdown"},
      {nvidia::nvmlClocksThrottleReasonHwSlowdown, "hardware slowdown"},
      {nvidia::nvmlClocksThrottleReasonHwThermalSlowdown, "hardware thermal slowdown"},
      {nvidia::nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "hardware power brake"},
  }};
  std::string text;
  for (const auto& [bit, name] : names)
    if (reasons & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// Reads the counter, which runs since the driver was loaded. Older devices and drivers have none.
bool read_energy(nvmlDevice_t handle, double* joules) {
  const auto ask = nvml().nvmlDeviceGetTotalEnergyConsumption;
  unsigned long long millijoules = 0;
  if (!ask || !succeeded(ask(handle, &millijoules))) return false;
  *joules = double(millijoules) / 1e3;
  return true;
}

void emit_clock(nvmlDevice_t handle, nvidia::nvmlClockType_t which, const char* name,
                plugin::Sink& sink) {
  unsigned int mhz = 0;
  if (succeeded(nvml().nvmlDeviceGetClockInfo(handle, which, &mhz))) sink.integer(name, mhz);
}

unsigned int max_clock(nvmlDevice_t handle, nvidia::nvmlClockType_t which) {
  unsigned int mhz = 0;
  return succeeded(nvml().nvmlDeviceGetMaxClockInfo(handle, which, &mhz)) ? mhz : 0;
}

// The facts of a device that stay the same while this process uses it. Every row describes its
// device, and NVML takes a tenth of a millisecond or more for each of these facts.
struct DeviceConstants {
  std::string driver;                                        // "": not reported
  unsigned int max_clock_mhz = 0, max_memory_clock_mhz = 0;  // 0: not reported
  bool has_energy = false;
  std::optional<bool> ecc, persistence, mig;
  std::optional<unsigned int> other_processes;
  // Totals since the driver was loaded, read when this process began.
  std::optional<unsigned long long> corrected_errors, uncorrected_errors, throttled_ns;
};

// The processes that have a context on the device. Further ones may begin between the two calls.
std::vector<nvidia::nvmlProcessInfo_t> processes_on(nvmlDevice_t handle) {
  constexpr unsigned kMore = 64;
  const auto ask = nvml().nvmlDeviceGetComputeRunningProcesses_v3;
  unsigned count = 0;
  if (!ask || ask(handle, &count, nullptr) != nvidia::NVML_ERROR_INSUFFICIENT_SIZE) return {};
  std::vector<nvidia::nvmlProcessInfo_t> found(count + kMore);
  count = unsigned(found.size());
  if (!succeeded(ask(handle, &count, found.data()))) return {};
  found.resize(std::min<size_t>(count, found.size()));
  return found;
}

// The number of other processes that have a context on the device when this process begins.
// Processes of the same run do not count, because they do not compute beside this one: the worker
// of the last visit may not have ended yet. Empty if NVML does not show even this process, as in
// some containers.
std::optional<unsigned int> count_other_processes(nvmlDevice_t handle) {
  const std::vector<nvidia::nvmlProcessInfo_t> all = processes_on(handle);
  if (all.empty()) return std::nullopt;
  const auto others = std::count_if(all.begin(), all.end(), [](const auto& one) {
    const auto process = pid_t(one.pid);
    return process != getpid() && !belongs_to_this_run(process);
  });
  // In a container, NVML may name processes by numbers that are not the container's.
  const bool shows_this = std::any_of(all.begin(), all.end(),
                                      [](const auto& one) { return pid_t(one.pid) == getpid(); });
  return unsigned(shows_this ? others : std::max<std::ptrdiff_t>(0, others - 1));
}

// The number of errors; empty on a device whose memory corrects no errors.
std::optional<unsigned long long> count_errors(nvmlDevice_t handle,
                                               nvidia::nvmlMemoryErrorType_t which) {
  const auto ask = nvml().nvmlDeviceGetTotalEccErrors;
  unsigned long long count = 0;
  if (!ask || !succeeded(ask(handle, which, nvidia::NVML_VOLATILE_ECC, &count)))
    return std::nullopt;
  return count;
}

std::optional<unsigned long long> read_throttled_ns(nvmlDevice_t handle) {
  const auto ask = nvml().nvmlDeviceGetViolationStatus;
  nvidia::nvmlViolationTime_t time = {};
  if (!ask || !succeeded(ask(handle, nvidia::NVML_PERF_POLICY_THERMAL, &time))) return std::nullopt;
  return time.violationTime;
}

DeviceConstants read_constants(nvmlDevice_t handle) {
  DeviceConstants constants;
  char version[96] = "";
  if (succeeded(nvml().nvmlSystemGetDriverVersion(version, unsigned(sizeof version))))
    constants.driver = version;
  constants.max_clock_mhz = max_clock(handle, nvidia::NVML_CLOCK_SM);
  constants.max_memory_clock_mhz = max_clock(handle, nvidia::NVML_CLOCK_MEM);
  double joules = 0;
  constants.has_energy = read_energy(handle, &joules);
  nvidia::nvmlEnableState_t now = {}, pending = {};
  if (succeeded(nvml().nvmlDeviceGetEccMode(handle, &now, &pending)))
    constants.ecc = now == nvidia::NVML_FEATURE_ENABLED;
  if (succeeded(nvml().nvmlDeviceGetPersistenceMode(handle, &now)))
    constants.persistence = now == nvidia::NVML_FEATURE_ENABLED;
  unsigned int mig = 0, mig_pending = 0;
  if (succeeded(nvml().nvmlDeviceGetMigMode(handle, &mig, &mig_pending))) constants.mig = mig != 0;
  constants.other_processes = count_other_processes(handle);
  constants.corrected_errors = count_errors(handle, nvidia::NVML_MEMORY_ERROR_TYPE_CORRECTED);
  constants.uncorrected_errors = count_errors(handle, nvidia::NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
  constants.throttled_ns = read_throttled_ns(handle);
  return constants;
}

DeviceConstants device_constants(int device, nvmlDevice_t handle) {
  static plugin::MemoCache<int, DeviceConstants> known;
  return known.get(device, [&] { return read_constants(handle); });
}

void describe_other_processes(unsigned int count, plugin::Sink& sink) {
  sink.integer("other_processes", count);
  if (count == 0) return;
  const std::string who =
      count == 1 ? "another process has" : std::to_string(count) + " other processes have";
  sink.text("warning.other_processes",
            who + " a context on this device: what it computes meanwhile is part of the times");
}

void describe_mode(const char* name, const std::optional<bool>& on, plugin::Sink& sink) {
  if (on) sink.text(name, *on ? "on" : "off");
}

void describe_count(const char* name, const std::optional<unsigned long long>& count,
                    plugin::Sink& sink) {
  if (count) sink.integer(name, int64_t(*count));
}

}  // namespace

void observe(int device, plugin::Sink& sink) {
  const nvmlDevice_t handle = handle_of(device);
  if (!handle) return;
  unsigned int value = 0;
  if (succeeded(nvml().nvmlDeviceGetPowerUsage(handle, &value))) sink.real("power_w", value / 1e3);
  if (succeeded(nvml().nvmlDeviceGetTemperature(handle, nvidia::NVML_TEMPERATURE_GPU, &value)))
    sink.integer("temperature_c", value);
  emit_clock(handle, nvidia::NVML_CLOCK_SM, "clock_mhz", sink);
  emit_clock(handle, nvidia::NVML_CLOCK_MEM, "memory_clock_mhz", sink);
  if (const std::string text = reasons_text(slowdown_reasons(handle)); !text.empty())
    sink.text("throttle", text);
}

double energy_joules(int device) {
  const nvmlDevice_t handle = handle_of(device);
  double joules = 0;
  if (!handle || !read_energy(handle, &joules))
    plugin::unsupported("NVML has no counter of this device's energy");
  return joules;
}

uint32_t throttle_flags(int device) {
  const nvmlDevice_t handle = handle_of(device);
  if (!handle) return 0;
  const unsigned long long reasons = slowdown_reasons(handle);
  uint32_t flags = 0;
  if (reasons & kThrottlingReasons) flags |= DEEPBENCH_BATCH_THROTTLED;
  if (reasons & nvidia::nvmlClocksEventReasonSwPowerCap) flags |= DEEPBENCH_BATCH_POWER_CAPPED;
  return flags;
}

void describe_sensors(int device, plugin::Sink& sink) {
  const nvmlDevice_t handle = handle_of(device);
  if (!handle) {
    const LibraryReport& library = report<nvidia::Nvml>();
    sink.text("note.sensors", library.usable() ? "NVML does not answer for this device"
                                               : "no sensors: " + library.reason);
    return;
  }
  const DeviceConstants constants = device_constants(device, handle);
  if (!constants.driver.empty()) sink.text("driver", constants.driver);
  unsigned int milliwatts = 0;
  if (succeeded(nvml().nvmlDeviceGetEnforcedPowerLimit(handle, &milliwatts)))
    sink.real("power_limit_w", milliwatts / 1e3);
  if (constants.max_clock_mhz) sink.integer("most_clock_mhz", constants.max_clock_mhz);
  if (constants.max_memory_clock_mhz)
    sink.integer("most_memory_clock_mhz", constants.max_memory_clock_mhz);
  if (constants.has_energy) sink.integer("energy", 1);
  describe_mode("ecc", constants.ecc, sink);
  describe_mode("persistence", constants.persistence, sink);
  describe_mode("mig", constants.mig, sink);
  describe_count("ecc_corrected_errors", constants.corrected_errors, sink);
  describe_count("ecc_uncorrected_errors", constants.uncorrected_errors, sink);
  describe_count("throttled_ns", constants.throttled_ns, sink);
  if (constants.other_processes) describe_other_processes(*constants.other_processes, sink);
  if (constants.mig.value_or(false))
    sink.text("warning.mig",
              "this device is a MIG slice, on which deepbench has not been tested: sensors are "
              "those of the whole device");
}

}  // namespace deepbench::cuda
