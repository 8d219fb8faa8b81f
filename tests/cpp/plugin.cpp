// Tests plugin.hpp: exceptions become statuses, and values and options are read with defaults.
#include "deepbench/plugin.hpp"

#include <doctest/doctest.h>

#include "deepbench/core/status.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench {
namespace {

class OneKernel final : public plugin::Kernel {
 public:
  void describe(plugin::Sink& sink) const override {
    sink.text("library", "one");
    sink.integer("workspace_bytes", 5);
    sink.real("planning_ns", 2.5);
    sink.metric("dense_time", 1e-3, "s", "lower");
  }
  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    batch.count = request.count;
    batch.elapsed_ns = batch.host_ns = double(request.count);
    batch.copies_touched = 1;
    batch.launch = DEEPBENCH_LAUNCH_ISOLATED;
  }
  void poison_outputs() override {}
  void read_output(const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = double(indices[i]);
  }
  void scan_output(deepbench_scan& scan) override { scan.count = 3; }
  void project_output(uint64_t, uint64_t, double*) override { throw std::bad_alloc(); }
};

// A backend whose behaviour depends on the problem's m.
class OneBackend final : public plugin::Backend {
 public:
  void describe(plugin::Sink& sink) override { sink.text("library.one.version", "1"); }
  int32_t device_count() override { return 2; }
  void describe_device(int32_t device, plugin::Sink& sink) override {
    sink.integer("index", device);
  }
  void supports(const plugin::Problem& problem, const plugin::Options&) override {
    switch (problem.integer("m")) {
      case 1:
        return;
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
      default:
        throw 7;
    }
  }
  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options&) override {
    return uint64_t(problem.integer("m")) * 8;
  }
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem&, const plugin::Options&) override {
    return std::make_unique<OneKernel>();
  }
};

Backend backend() { return Backend(plugin::table<OneBackend>("one"), ""); }

void supports(int m) {
  backend().supports(Problem::parse("gemm n=1 k=1 m=" + std::to_string(m)), {});
}

Status status_of(int m) {
  try {
    supports(m);
  } catch (const RowFailure& failure) {
    return failure.status();
  }
  return Status::kOk;
}

TEST_CASE("exceptions become statuses and reasons") {
  CHECK(status_of(1) == Status::kOk);
  CHECK(status_of(2) == Status::kUnsupported);
  CHECK(status_of(3) == Status::kInvalid);
  CHECK(status_of(4) == Status::kFailed);
  CHECK(status_of(5) == Status::kOutOfMemory);
  CHECK(status_of(6) == Status::kFailed);
  CHECK(status_of(7) == Status::kFailed);
  CHECK_THROWS_WITH_AS(supports(2), "not two", RowFailure);
  CHECK_THROWS_WITH_AS(supports(3), "supports: no three", RowFailure);
  CHECK_THROWS_WITH_AS(supports(4), "supports: four failed", RowFailure);  // one line
  CHECK_THROWS_WITH_AS(supports(5), "supports: out of host memory", RowFailure);
  CHECK_THROWS_WITH_AS(supports(6), "supports: six", RowFailure);
}

TEST_CASE("throwing a non-exception clears the reason of an earlier failure") {
  CHECK_THROWS_AS(supports(6), RowFailure);
  CHECK_THROWS_WITH_AS(supports(7), "supports: something was thrown that is no std::exception",
                       RowFailure);
}

TEST_CASE("results cross the plugin interface") {
  CHECK(backend().name() == "one");
  CHECK(backend().device_count() == 2);
  CHECK(backend().describe().text("library.one.version") == "1");
  CHECK(backend().describe_device(1).integer("index") == 1);
  const Problem problem = Problem::parse("gemm m=3 n=1 k=1");
  CHECK(backend().memory_needed(problem, {}) == 24);
  CHECK(backend().candidates(problem, {}).empty());
  CHECK(backend().environment({}).items().empty());
  CHECK(backend().observe(0).items().empty());
  const auto alone = std::make_shared<Group>(0, std::vector<Member>(1), std::vector<Socket>(1));
  CHECK_THROWS_WITH_AS(backend().join(alone), "this backend has no collectives", RowFailure);

  Kernel kernel = backend().prepare(problem, {});
  CHECK(kernel.facts().text("library") == "one");
  CHECK(kernel.facts().integer("workspace_bytes") == 5);
  CHECK(kernel.facts().real("planning_ns") == 2.5);
  CHECK(kernel.facts().real("metric.dense_time") == 1e-3);
  CHECK(kernel.facts().text("metric.dense_time.unit") == "s lower");
  const Batch batch = kernel.time_batch(4);
  CHECK(batch.elapsed_ns == 4);
  CHECK(batch.launch == "isolated");
  CHECK(batch.timer == "unknown");
  CHECK(kernel.read_output({2, 5}) == std::vector<double>{2, 5});
  CHECK(kernel.scan_output(3).count == 3);
  CHECK_THROWS_WITH_AS(kernel.project_output(1, 1, 1), "project_output: out of host memory",
                       RowFailure);
  kernel.restore();
}

TEST_CASE("options have the defaults that plugin.h states") {
  const plugin::Options none(deepbench_values{nullptr, 0});
  CHECK(none.device == 0);
  CHECK(none.library == "");
  CHECK(none.candidate == "");
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
