// The functions of NVML (the driver's libnvidia-ml.so.1) that deepbench calls: sensors and settings
// of a device.
#pragma once

#include "function_table.hpp"

namespace deepbench::nvidia {

using nvmlDevice_t = struct nvmlDevice_st*;

enum nvmlReturn_t : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_RESET_REQUIRED = 16,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_UNKNOWN = 999,
};

enum nvmlEnableState_t : int { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
enum nvmlTemperatureSensors_t : int { NVML_TEMPERATURE_GPU = 0 };
enum nvmlClockType_t : int {
  NVML_CLOCK_GRAPHICS = 0,
  NVML_CLOCK_SM = 1,
  NVML_CLOCK_MEM = 2,
};

enum nvmlMemoryErrorType_t : int {
  NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
  NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
};
enum nvmlEccCounterType_t : int { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };

enum nvmlPerfPolicyType_t : int {
  NVML_PERF_POLICY_POWER = 0,
  NVML_PERF_POLICY_THERMAL = 1,
};
struct nvmlViolationTime_t {
  unsigned long long referenceTime;  // in microseconds
  unsigned long long violationTime;  // in nanoseconds
};

struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;  // in bytes
  unsigned gpuInstanceId, computeInstanceId;
};

// The reasons for the current clocks. The older ones have ThrottleReason in their names.
enum : unsigned long long {
  nvmlClocksEventReasonGpuIdle = 0x1,
  nvmlClocksEventReasonApplicationsClocksSetting = 0x2,
  nvmlClocksEventReasonSwPowerCap = 0x4,
  nvmlClocksThrottleReasonHwSlowdown = 0x8,
  nvmlClocksEventReasonSyncBoost = 0x10,
  nvmlClocksEventReasonSwThermalSlowdown = 0x20,
  nvmlClocksThrottleReasonHwThermalSlowdown = 0x40,
  nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80,
  nvmlClocksEventReasonDisplayClockSetting = 0x100,
};

#define DEEPBENCH_NVIDIA_NVML_REQUIRED(X)                                                         \
  X(nvmlReturn_t, nvmlInit_v2, ())                                                                \
  X(nvmlReturn_t, nvmlShutdown, ())                                                               \
  X(const char*, nvmlErrorString, (nvmlReturn_t result))                                          \
  X(nvmlReturn_t, nvmlSystemGetDriverVersion, (char* version, unsigned length))                   \
  X(nvmlReturn_t, nvmlDeviceGetCount_v2, (unsigned* count))                                       \
  X(nvmlReturn_t, nvmlDeviceGetHandleByPciBusId_v2, (const char* id, nvmlDevice_t* device))       \
  X(nvmlReturn_t, nvmlDeviceGetName, (nvmlDevice_t device, char* name, unsigned length))          \
  X(nvmlReturn_t, nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned* milliwatts))           \
  X(nvmlReturn_t, nvmlDeviceGetTemperature,                                                       \
    (nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned* celsius))                    \
  X(nvmlReturn_t, nvmlDeviceGetClockInfo,                                                         \
    (nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz))                                   \
  X(nvmlReturn_t, nvmlDeviceGetMaxClockInfo,                                                      \
    (nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz))                                   \
  X(nvmlReturn_t, nvmlDeviceGetPowerManagementLimit, (nvmlDevice_t device, unsigned* milliwatts)) \
  X(nvmlReturn_t, nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned* milliwatts))   \
  X(nvmlReturn_t, nvmlDeviceGetEccMode,                                                           \
    (nvmlDevice_t device, nvmlEnableState_t * current, nvmlEnableState_t * pending))              \
  X(nvmlReturn_t, nvmlDeviceGetPersistenceMode, (nvmlDevice_t device, nvmlEnableState_t * mode))

// The first two are the new and the old name of the same query; drivers before 535 only export the
// old name. Those of CUDA 14 will not have the violation status.
#define DEEPBENCH_NVIDIA_NVML_OPTIONAL(X)                                            \
  X(nvmlReturn_t, nvmlDeviceGetCurrentClocksEventReasons,                            \
    (nvmlDevice_t device, unsigned long long* reasons))                              \
  X(nvmlReturn_t, nvmlDeviceGetCurrentClocksThrottleReasons,                         \
    (nvmlDevice_t device, unsigned long long* reasons))                              \
  X(nvmlReturn_t, nvmlDeviceGetTotalEnergyConsumption,                               \
    (nvmlDevice_t device, unsigned long long* millijoules))                          \
  X(nvmlReturn_t, nvmlDeviceGetTotalEccErrors,                                       \
    (nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter, \
     unsigned long long* count))                                                     \
  X(nvmlReturn_t, nvmlDeviceGetViolationStatus,                                      \
    (nvmlDevice_t device, nvmlPerfPolicyType_t policy, nvmlViolationTime_t * time))  \
  X(nvmlReturn_t, nvmlDeviceGetMigMode,                                              \
    (nvmlDevice_t device, unsigned* current, unsigned* pending))                     \
  X(nvmlReturn_t, nvmlDeviceGetComputeRunningProcesses_v3,                           \
    (nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos))

DEEPBENCH_NVIDIA_TABLE(Nvml, DEEPBENCH_NVIDIA_NVML_REQUIRED, DEEPBENCH_NVIDIA_NVML_OPTIONAL);

}  // namespace deepbench::nvidia
