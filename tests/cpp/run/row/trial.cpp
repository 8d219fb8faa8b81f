// What a row does with its kernel, slot by slot, read from the fake backend's log.
#include "deepbench/run/row/trial.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "../../fake_backend.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/processor_wait.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/sustained_load.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/measuring_hooks.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::TemporaryFolder;

constexpr const char* kProblem = "gemm m=7 n=5 k=9";

struct LoggedMeasurement {
  Stages stages;
  std::vector<std::string> calls;
  Samples samples;
};

// The logged slots from prepare to destroy; without those of the plan and the backend.
std::vector<std::string> kernel_calls(const TemporaryFolder& folder) {
  std::vector<std::string> calls = folder.lines("calls");
  calls.erase(std::remove_if(calls.begin(), calls.end(),
                             [](const std::string& call) {
                               return call == "plan" || call == "describe_plan" ||
                                      call == "destroy_plan" || call == "describe";
                             }),
              calls.end());
  return calls;
}

// Measures under a script; returns the slots that were called from prepare to destroy.
LoggedMeasurement measure(const std::string& script, const RunOptions& options = {},
                          const MeasureOptions& how = {}) {
  const TemporaryFolder folder;
  const Backend backend = fake_backend(script + "\nlog " + (folder / "calls"));
  LoggedMeasurement logged;
  {
    Trial trial({backend, {}}, plan_first_choice({Problem::parse(kProblem), options}, backend),
                logged.stages);
    trial.measure(how);
    logged.samples = *trial.samples();
  }
  logged.calls = kernel_calls(folder);
  return logged;
}

// Records which hooks are called, and with which batches in between.
class RecordingHooks : public MeasuringHooks {
 public:
  void before_warm_up() override { calls.push_back("before_warm_up"); }
  void after_batch() override { calls.push_back("after_batch"); }
  void after_samples(const std::function<void()>& repeat_batch) override {
    calls.push_back("after_samples");
    repeat_batch();
    calls.push_back("repeated");
  }

  std::vector<std::string> calls;
};

std::vector<std::string> slice(const std::vector<std::string>& all, size_t begin, size_t count) {
  return {all.begin() + std::min<std::ptrdiff_t>(std::ptrdiff_t(begin), std::ptrdiff_t(all.size())),
          all.begin() +
              std::min<std::ptrdiff_t>(std::ptrdiff_t(begin + count), std::ptrdiff_t(all.size()))};
}

TEST_CASE("waits are watched where the host's threads do the work and its time passes") {
  MeasureOptions few;
  few.exact_samples = 3;
  const bool counted = ProcessorWait().lap_ns().has_value();
  const std::string threads = "emit describe_kernel threads 1; ",
                    real = "real_time; time 1e6; works 1e6";
  CHECK(measure(threads + real, {}, few).samples.waited_share.has_value() == counted);
  CHECK_FALSE(measure(real + "; emit describe_kernel threads 0", {}, few).samples.waited_share);
  CHECK_FALSE(measure(threads + "time 1e6", {}, few).samples.waited_share);
}

TEST_CASE("hooks are called before the warm-up, after each batch and after the samples") {
  const Backend backend = fake_backend("time 1e6");
  const Plan plan = plan_first_choice({Problem::parse(kProblem), {}}, backend);
  RecordingHooks hooks;
  RowContext context{backend, {}};
  context.hooks = &hooks;
  Stages stages;
  Trial trial(context, plan, stages);
  CHECK(hooks.calls.empty());
  const size_t samples = trial.measure({}).samples->per_call_ns.size();

  const auto& calls = hooks.calls;
  CHECK(slice(calls, 0, 3) ==
        std::vector<std::string>{"after_batch", "before_warm_up", "after_batch"});
  CHECK(std::count(calls.begin(), calls.end(), "before_warm_up") == 1);
  const auto end = std::find(calls.begin(), calls.end(), "after_samples");
  CHECK(size_t(std::count(calls.begin(), end, "after_batch")) > samples);
  const std::vector<std::string> last(end, calls.end());
  CHECK(slice(last, 0, 3) == std::vector<std::string>{"after_samples", "after_batch", "repeated"});
  CHECK(std::count(last.begin(), last.end(), "after_samples") == 1);

  hooks.calls.clear();
  Trial(context, plan, stages).run_once();
  CHECK(hooks.calls == std::vector<std::string>{"before_warm_up", "after_batch"});
}

