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
#include "deepbench/plugin_forward_state.h"

namespace deepbench {

class Group;

// One prepared call of a backend; see plugin.h for what each function promises.
class DEEPBENCH_API Kernel {
 public:
  // `plan` holds the facts of describe_plan, to which the constructor adds those of
  // describe_kernel.
  Kernel(const deepbench_backend* table, deepbench_kernel* handle, Attributes plan);

  const Attributes& facts() const { return facts_; }  // facts of the plan and of the kernel
  uint64_t copies() const { return static_cast<uint64_t>(facts_.integer("copies", 1)); }
  bool in_place() const { return facts_.integer("in_place") != 0; }

  // Throws RowFailure if the backend fails or its answer is impossible: a time that is not
  // positive, a wrong number of calls, a rotation that skips copies.
  Batch time_batch(uint64_t count, deepbench_launch launch = DEEPBENCH_LAUNCH_BEST,
                   uint32_t flags = 0);
  void restore();
  // Rewrites the operands in place with other inputs, or with "integers". Returns false, with the
  // operands unchanged, if the kernel cannot do that.
  bool refill(const std::string& inputs, uint64_t seed);
  void poison_outputs();
  // `output` is the number of an output. `elements` is the number of its elements, for backends
  // that leave scanning or projecting to the core.
  std::vector<double> read_output(uint32_t output, const std::vector<uint64_t>& indices);
  deepbench_scan scan_output(uint32_t output, uint64_t elements);
  std::vector<double> project_output(uint32_t output, uint64_t rows, uint64_t elements,
                                     uint64_t seed);
  // Only for a kernel of the reference: asks it to start from the states that the forward pass of
  // `tested` left. forward_states() returns its answer.
  void adopt_forward_states(const Kernel& tested);
  deepbench_forward_states forward_states() const { return forward_states_; }

 private:
  bool may_isolate(const deepbench_request& request) const;
  void check_batch(const deepbench_batch& batch, const deepbench_request& request) const;

  friend class Backend;  // which links the handles of several kernels

  struct Destroy {
    const deepbench_backend* table;
    void operator()(deepbench_kernel* handle) const { table->destroy(handle); }
  };
  const deepbench_backend* table_;
  std::unique_ptr<deepbench_kernel, Destroy> handle_;
  Attributes facts_;
  deepbench_forward_states forward_states_ = DEEPBENCH_STATES_UNKNOWN;
};

// The answer of BackendPlan::candidates().
struct ListedCandidates {
  std::vector<std::string> ids;  // the plan's own first
  double compiling_ns = 0;       // part of the call: compilation that the machine need not repeat
};

// A problem that a backend has bound to a library and an algorithm.
class DEEPBENCH_API BackendPlan {
 public:
  BackendPlan(const deepbench_backend* table, deepbench_plan* handle);

  const Attributes& facts() const { return facts_; }  // the facts of describe_plan
  uint64_t memory_bytes() const { return memory_bytes_; }
  uint32_t outputs() const { return outputs_; }

  // At most `limit` candidates are requested (0: all).
  ListedCandidates candidates(int64_t limit) const;
  BackendPlan with_candidate(const std::string& id) const;
  Kernel prepare() const;

 private:
  struct Destroy {
    const deepbench_backend* table;
    void operator()(deepbench_plan* handle) const { table->destroy_plan(handle); }
  };
  const deepbench_backend* table_;
  std::unique_ptr<deepbench_plan, Destroy> handle_;
  Attributes facts_;
  uint64_t memory_bytes_ = 0;
  uint32_t outputs_ = 1;
};

// A loaded backend. Copies share the plugin, which stays loaded as long as the process.
class DEEPBENCH_API Backend {
 public:
  // Order among the backends that `auto` may select.
  int32_t priority() const { return table_->priority; }
  // `path` is where it was loaded from, or "" for a table that is linked in.
  Backend(const deepbench_backend* table, std::string path);

  std::string name() const { return table_->name; }
  const std::string& path() const { return path_; }

  Attributes describe() const;
  // Whether the times are a simulator's, according to the first describe(). The context of a result
  // file states this once for all of its rows.
  bool has_simulated_time() const;
  int device_count() const;
  Attributes describe_device(int device) const;
  // The environment variables that must be set before the libraries of the backend are loaded.
  Attributes required_environment_variables(const Attributes& options) const;
  // Throws RowFailure(kUnsupported) with the reason.
  BackendPlan plan(const Problem& problem, const Attributes& options) const;
  Attributes observe(int device) const;
  // A kernel that makes one call of each kernel in order (plugin_chain.h) and that they outlive.
  // Throws RowFailure(kUnsupported) if the backend has no chains or one of the kernels cannot take
  // part.
  Kernel chain(const std::vector<const Kernel*>& kernels) const;
  // Joules since an arbitrary start. Throws RowFailure if the backend has no energy counter.
  double energy_joules(int device) const;
  // Makes the process a rank of `group`, which the plugin may keep for as long as the process.
  void join(const std::shared_ptr<Group>& group) const;

 private:
  const deepbench_backend* table_;
  std::string path_;
  mutable std::optional<bool> simulated_time_;
};

}  // namespace deepbench
