// Descriptions of attention to the real cuDNN without a device, which are the first step of a plan.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "deepbench/plugin.hpp"
#include "ops/attention/cudnn_graph.hpp"
#include "real_cudnn.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::CudnnDescriptor;

Attention attention_of(const std::string& problem) {
  const testing::NamedValues named(problem);
  return attention_problem(plugin::Values(named.get()));
}

// Writes the library's reason, if it rejects the description.
bool cudnn_accepts(const std::string& problem) {
  try {
    const cuda::AttentionOperations operations(attention_of(problem));
    return !operations.descriptors().empty();
  } catch (const plugin::Error& error) {
    std::fprintf(stderr, "%s: %s\n", problem.c_str(), error.what());
    return false;
  }
}

// An H100, as cuDNN states it, so that engines can be asked for without one.
CudnnDescriptor hopper() {
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
  CudnnDescriptor device(nvidia::CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  std::vector<char> text(json.begin(), json.end());
  text.push_back(0);
  device.set(nvidia::CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, text);
  device.finalize();
  return device;
}

// Whether an engine for an H100 recognizes the operations.
bool has_engine_on_hopper(const std::string& problem) {
  try {
    const cuda::AttentionOperations operations(attention_of(problem));
    CudnnDescriptor graph(nvidia::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(nvidia::CUDNN_ATTR_OPERATIONGRAPH_OPS, operations.descriptors());
    graph.finalize();
    CudnnDescriptor query(nvidia::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    query.set(nvidia::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    query.set(nvidia::CUDNN_ATTR_ENGINEHEUR_MODE, nvidia::CUDNN_HEUR_MODE_A);
    query.set(nvidia::CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, hopper());
    query.finalize();
    return !query
                .descriptors(nvidia::CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             nvidia::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 1)
                .empty();
  } catch (const plugin::Error& error) {
    std::fprintf(stderr, "%s: %s\n", problem.c_str(), error.what());
    return false;
  }
}

TEST_CASE("cuDNN accepts the descriptions of attention under every mask") {
  if (!has_libraries()) return;
  for (const std::string precision : {" precision=half", " precision=bfloat16"})
    CHECK(run_in_process_with_driver([&] {
      return cudnn_accepts("batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none" + precision) &&
             cudnn_accepts(
                 "batch=2 heads=6 kv_heads=2 seq_q=1 seq_kv=512 dim=128 "
                 "mask=bottom_right" +
                 precision) &&
             cudnn_accepts("batch=1 heads=2 seq_q=64 seq_kv=64 dim=192 dim_v=128 mask=top_left" +
                           precision) &&
             cudnn_accepts(
                 "batch=1 heads=2 seq_q=64 seq_kv=96 dim=64 mask=bottom_right "
                 "window=20" +
                 precision);
    }));
}

TEST_CASE("cuDNN accepts the descriptions of attention's gradients under every mask") {
  if (!has_libraries()) return;
  for (const std::string precision : {" precision=half phase=bwd", " precision=bfloat16 phase=bwd"})
    CHECK(run_in_process_with_driver([&] {
      return cudnn_accepts("batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none" + precision) &&
             cudnn_accepts(
                 "batch=2 heads=6 kv_heads=2 seq_q=64 seq_kv=512 dim=128 mask=bottom_right" +
                 precision) &&
             cudnn_accepts("batch=1 heads=2 seq_q=64 seq_kv=64 dim=192 dim_v=128 mask=top_left" +
                           precision) &&
             cudnn_accepts("batch=1 heads=2 seq_q=64 seq_kv=96 dim=64 mask=bottom_right window=20" +
                           precision);
    }));
}

TEST_CASE("cuDNN recognizes attention and its gradients on an H100") {
  if (!has_libraries()) return;
  for (const std::string kind : {" precision=half", " precision=bfloat16 phase=bwd"})
    CHECK(run_in_process_with_driver([&] {
      return has_engine_on_hopper("batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none" + kind) &&
             has_engine_on_hopper(
                 "batch=2 heads=6 kv_heads=2 seq_q=64 seq_kv=192 dim=128 mask=bottom_right" +
                 kind) &&
             has_engine_on_hopper(
                 "batch=1 heads=2 seq_q=64 seq_kv=64 dim=192 dim_v=128 mask=top_left" + kind) &&
             has_engine_on_hopper(
                 "batch=1 heads=2 seq_q=100 seq_kv=300 dim=64 mask=bottom_right window=70" + kind);
    }));
  // Where there is no engine, the query says so.
  CHECK(run_in_process_with_driver([] {
    return !has_engine_on_hopper(
        "batch=1 heads=2 seq_q=64 seq_kv=64 dim=576 dim_v=512 mask=none precision=half phase=bwd");
  }));
}

TEST_CASE("cuDNN has an operation for each step of attention, the masks among them") {
  if (!has_libraries()) return;
  CHECK(run_in_process_with_driver([] {
    const auto operations = [](const std::string& mask) {
      return cuda::AttentionOperations(
                 attention_of("batch=1 heads=2 seq_q=64 seq_kv=64 dim=64 precision=half " + mask))
          .descriptors()
          .size();
    };
    return operations("mask=none") == 10 && operations("mask=top_left") == 14 &&
           operations("mask=bottom_right") == 16 &&
           operations("mask=bottom_right window=9") == 21 &&
           operations("mask=none phase=bwd") == 18 && operations("mask=top_left phase=bwd") == 22;
  }));
}

}  // namespace
}  // namespace deepbench::cuda_test
