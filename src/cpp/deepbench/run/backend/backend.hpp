// RAII over a plugin's table. Statuses become RowFailure, and every answer of a plugin is checked
// before it is used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/plugin.h"

namespace deepbench {

class Group;

// One prepared call of a backend; see plugin.h for what each function promises.
class DEEPBENCH_API Kernel {
 public:
  Kernel(const deepbench_backend* table, deepbench_kernel* handle);

  const Attributes& facts() const { return facts_; }  // the facts of describe_kernel
  uint64_t copies() const { return static_cast<uint64_t>(facts_.integer("copies", 1)); }
  bool in_place() const { return facts_.integer("in_place") != 0; }

  // Throws RowFailure if the backend fails or its answer is impossible: a time that is not
  // positive, a wrong number of calls, a rotation that skips copies.
  Batch time_batch(uint64_t count, deepbench_launch launch = DEEPBENCH_LAUNCH_BEST,
                   uint32_t flags = 0);
  void restore();
  void poison_outputs();
  std::vector<double> read_output(const std::vector<uint64_t>& indices);
  // `outputs` is the number of elements, for backends that leave scanning to the core.
  deepbench_scan scan_output(uint64_t outputs);
  std::vector<double> project_output(uint64_t rows, uint64_t outputs, uint64_t seed);
  // For a kernel of the reference: asks it to start from the state that the forward pass of `other`
  // left. following() reports whether it does, and whether that state is wrong.
  void follow(const Kernel& other);
  deepbench_following following() const { return following_; }
  bool follows() const { return following_ == DEEPBENCH_FOLLOWS; }

 private:
  void check(deepbench_status status, const char* slot) const;
  void check_batch(const deepbench_batch& batch, uint64_t asked) const;

  struct Destroy {
    const deepbench_backend* table;
    void operator()(deepbench_kernel* handle) const { table->destroy(handle); }
  };
  const deepbench_backend* table_;
  std::unique_ptr<deepbench_kernel, Destroy> handle_;
  Attributes facts_;
  deepbench_following following_ = DEEPBENCH_ALONE;
};

// A loaded backend. Copies share the plugin, which stays loaded as long as the process.
class DEEPBENCH_API Backend {
 public:
  int32_t priority() const { return table_->priority; }  // among those that `auto` may take
  // `path` is where it was loaded from, or "" for a table that is linked in.
  Backend(const deepbench_backend* table, std::string path);

  std::string name() const { return table_->name; }
  const std::string& path() const { return path_; }

  Attributes describe() const;
  int device_count() const;
  Attributes describe_device(int device) const;
  Attributes environment(const Attributes& options) const;
  // Throws RowFailure(kUnsupported) with the reason.
  void supports(const Problem& problem, const Attributes& options) const;
  uint64_t memory_needed(const Problem& problem, const Attributes& options) const;
  std::vector<std::string> candidates(const Problem& problem, const Attributes& options) const;
  Kernel prepare(const Problem& problem, const Attributes& options) const;
  Attributes observe(int device) const;
  // Joules since an arbitrary start. Throws RowFailure if the backend has no energy counter.
  double energy_joules(int device) const;
  // Makes the process a rank of `group`, which the plugin may keep for as long as the process.
  void join(const std::shared_ptr<Group>& group) const;

 private:
  const deepbench_backend* table_;
  std::string path_;
};

}  // namespace deepbench
