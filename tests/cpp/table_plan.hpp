// A plan through a plugin's table.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "deepbench/plugin.h"
#include "deepbench/plugin_forward_state.h"
#include "named_values.hpp"

namespace deepbench::testing {

// Plans as the core does: with the library's first choice, and then, if the options have
// candidate=ID, with that. `limit=N` is the limit of candidates().
class TablePlan {
 public:
  TablePlan(const deepbench_backend& table, const std::string& op, const NamedValues& attributes,
            const NamedValues& options)
      : table_(table), limit_(options.integer("limit")) {
    const deepbench_problem problem = {op.c_str(), attributes.get()};
    record_status(table_.plan(&problem, options.get(), &first_));
    plan_ = first_;
    const std::string candidate = options.text("candidate");
    if (status_ != DEEPBENCH_OK || candidate.empty()) return;
    record_status(table_.plan_candidate(first_, candidate.c_str(), &candidate_));
    plan_ = candidate_;
  }
  ~TablePlan() {
    table_.destroy_plan(first_);
    table_.destroy_plan(candidate_);
  }
  TablePlan(const TablePlan&) = delete;
  TablePlan& operator=(const TablePlan&) = delete;

  deepbench_status status() const { return status_; }  // of planning, or of the failed prepare()
  const std::string& error() const { return error_; }

  Emitted facts() const {
    Emitted emitted;
    REQUIRE(table_.describe_plan(plan_, emitted.sink()) == DEEPBENCH_OK);
    return emitted;
  }
  uint64_t memory_bytes() const {
    INFO(error_);
    REQUIRE(status_ == DEEPBENCH_OK);
    return std::stoull(facts().text("memory_bytes"));
  }
  std::vector<std::string> candidates() const {
    INFO(error_);
    REQUIRE(status_ == DEEPBENCH_OK);
    Emitted emitted;
    REQUIRE(table_.candidates(first_, limit_, emitted.sink()) == DEEPBENCH_OK);
    std::vector<std::string> ids;
    for (const auto& [name, value] : emitted.order)
      if (name == "candidate") ids.push_back(value);
    return ids;
  }
  // Whether the candidate `id` of this problem can be planned, described and prepared.
  bool can_prepare(const std::string& id) const {
    deepbench_plan* plan = nullptr;
    deepbench_kernel* kernel = nullptr;
    Emitted emitted;
    const bool good = table_.plan_candidate(first_, id.c_str(), &plan) == DEEPBENCH_OK &&
                      table_.describe_plan(plan, emitted.sink()) == DEEPBENCH_OK &&
                      table_.prepare(plan, &kernel) == DEEPBENCH_OK;
    table_.destroy(kernel);
    table_.destroy_plan(plan);
    return good;
  }
  // Null, with status() and error(), where planning or preparing fails.
  deepbench_kernel* prepare() {
    deepbench_kernel* kernel = nullptr;
    if (status_ == DEEPBENCH_OK) record_status(table_.prepare(plan_, &kernel));
    return kernel;
  }

 private:
  void record_status(deepbench_status status) {
    status_ = status;
    error_ = status == DEEPBENCH_OK ? "" : table_.last_error();
  }

  const deepbench_backend& table_;
  const int64_t limit_;
  deepbench_plan *first_ = nullptr, *candidate_ = nullptr, *plan_ = nullptr;
  deepbench_status status_ = DEEPBENCH_FAILED;
  std::string error_;
};

// What the backend finds of the forward states that a kernel has left.
inline deepbench_forward_states adopt_forward_states(const deepbench_backend& table,
                                                     deepbench_kernel* reference,
                                                     deepbench_kernel* tested) {
  const auto* const extension =
      static_cast<const deepbench_forward_state*>(table.extension(DEEPBENCH_FORWARD_STATE));
  int32_t states = 99;
  REQUIRE(extension->adopt(reference, tested, &states) == DEEPBENCH_OK);
  return static_cast<deepbench_forward_states>(states);
}

}  // namespace deepbench::testing
