// The backend as the core calls it, through its table, in a form that is convenient for tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "../scoped_environment_variable.hpp"
#include "../table_plan.hpp"
#include "deepbench/plugin.h"

extern "C" const deepbench_backend* deepbench_plugin();

namespace deepbench::cpu_test {

using testing::Emitted;
using testing::NamedValues;
using testing::ScopedEnvironmentVariable;
using testing::TablePlan;

inline const deepbench_backend& backend() { return *deepbench_plugin(); }

bool is_installed(const std::string& library);

struct SupportResult {
  deepbench_status status;
  std::string error;
};

SupportResult plan_status(const std::string& op, const std::string& problem,
                          const std::string& options = "");
deepbench_status prepare_status(const std::string& op, const std::string& problem,
                                const std::string& options = "");
uint64_t memory_needed(const std::string& op, const std::string& problem,
                       const std::string& options = "");
std::vector<std::string> candidates(const std::string& op, const std::string& problem,
                                    const std::string& options = "");

class Kernel {
 public:
  Kernel(const std::string& op, const std::string& problem, const std::string& options = "");
  ~Kernel() { backend().destroy(handle_); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  Emitted describe() const;  // The facts of the plan and of the kernel.
  deepbench_batch run(uint64_t count, int32_t launch = DEEPBENCH_LAUNCH_BEST, uint32_t flags = 0);
  void restore() { REQUIRE(backend().restore(handle_) == DEEPBENCH_OK); }
  void poison() { REQUIRE(backend().poison_outputs(handle_) == DEEPBENCH_OK); }
  // Reads the first elements of an output.
  std::vector<double> read(uint64_t count, uint32_t output = 0) const;
  deepbench_scan scan(uint32_t output = 0) const;
  std::vector<double> project(uint64_t rows, uint64_t seed) const;
  std::vector<double> read(const std::vector<uint64_t>& indices) const;
  // On a kernel of the reference: starts from the states that the forward pass of `tested` has
  // left, and returns whether they are the problem's.
  deepbench_forward_states adopt_forward_states_of(const Kernel& tested);
  deepbench_kernel* handle() const { return handle_; }

 private:
  deepbench_kernel* handle_ = nullptr;
  Emitted facts_;  // Of the plan.
};

// A folder of fixture files that the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& file, const std::string& text) const;  // Creates missing folders.

 private:
  std::string path_;
};

}  // namespace deepbench::cpu_test