TEST_CASE("a rested row begins when the device has recovered from a sustained load") {
  const Backend backend = fake_backend("time 1e6");
  const auto rest_ns = [&](double most_clock_mhz, bool was_sustained, bool is_sustained) {
    DeviceActivity activity;
    activity.add_batch(was_sustained);
    Attributes device;
    device.set("most_clock_mhz", most_clock_mhz);
    RowContext context{backend, device};
    context.activity = &activity;
    RunOptions options;
    options.sustained = is_sustained;
    Stages stages;
    Trial trial(context, plan_first_choice({Problem::parse(kProblem), options}, backend), stages);
    trial.measure({});
    CHECK(stages.measure_ns >= stages.rest_ns);
    return stages.rest_ns;
  };
  CHECK(rest_ns(2000, true, false) > 0.5e9);
  CHECK(rest_ns(2000, false, false) == 0);
  CHECK(rest_ns(2000, true, true) == 0);
  CHECK(rest_ns(0, true, false) == 0);  // a device that reports no clock
}

TEST_CASE(
    "before samples comes a perturbation of the schedule with calls that are not timed, where a "
    "kernel asks for it") {
  const std::string times = "time 20e3 22e3 20e3 20e3 22e3";  // of batches, in turns
  const LoggedMeasurement plain = measure(times);
  CHECK_FALSE(plain.samples.schedule_perturbed);
  CHECK(plain.samples.batches_per_sample == 1);
  const LoggedMeasurement schedule_perturbed =
      measure(times + "; emit describe_kernel schedule_sensitive 1");
  CHECK(schedule_perturbed.samples.schedule_perturbed);
  CHECK(schedule_perturbed.samples.batches_per_sample == 12);
  CHECK(schedule_perturbed.samples.batch == plain.samples.batch);
  const std::string before = "time_batch count=5 launch=0 flags=2";
  const std::string timed =
      "time_batch count=" + std::to_string(plain.samples.batch) + " launch=0 flags=0";
  int perturbations = 0, bare = 0;
  for (size_t i = 1; i < schedule_perturbed.calls.size(); ++i) {
    perturbations +=
        schedule_perturbed.calls[i] == timed && schedule_perturbed.calls[i - 1] == before;
    bare +=
        schedule_perturbed.calls[i] == timed && schedule_perturbed.calls[i - 1] == "scan_output";
  }
  CHECK(perturbations >= 120);
  CHECK(bare == 1);  // what is verified after timing is the batch alone
  CHECK(schedule_perturbed.samples.spent_ns >
        schedule_perturbed.samples.per_call_ns.size() * 12 * 15 * 20e3);
  RunOptions isolated;
  isolated.launch = DEEPBENCH_LAUNCH_ISOLATED;
  CHECK_FALSE(measure(times + "; emit describe_kernel schedule_sensitive 1", isolated)
                  .samples.schedule_perturbed);
  CHECK_FALSE(
      measure("time 2e6; emit describe_kernel schedule_sensitive 1").samples.schedule_perturbed);
}

TEST_CASE(
    "outputs are poisoned, called once and checked, then timed, poisoned, which is checked too, "
    "and "
    "called and checked again") {
  const auto calls = measure("time 2e6").calls;
  const std::string batch = "time_batch count=1 launch=0 flags=0";
  // Of each kernel: two first calls, twenty of warm-up, ten samples. Two of them are poisoned and
  // checked briefly. After them come one call that warms caches again and one that is verified, and
  // a call with other operands.
  REQUIRE(calls.size() == 3 + 1 + 2 + 31 + 2 * 2 + 2 + 2 + 3 + 5 + 1);
  CHECK(slice(calls, 0, 6) == std::vector<std::string>{"prepare", "describe_kernel",
                                                       "poison_outputs", batch, "scan_output",
                                                       "read_output"});
  std::vector<std::string> brief;
  for (size_t i = 6; i < 6 + 31 + 4; ++i) {
    if (calls[i] == batch) continue;
    brief.push_back(calls[i]);
    CHECK(calls[calls[i] == "poison_outputs" ? i + 1 : i - 1] == batch);
  }
  CHECK(brief ==
        std::vector<std::string>{"poison_outputs", "read_output", "poison_outputs", "read_output"});
  CHECK(slice(calls, 41, 7) == std::vector<std::string>{"poison_outputs", "scan_output", batch,
                                                        batch, "read_output", "scan_output",
                                                        "read_output"});
  CHECK(calls[48] == "read_output");
  CHECK(calls[49].find("refill inputs=uniform seed=") == 0);
  CHECK(slice(calls, 50, 4) ==
        std::vector<std::string>{"poison_outputs", batch, "read_output", "destroy"});
}

