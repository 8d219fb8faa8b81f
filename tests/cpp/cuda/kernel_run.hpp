// Requests and kernels of the CUDA backend through its plugin table.
#pragma once

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "../table_plan.hpp"
#include "deepbench/plugin.h"

extern "C" const deepbench_backend* deepbench_plugin();

namespace deepbench::cuda_test {

using testing::Emitted;
using testing::NamedValues;

constexpr uint64_t kSeed = 5;

inline const deepbench_backend& table() { return *deepbench_plugin(); }

// A problem with options in the types of the plugin table.
struct ProblemRequest {
  ProblemRequest(const std::string& of, const std::string& problem, const std::string& options)
      : op(of), attributes(problem), named(options + " seed=" + std::to_string(kSeed)) {}
  deepbench_problem problem() const { return {op.c_str(), attributes.get()}; }

  deepbench_status plan_status() const { return plan().status(); }
  std::string plan_error() const { return plan().error(); }
  uint64_t memory_needed() const { return plan().memory_bytes(); }
  std::vector<std::string> candidates() const { return plan().candidates(); }
  testing::TablePlan plan() const { return {table(), op, attributes, named}; }

  std::string op;
  NamedValues attributes, named;
};

class KernelRun {
 public:
  KernelRun(const std::string& op, const std::string& problem, const std::string& options)
      : request_(op, problem, options) {
    testing::TablePlan plan = request_.plan();
    handle_ = plan.prepare();
    status_ = plan.status();
    error_ = plan.error();
    if (handle_) facts_ = plan.facts();
  }
  ~KernelRun() { table().destroy(handle_); }
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  deepbench_kernel* handle() const { return handle_; }
  deepbench_status status() const { return status_; }
  const std::string& error() const { return error_; }

  // The facts of the plan and of the kernel.
  Emitted describe() const {
    Emitted emitted = facts_;
    REQUIRE(table().describe_kernel(handle_, emitted.sink()) == DEEPBENCH_OK);
    return emitted;
  }
  // The result of the batch is stored in `batch`.
  deepbench_status call(uint64_t count, deepbench_batch* batch,
                        int32_t launch = DEEPBENCH_LAUNCH_BEST) {
    const deepbench_request request = {sizeof request, count, launch, 0};
    *batch = {};
    batch->struct_size = sizeof *batch;
    const deepbench_status status = table().time_batch(handle_, &request, batch);
    error_ = status == DEEPBENCH_OK ? "" : table().last_error();
    return status;
  }
  deepbench_batch call(uint64_t count, int32_t launch = DEEPBENCH_LAUNCH_BEST) {
    deepbench_batch batch;
    const deepbench_status status = call(count, &batch, launch);
    INFO(error_);
    REQUIRE(status == DEEPBENCH_OK);
    return batch;
  }
  void restore() { REQUIRE(table().restore(handle_) == DEEPBENCH_OK); }
  void poison() { REQUIRE(table().poison_outputs(handle_) == DEEPBENCH_OK); }
  // Of several outputs, `output` tells which one.
  std::vector<double> read(uint64_t count, uint32_t output = 0) const {
    std::vector<uint64_t> indices(count);
    std::iota(indices.begin(), indices.end(), uint64_t{0});
    std::vector<double> values(count);
    REQUIRE(table().read_output(handle_, output, indices.data(), count, values.data()) ==
            DEEPBENCH_OK);
    return values;
  }
  deepbench_scan scan(uint32_t output = 0) const {
    deepbench_scan scan = {};
    scan.struct_size = sizeof scan;
    REQUIRE(table().scan_output(handle_, output, &scan) == DEEPBENCH_OK);
    return scan;
  }
  std::vector<double> project(uint64_t rows, uint64_t seed, uint32_t output = 0) const {
    std::vector<double> sums(rows);
    REQUIRE(table().project_output(handle_, output, rows, seed, sums.data()) == DEEPBENCH_OK);
    return sums;
  }

 private:
  ProblemRequest request_;
  deepbench_kernel* handle_ = nullptr;
  Emitted facts_;  // of the plan
  deepbench_status status_ = DEEPBENCH_FAILED;
  std::string error_;
};

}  // namespace deepbench::cuda_test
