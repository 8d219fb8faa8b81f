// Tests plugin.hpp: exceptions become statuses, and values and options are read with defaults.
#include "deepbench/plugin.hpp"

#include <doctest/doctest.h>

#include <string_view>

#include "deepbench/core/status.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench {
namespace {

class OneKernel final : public plugin::Kernel {
 public:
  void describe(plugin::Sink& sink) const override {
    sink.integer("workspace_bytes", 5);
    sink.real("planning_ns", 2.5);
    sink.metric("own_time", 1e-3, "s", "lower");
  }
  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    batch.count = request.count;
    batch.elapsed_ns = batch.host_ns = double(request.count);
    batch.copies_touched = 1;
    batch.launch = DEEPBENCH_LAUNCH_ISOLATED;
  }
  void poison_outputs() override {}
  void read_output(uint32_t output, const uint64_t* indices, size_t count,
                   double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = double(indices[i]) + 100 * output;
  }
  void scan_output(uint32_t output, deepbench_scan& scan) override { scan.count = 3 + output; }
  void project_output(uint32_t, uint64_t, uint64_t, double*) override { throw std::bad_alloc(); }
};

class OnePlan final : public plugin::Plan {
 public:
  explicit OnePlan(int64_t m) : m_(m) {}
  void describe(plugin::Sink& sink) const override {
    sink.text("library", "one");
    sink.integer("memory_bytes", m_ * 8);
    sink.integer("outputs", 2);
    sink.integer("workspace_bytes", 4);
  }
  std::unique_ptr<plugin::Kernel> prepare() const override { return std::make_unique<OneKernel>(); }

 private:
  const int64_t m_;
};

double energy_of(int32_t device) {
  if (device > 0) plugin::unsupported("device 0 has the only counter");
  return 12.5;
}

constexpr int kOwnTable = 42;  // of an extension that the core does not know

// A backend whose behavior depends on the problem's m.
class OneBackend final : public plugin::Backend {
 public:
  void describe(plugin::Sink& sink) override { sink.text("library.one.version", "1"); }
  int32_t device_count() override { return 2; }
  void describe_device(int32_t device, plugin::Sink& sink) override {
    sink.integer("index", device);
  }
  const void* extension(std::string_view name) override {
    if (name == DEEPBENCH_ENERGY) return plugin::energy_extension<energy_of>();
    return name == "test.own/1" ? &kOwnTable : nullptr;
  }
  std::unique_ptr<plugin::Plan> plan(const plugin::Problem& problem,
                                     const plugin::Options&) override {
    switch (problem.integer("m")) {
      case 1:
        return std::make_unique<OnePlan>(1);
      case 2:
        plugin::unsupported("not two");
      case 3:
        plugin::invalid("no three");
      case 4:
        plugin::failed("four\nfailed");
      case 5:
        throw std::bad_alloc();
      case 6:
        throw std::logic_error("six");
      case 7:
        throw 7;
      default:
        return std::make_unique<OnePlan>(problem.integer("m"));
    }
  }
};

Backend backend() { return Backend(plugin::table<OneBackend>("one"), ""); }

void plan(int m) { backend().plan(Problem::parse("gemm n=1 k=1 m=" + std::to_string(m)), {}); }

Status plan_status(int m) {
  try {
    plan(m);
  } catch (const RowFailure& failure) {
    return failure.status();
  }
  return Status::kOk;
}

TEST_CASE("exceptions become statuses and reasons") {
  CHECK(plan_status(1) == Status::kOk);
  CHECK(plan_status(2) == Status::kUnsupported);
  CHECK(plan_status(3) == Status::kInvalid);
  CHECK(plan_status(4) == Status::kFailed);
  CHECK(plan_status(5) == Status::kOutOfMemory);
  CHECK(plan_status(6) == Status::kFailed);
  CHECK(plan_status(7) == Status::kFailed);
  CHECK_THROWS_WITH_AS(plan(2), "not two", RowFailure);
  CHECK_THROWS_WITH_AS(plan(3), "plan: no three", RowFailure);
  CHECK_THROWS_WITH_AS(plan(4), "plan: four failed", RowFailure);  // one line
  CHECK_THROWS_WITH_AS(plan(5), "plan: out of host memory", RowFailure);
  CHECK_THROWS_WITH_AS(plan(6), "plan: six", RowFailure);
}

