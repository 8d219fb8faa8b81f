// Descriptions to the real cuDNN without a device. DEEPBENCH_TEST_CUDA_LIBRARIES names the folders
// of the libraries, and so does DEEPBENCH_CUDA_LIBRARY_PATH for cudnn().
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../forked_process.hpp"
#include "../paths.hpp"
#include "cudnn/descriptor.hpp"

namespace deepbench::cuda_test {

// Runs `body` in a separate process with a driver or a stub of one. Returns true if `body` returned
// true.
inline bool run_in_process_with_driver(const std::function<bool()>& body) {
  testing::ForkedProcess child([&] {
    const std::string stub = std::string(testing::fake_cuda_folder()) + "/driver/libcuda.so.1";
    const bool is_loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) ||
                           dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!is_loaded) std::fprintf(stderr, "%s\n", dlerror());
    return is_loaded && body() ? 0 : 1;
  });
  return child.end() == 0;
}

// Like run_in_process_with_driver(), always with the stub, which counts what it loads. Not for a
// process that has loaded a driver.
inline bool run_in_process_with_stub(const std::function<bool()>& body) {
  testing::ForkedProcess child([&] {
    const std::string stub = std::string(testing::fake_cuda_folder()) + "/driver/libcuda.so.1";
    if (!dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL)) std::fprintf(stderr, "%s\n", dlerror());
    return body() ? 0 : 1;
  });
  return child.end() == 0;
}

// The pieces of code that the stub of a driver has loaded: none while no engine is built.
inline int loaded_libraries() {
  void* const function = dlsym(RTLD_DEFAULT, "deepbench_loaded_libraries");
  return function ? reinterpret_cast<int (*)()>(function)() : -1;
}

inline bool has_libraries() {
  const char* folders = std::getenv("DEEPBENCH_TEST_CUDA_LIBRARIES");
  const bool is_set = folders && *folders;
  if (!is_set) MESSAGE("nothing tested: DEEPBENCH_TEST_CUDA_LIBRARIES is not set");
  return is_set;
}

// An H100, as cuDNN states it, so that engines can be asked for without one.
inline cuda::CudnnDescriptor hopper() {
  const std::string json =
      R"({"deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "deviceName": "NVIDIA H100",
          "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
          "regsPerBlock": 65536, "multiProcessorCount": 132, "smCountOrigin": 0, "warpSize": 32,
          "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
          "reservedSharedMemoryPerBlock": 1024, "oversizedSharedMemoryPerBlock": 0,
          "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
          "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
          "totalGlobalMem": 85000000000, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
          "memoryBusWidth": 5120, "l2CacheSize": 52428800})";
  cuda::CudnnDescriptor device(nvidia::CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  std::vector<char> text(json.begin(), json.end());
  text.push_back(0);
  device.set(nvidia::CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, text);
  device.finalize();
  return device;
}

// Whether an engine for an H100 recognizes the operations. Throws plugin::Error if the query fails.
inline bool has_engine_on_hopper(const std::vector<cuda::CudnnDescriptor>& operations) {
  cuda::CudnnDescriptor graph(nvidia::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(nvidia::CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  graph.finalize();
  cuda::CudnnDescriptor query(nvidia::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  query.set(nvidia::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  query.set(nvidia::CUDNN_ATTR_ENGINEHEUR_MODE, nvidia::CUDNN_HEUR_MODE_A);
  query.set(nvidia::CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, hopper());
  query.finalize();
  return !query
              .descriptors(nvidia::CUDNN_ATTR_ENGINEHEUR_RESULTS,
                           nvidia::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 1)
              .empty();
}

}  // namespace deepbench::cuda_test
