// The engines of cuDNN for a graph: named by the real library for an H100 and built without a
// device, and planned on one.
#include "cudnn/graph_execution.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "deepbench/plugin.hpp"
#include "gpu.hpp"
#include "kernel_run.hpp"
#include "ops/attention/cudnn_graph.hpp"
#include "ops/norm/cudnn_graph.hpp"
#include "real_cudnn.hpp"

namespace deepbench::cuda_test {
namespace {

const char* const kNorm = "kind=layer rows=3000 columns=1024 phase=training precision=half";
const char* const kAttention =
    "batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=top_left precision=bfloat16";

// Writes `what` unless it holds.
bool holds(bool condition, const char* what) {
  if (!condition) std::fprintf(stderr, "does not hold: %s\n", what);
  return condition;
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether naming engines builds none, and each is built once.
bool builds_once(cuda::GraphEngines& engines) {
  const std::vector<std::string> names = engines.names();
  if (!holds(!names.empty() && loaded_libraries() == 0, "engines are named without building one"))
    return false;
  const cuda::GraphExecution& first = engines.build("");
  const int loaded = loaded_libraries();
  return holds(loaded > 0, "an engine is built when it is requested") &&
         holds(is_one_of(first.engine(), names), "the engine that is built has one of the names") &&
         holds(&engines.build(first.engine()) == &first && &engines.build("") == &first &&
                   loaded_libraries() == loaded,
               "an engine that is built is used again") &&
         holds(first.planning_ns() > 0, "the time of building is stated");
}

// Whether the plan's own engine precedes the others, whose order does not change.
bool can_begin_with_each(const cuda::GraphEngines& engines) {
  for (const std::string& name : engines.names()) {
    std::vector<std::string> expected = engines.names();
    const auto own = std::find(expected.begin(), expected.end(), name);
    std::rotate(expected.begin(), own, own + 1);
    if (!holds(engines.names(name) == expected, "the names begin with the one that is given"))
      return false;
  }
  return holds(engines.names("eng999") == engines.names(), "another name changes nothing");
}

bool rejects_unknown(cuda::GraphEngines& engines) {
  try {
    engines.build("eng999");
  } catch (const plugin::Error& error) {
    return holds(
               error.status() == DEEPBENCH_INVALID &&
                   std::string(error.what()) == "cudnn has no candidate 'eng999' for this problem",
               error.what()) &&
           holds(loaded_libraries() == 0, "a name that is rejected builds nothing");
  }
  return holds(false, "an engine that is not named is rejected");
}

using Check = bool (*)(cuda::GraphEngines&);

bool holds_of_norm(Check check) {
  const NamedValues named(kNorm);
  const cuda::NormOperation operation(norm_problem(plugin::Values(named.get())));
  cuda::GraphEngines engines(operation.descriptors(), "this normalization", hopper());
  return check(engines);
}

bool holds_of_attention(Check check) {
  const NamedValues named(kAttention);
  const cuda::AttentionOperations operations(attention_problem(plugin::Values(named.get())),
                                             cuda::AttentionOperations::Statistics::kDiscarded);
  cuda::GraphEngines engines(operations.descriptors(), "this attention", hopper());
  return check(engines);
}

// In a process of its own, with the real cuDNN and the stub of a driver.
void check_of_each(Check check) {
  if (!has_libraries()) return;
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    MESSAGE("nothing tested: a driver is loaded, which the stub cannot replace");
    return;
  }
  CHECK(run_in_process_with_stub([&] { return holds_of_norm(check); }));
  CHECK(run_in_process_with_stub([&] { return holds_of_attention(check); }));
}

TEST_CASE("cuDNN's engines are named without building one, and each is built once") {
  check_of_each(builds_once);
}

TEST_CASE("the names of cuDNN's engines begin with the plan's own") {
  check_of_each([](cuda::GraphEngines& engines) { return can_begin_with_each(engines); });
}

TEST_CASE("an engine that cuDNN does not name is rejected as invalid") {
  check_of_each(rejects_unknown);
}

// A plan of cuDNN, which must exist, and plans of its candidates.
class CudnnPlan {
 public:
  CudnnPlan(const std::string& op, const std::string& problem)
      : request_(op, problem, "library=cudnn") {
    const deepbench_problem of = request_.problem();
    const deepbench_status status = table().plan(&of, request_.named.get(), &plan_);
    REQUIRE_MESSAGE(status == DEEPBENCH_OK, table().last_error());
  }
  ~CudnnPlan() { table().destroy_plan(plan_); }
  CudnnPlan(const CudnnPlan&) = delete;
  CudnnPlan& operator=(const CudnnPlan&) = delete;

  Emitted facts() const { return facts_of(plan_); }
  Emitted facts_of_candidate(const std::string& id) const {
    deepbench_plan* candidate = nullptr;
    const deepbench_status status = table().plan_candidate(plan_, id.c_str(), &candidate);
    REQUIRE_MESSAGE(status == DEEPBENCH_OK, table().last_error());
    const Emitted facts = facts_of(candidate);
    table().destroy_plan(candidate);
    return facts;
  }
  deepbench_status status_of_candidate(const std::string& id) const {
    deepbench_plan* candidate = nullptr;
    const deepbench_status status = table().plan_candidate(plan_, id.c_str(), &candidate);
    table().destroy_plan(candidate);
    return status;
  }
  std::vector<std::string> candidates() const { return request_.candidates(); }

 private:
  static Emitted facts_of(deepbench_plan* plan) {
    Emitted facts;
    REQUIRE(table().describe_plan(plan, facts.sink()) == DEEPBENCH_OK);
    return facts;
  }

  const ProblemRequest request_;
  deepbench_plan* plan_ = nullptr;
};

// Two builds of an engine do not take the same time to the nanosecond.
void check_engine_is_used_again(const std::string& op, const std::string& problem) {
  CAPTURE(op);
  const CudnnPlan plan(op, problem);
  const Emitted own = plan.facts();
  CHECK(plan.candidates().front() == own.text("algorithm"));
  const Emitted again = plan.facts_of_candidate(own.text("algorithm"));
  CHECK(again.text("algorithm") == own.text("algorithm"));
  CHECK(again.text("planning_ns") == own.text("planning_ns"));
  CHECK(again.text("memory_bytes") == own.text("memory_bytes"));
  CHECK(plan.status_of_candidate("eng999") == DEEPBENCH_INVALID);
  CHECK(std::string(table().last_error()) == "cudnn has no candidate 'eng999' for this problem");
}

TEST_CASE("gpu: a candidate of cuDNN has the engine that was built for the first choice") {
  REQUIRE_GPU();
  check_engine_is_used_again("norm", kNorm);
  check_engine_is_used_again("attention", kAttention);
}

}  // namespace
}  // namespace deepbench::cuda_test