TEST_CASE("throwing a non-exception clears the reason of an earlier failure") {
  CHECK_THROWS_AS(plan(6), RowFailure);
  CHECK_THROWS_WITH_AS(plan(7), "plan: something was thrown that is no std::exception", RowFailure);
}

TEST_CASE("a backend has the extensions that it names, its own among them") {
  const deepbench_backend& table = *plugin::table<OneBackend>("one");
  CHECK(table.extension("test.own/1") == &kOwnTable);
  CHECK(table.extension(DEEPBENCH_COLLECTIVE) == nullptr);
  CHECK(table.extension(DEEPBENCH_FORWARD_STATE) == nullptr);
  CHECK(backend().energy_joules(0) == 12.5);
  CHECK_THROWS_WITH_AS(backend().energy_joules(1), "device 0 has the only counter", RowFailure);
}

TEST_CASE("results cross the plugin interface") {
  CHECK(backend().name() == "one");
  CHECK(backend().device_count() == 2);
  CHECK(backend().describe().text("library.one.version") == "1");
  CHECK(backend().describe_device(1).integer("index") == 1);
  const BackendPlan plan = backend().plan(Problem::parse("gemm m=9 n=1 k=1"), {});
  CHECK(plan.memory_bytes() == 72);
  CHECK(plan.outputs() == 2);
  CHECK(plan.candidates(0).ids.empty());
  CHECK_THROWS_WITH_AS(plan.with_candidate("fast"),
                       "plan_candidate: there is no candidate 'fast' for this problem", RowFailure);
  CHECK(backend().required_environment_variables({}).items().empty());
  CHECK(backend().observe(0).items().empty());
  const auto alone = std::make_shared<Group>(0, std::vector<Member>(1), std::vector<Socket>(1));
  CHECK_THROWS_WITH_AS(backend().join(alone), "backend one has no collectives", RowFailure);

  Kernel kernel = plan.prepare();
  CHECK(kernel.facts().text("library") == "one");
  CHECK(kernel.facts().integer("workspace_bytes") == 5);  // the kernel completes the plan
  CHECK(kernel.facts().real("planning_ns") == 2.5);
  CHECK(kernel.facts().real("metric.own_time") == 1e-3);
  CHECK(kernel.facts().text("metric.own_time.unit") == "s lower");
  const Batch batch = kernel.time_batch(4, DEEPBENCH_LAUNCH_ISOLATED);
  CHECK(batch.elapsed_ns == 4);
  CHECK(batch.launch == "isolated");
  CHECK(batch.timer == "unknown");
  CHECK(kernel.read_output(0, {2, 5}) == std::vector<double>{2, 5});
  CHECK(kernel.read_output(1, {2, 5}) == std::vector<double>{102, 105});
  CHECK(kernel.scan_output(1, 4).count == 4);
  CHECK_THROWS_WITH_AS(kernel.project_output(0, 1, 1, 1), "project_output: out of host memory",
                       RowFailure);
  kernel.restore();
}

TEST_CASE("options have the defaults that plugin.h states") {
  const plugin::Options none(deepbench_values{nullptr, 0});
  CHECK(none.device == 0);
  CHECK(none.library == "");
  CHECK_FALSE(none.cold);
  CHECK(none.copies == 1024);
  CHECK(none.threads == 0);
  CHECK(none.pad);
  CHECK(none.workspace == 32 << 20);
  CHECK(none.inputs == "uniform");
  const deepbench_value items[] = {{"cache", DEEPBENCH_TEXT, 0, 0, "cold"},
                                   {"pad", DEEPBENCH_INTEGER, 0, 0, nullptr},
                                   {"threads", DEEPBENCH_REAL, 0, 4.0, nullptr},
                                   {"unknown", DEEPBENCH_TEXT, 0, 0, "ignored"}};
  const plugin::Options some(deepbench_values{items, 4});
  CHECK(some.cold);
  CHECK_FALSE(some.pad);
  CHECK(some.threads == 4);
}

}  // namespace
}  // namespace deepbench
