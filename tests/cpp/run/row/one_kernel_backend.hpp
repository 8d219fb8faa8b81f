// A backend that has one class of kernel, and an operation that expects what the test says: for
// tests of what the core compares, whatever the operation.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/plugin.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench::testing {

// An operation without parameters.
class ExpectingOperation final : public Operation {
 public:
  using Expect = std::function<ExpectedOutput(const KernelConditions&)>;
  explicit ExpectingOperation(Expect expect, std::vector<std::string> outputs = {"output"})
      : expect_(std::move(expect)), outputs_(std::move(outputs)) {}

  const std::string& name() const override { return name_; }
  const std::string& help() const override { return name_; }
  const std::string& example() const override { return name_; }
  const std::vector<Parameter>& parameters() const override { return none_; }
  void validate(const Problem&) const override {}
  Work work(const Problem&) const override { return {}; }
  std::vector<std::string> outputs(const Problem&) const override { return outputs_; }
  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem&,
                                 const KernelConditions& conditions) const override {
    return expect_(conditions);
  }

 private:
  const std::string name_ = "expecting";
  const std::vector<Parameter> none_;
  const Expect expect_;
  const std::vector<std::string> outputs_;
};

// The parts of a kernel that such tests do not look at.
struct PlainKernel : plugin::Kernel {
  void describe(plugin::Sink&) const override {}
  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    batch.count = request.count;
    batch.elapsed_ns = batch.host_ns = 1;
    batch.copies_touched = 1;
    batch.launch = DEEPBENCH_LAUNCH_STREAM;
  }
  void poison_outputs() override {}
  void project_output(uint32_t, uint64_t, uint64_t, double*) override {}
};

template <class OneKernel>
struct OneKernelPlan final : plugin::Plan {
  void describe(plugin::Sink& sink) const override { sink.integer("memory_bytes", 0); }
  std::unique_ptr<plugin::Kernel> prepare() const override { return std::make_unique<OneKernel>(); }
};

template <class OneKernel>
struct OneKernelBackend final : plugin::Backend {
  void describe(plugin::Sink&) override {}
  int32_t device_count() override { return 1; }
  void describe_device(int32_t, plugin::Sink&) override {}
  std::unique_ptr<plugin::Plan> plan(const plugin::Problem&, const plugin::Options&) override {
    return std::make_unique<OneKernelPlan<OneKernel>>();
  }
};

template <class OneKernel>
deepbench::Kernel prepare_kernel(const Problem& problem) {
  const deepbench::Backend backend(plugin::table<OneKernelBackend<OneKernel>>("one"), "");
  return backend.plan(problem, {}).prepare();
}

}  // namespace deepbench::testing