TEST_CASE(
    "after the samples, half a batch, a batch and single calls show that every call is made") {
  const auto calls = measure("time 1000").calls;
  const std::string whole = "time_batch count=200 launch=0 flags=0";
  const std::string single = "time_batch count=1 launch=0 flags=0";
  CHECK(slice(calls, calls.size() - 6, 6) ==
        std::vector<std::string>{"time_batch count=100 launch=0 flags=0", whole, whole, single,
                                 single, "destroy"});
}

TEST_CASE("without verification nothing but timing happens") {
  RunOptions options;
  options.verify = false;
  const auto calls = measure("time 2e6", options).calls;
  REQUIRE(calls.size() == 2 + 32 + 1);
  CHECK(calls[1] == "describe_kernel");
  for (size_t i = 2; i < 34; ++i) CHECK(calls[i] == "time_batch count=1 launch=0 flags=0");
  CHECK(calls[34] == "destroy");
}

TEST_CASE("long calls are verified as they are timed: no call is made for checking alone") {
  const auto logged = measure("time 400e6; fail refill unsupported");
  CHECK(logged.samples.per_call_ns.size() == 5);
  CHECK(std::count(logged.calls.begin(), logged.calls.end(),
                   "time_batch count=1 launch=0 flags=0") == 6);
  std::vector<std::string> calls = logged.calls;
  // without what is asked of one in eight such rows
  if (calls[calls.size() - 2].find("refill") == 0) calls.erase(calls.end() - 2);
  if (calls[calls.size() - 3] == "read_output") calls.erase(calls.end() - 2);
  // without the brief check of one of the batches, and the reading that is timed
  for (size_t i = 1; i < calls.size(); ++i)
    while (calls[i] == "read_output" && calls[i - 1].compare(0, 10, "time_batch") == 0)
      calls.erase(calls.begin() + std::ptrdiff_t(i));
  CHECK(slice(calls, calls.size() - 5, 5) ==
        std::vector<std::string>{"poison_outputs", "time_batch count=1 launch=0 flags=0",
                                 "scan_output", "read_output", "destroy"});
}

TEST_CASE("in place, the operand is brought back before it leaves its range, between batches") {
  const auto logged = measure("time 1000; in_place; emit describe_kernel restore_every 150");
  CHECK(logged.samples.batch == 150);  // not the 200 that would fill the span
  uint64_t since = 0, most = 0;
  for (const auto& call : logged.calls) {
    if (call == "restore") since = 0;
    if (call.compare(0, 17, "time_batch count=") == 0) since += std::stoull(call.substr(17));
    most = std::max(most, since);
  }
  CHECK(most == 150);
}

TEST_CASE("of several ranks a batch has 20 calls, 200 of short ones") {
  const std::string script = "emit describe_kernel ranks 2; time ";
  CHECK(measure("time 50000").samples.batch == 4);
  CHECK(measure(script + "50000").samples.batch == 200);
  CHECK(measure(script + "200000").samples.batch == 20);
  const char* const in_place = "; in_place; emit describe_kernel restore_every 104";
  CHECK(measure(script + "50000" + in_place).samples.batch == 104);
}

TEST_CASE("cold by flushing: one call at a time") {
  RunOptions options;
  options.cold = true;
  const auto logged = measure("time 1000; flush", options);
  CHECK(logged.samples.batch == 1);
  for (const auto& call : logged.calls)
    if (call.compare(0, 10, "time_batch") == 0)
      CHECK(call == "time_batch count=1 launch=0 flags=0");
}

TEST_CASE("once: one call between markers, nothing else") {
  const TemporaryFolder folder;
  const Backend backend = fake_backend("time 1234; log " + (folder / "calls"));
  Stages stages;
  RunOptions options;
  options.once = true;
  {
    Trial trial({backend, {}}, plan_first_choice({Problem::parse(kProblem), options}, backend),
                stages);
    trial.run_once();
    REQUIRE(trial.samples());
    CHECK(trial.samples()->per_call_ns == std::vector<double>{1234});
    CHECK(trial.samples()->stop == StopReason::kTooFew);
    CHECK(trial.verification().state == Verification::State::kSkipped);
    CHECK(trial.verification().reason == "one call only");
  }
  CHECK(kernel_calls(folder) == std::vector<std::string>{"prepare", "describe_kernel",
                                                         "time_batch count=1 launch=0 flags=1",
                                                         "destroy"});
}

TEST_CASE("a few samples: a first call, an estimate, batches that fill the span") {
  const TemporaryFolder folder;
  const Backend backend = fake_backend("time 5000 1000 hold; log " + (folder / "calls"));
  Stages stages;
  RunOptions options;
  options.verify = false;
  {
    Trial trial({backend, {}}, plan_first_choice({Problem::parse(kProblem), options}, backend),
                stages);
    CHECK(trial.sample(3, 200e3) == std::vector<double>(3, 1000));
  }
  const auto calls = kernel_calls(folder);
  CHECK(slice(calls, 2, 5) == std::vector<std::string>{"time_batch count=1 launch=0 flags=0",
                                                       "time_batch count=1 launch=0 flags=0",
                                                       "time_batch count=200 launch=0 flags=0",
                                                       "time_batch count=200 launch=0 flags=0",
                                                       "time_batch count=200 launch=0 flags=0"});
}

TEST_CASE("resumed, a trial makes one batch of what another has measured, and goes on from there") {
  const TemporaryFolder folder;
  const Backend backend = fake_backend("time 100e3 hold; log " + (folder / "calls"));
  const std::string batch = "time_batch count=5 launch=0 flags=0";
  Stages stages;
  RunOptions options;
  options.verify = false;
  {
    Trial trial({backend, {}}, plan_first_choice({Problem::parse(kProblem), options}, backend),
                stages);
    Samples samples;
    samples.batch = 5;
    samples.per_call_ns = {100e3};
    trial.resume(samples);
    CHECK(stages.device_ns == 500e3);
    const Trial::Span span = trial.run_for(900e3);
    CHECK(span.calls == 10);
    CHECK(span.elapsed_ns == 1e6);
    CHECK(trial.time_single_calls() == std::vector<double>(100, 100e3));
  }
  const auto calls = kernel_calls(folder);
  CHECK(slice(calls, 2, 3) == std::vector<std::string>(3, batch));
}

TEST_CASE("calls from 10 ms on are warmed up for the first samples alone") {
  const TemporaryFolder folder;
  const Backend backend = fake_backend("time 20e6 hold; log " + (folder / "calls"));
  Stages stages;
  RunOptions options;
  options.verify = false;
  {
    Trial trial({backend, {}}, plan_first_choice({Problem::parse(kProblem), options}, backend),
                stages);
    for (int turn = 0; turn < 3; ++turn)
      CHECK(trial.sample(1, 500e3) == std::vector<double>(1, 20e6));
  }
  const auto calls = kernel_calls(folder);
  CHECK(slice(calls, 2, 5) == std::vector<std::string>(5, "time_batch count=1 launch=0 flags=0"));
  CHECK(calls.size() == 2 + 5 + 1);
}

// Other work on the machine can make the calls of a batch look long, and the results in place of
// several calls add up.
TEST_CASE("in place, several calls are not taken for a single one, wherever a delay begins") {
  for (int batches = 4; batches < 24; batches += 2) {
    const std::string times = "time 20e3*" + std::to_string(batches) + " 200e6 hold";
    CHECK_NOTHROW_MESSAGE(measure("in_place; " + times), times);
  }
}

}  // namespace
}  // namespace deepbench
