// One row from support to ceilings: how it can end, and what is on it.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "../../fake_backend.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::fake_row;

constexpr const char* kProblem = "gemm m=64 n=64 k=64";  // 524288 operations, 64 KiB

bool has_note(const Row& row, const std::string& text) {
  return std::any_of(row.notes.begin(), row.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_CASE("a row that is not supported says why, and nothing was prepared") {
  const Row row = fake_row("fail plan unsupported no half on Tuesdays", kProblem);
  CHECK(row.status == Status::kUnsupported);
  CHECK(row.reason == "no half on Tuesdays");
  CHECK_FALSE(row.samples);
  CHECK(fake_row("", "conv w=7 h=7 c=4 n=2 k=8 s=3 r=3").reason == "the fake backend has no conv");
}

TEST_CASE("a problem that does not fit the memory is refused before it is prepared") {
  const Row row = fake_row(
      "memory_bytes 70000000000; emit describe_device memory_available_bytes 60000000000;"
      "crash prepare",
      kProblem);
  CHECK(row.status == Status::kOutOfMemory);
  CHECK(row.reason == "needs 65.19 GiB of memory; 55.88 GiB are available");
  const Row total =
      fake_row("memory_bytes 3000; emit describe_device memory_available_bytes 2999", kProblem);
  CHECK(total.status == Status::kOutOfMemory);
  CHECK(fake_row("memory_bytes 2999; emit describe_device memory_available_bytes 2999", kProblem)
            .status == Status::kOk);
}

// C's 10^8 rows are projected: three sums and a bound each, at a time.
TEST_CASE("what is needed is said in a unit that shows it") {
  const auto reason = [](const std::string& needed, const std::string& available) {
    return fake_row("memory_bytes " + needed + "; emit describe_device memory_available_bytes " +
                        available,
                    kProblem)
        .reason;
  };
  CHECK(reason("3000000000", "2000000").find("needs 2.79 GiB of memory; 1.91 MiB are") == 0);
  CHECK(reason("50000", "2000").find("needs 48.83 KiB of memory; 1.95 KiB are") == 0);
}

TEST_CASE("a kernel has some notes, not thousands") {
  std::string script;
  for (int i = 0; i < 30; ++i)
    script += "emit describe_kernel note." + std::to_string(i) + " n" + std::to_string(i) + "; ";
  const Row row = fake_row(script, kProblem);
  REQUIRE(row.notes.size() == 21);
  CHECK(row.notes.back() == "10 more notes of the backend");
}

TEST_CASE("what verification takes counts where it shares the memory") {
  const std::string problem = "gemm m=100000000 n=1 k=1";
  const std::string device =
      "memory_bytes 1000000000; emit describe_device memory_available_bytes 3500000000;";
  const std::string host = "emit describe_device shares_host_memory 1;";
  const Row row = fake_row(device + host, problem, "check=yes");
  CHECK(row.status == Status::kOutOfMemory);
  CHECK(row.reason ==
        "needs 0.93 GiB of memory and 3 GiB to be verified; 3.26 GiB are available (--no-verify "
        "measures without)");
  CHECK(fake_row(device + host, problem, "check=yes verify=no").status == Status::kOk);
  CHECK(fake_row(device + host, problem, "check=yes once=yes").status == Status::kOk);
  const Row apart = fake_row("memory_bytes 1; emit describe_device memory_available_bytes 2",
                             "gemm m=400000000000000000 n=1 k=1", "check=yes");
  CHECK(apart.status == Status::kOutOfMemory);
  CHECK(apart.reason.find("of host memory to be verified; ") != std::string::npos);
}

TEST_CASE("what no memory holds is not blamed on the library") {
  const std::string script =
      "fail plan unsupported no such kernel; emit describe_device memory_available_bytes ";
  const std::string problem = "gemm m=1024 n=1024 k=1024";  // 12 MiB, and C once more
  const Row row = fake_row(script + "5000000", problem);
  CHECK(row.status == Status::kOutOfMemory);
  CHECK(row.reason == "its operands alone take 8 MiB of memory; 4.77 MiB are available");
  CHECK(fake_row(script + "9000000", problem).reason == "no such kernel");
}

TEST_CASE("a failure in any slot of a row is its reason") {
  for (const std::string slot :
       {"plan", "describe_plan", "prepare", "describe_kernel", "time_batch"}) {
    const Row row = fake_row("fail " + slot + " failed the cable is out", kProblem);
    CHECK(row.status == Status::kFailed);
    CHECK(row.reason == slot + ": the cable is out");
  }
  CHECK(fake_row("fail prepare out_of_memory 5 GiB asked", kProblem).status ==
        Status::kOutOfMemory);
  CHECK(fake_row("fail time_batch device_lost it fell off", kProblem).status ==
        Status::kDeviceLost);
  CHECK(fake_row("answer elapsed_ns nan", kProblem).reason ==
        "time_batch: the backend gave an impossible answer: an elapsed time of nan ns");
}

TEST_CASE("what was measured is not lost to a failure of looking on") {
  const Row row = fake_row("time 1000; fail observe failed no sensor", kProblem);
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 1000);
  CHECK(has_note(row, "no sensor"));
}

TEST_CASE("what a kernel says of itself is on the row") {
  const Row row = fake_row(
      "emit describe_kernel padded.m 72; emit describe_kernel padding_rule to multiples of 8;"
      "emit describe_kernel metric.dense 2.5 us lower; emit describe_kernel metric.own_rate 9.0 "
      "GB/s "
      "higher; emit describe_kernel note.one said once; emit describe_kernel workspace_bytes 4096;"
      "emit describe_kernel planning_ns 1500.0; beta 0; mhz 1500; flags 2",
      std::string(kProblem) + " precision=int8");
  REQUIRE_MESSAGE(row.status == Status::kOk, row.reason);
  CHECK(row.library == "fake");
  CHECK(row.algorithm.name == "naive:default");
  CHECK(row.algorithm.workspace_bytes == 4096);
  CHECK(row.algorithm.planning_ns == 1500);
  CHECK(row.padding_rule == "to multiples of 8");
  CHECK(row.padded.integer("m") == 72);
  REQUIRE(row.metrics.size() == 2);
  CHECK(row.metrics[0].name == "dense");
  CHECK(row.metrics[0].unit == "us");
  CHECK(row.metrics[0].better == "lower");
  CHECK(row.metrics[1].unit == "GB/s");
  CHECK(row.metrics[1].better == "higher");
  CHECK(has_note(row, "said once"));
  CHECK(has_note(row, "the script says so"));  // of beta
  CHECK(row.observed.real("power_w") == 100);
  CHECK(row.observed.real("sm_clock_mhz") == 1500);
  CHECK(row.observed.integer("power_capped_samples") > 0);
  CHECK(row.regime.threads == 1);
  CHECK(row.device_name == "Fake device 0");
}

TEST_CASE("a device that lowers its clock rests between batches, unless its load is sustained") {
  const std::string device = "emit describe_device most_clock_mhz 2000; time 1e6; host 1e6;";
  const Row low = fake_row(device + "mhz 1500", kProblem, "samples=5 ceilings=no");
  REQUIRE_MESSAGE(low.status == Status::kOk, low.reason);
  CHECK(low.observed.real("rest_ns") == 500e3);
  CHECK(low.stages.rest_ns >= 5 * 500e3);
  CHECK_FALSE(
      fake_row(device + "mhz 1990", kProblem, "samples=5 ceilings=no").observed.has("rest_ns"));
  const Row sustained =
      fake_row(device + "mhz 1500", kProblem, "samples=5 power=sustained ceilings=no");
  CHECK_FALSE(sustained.observed.has("rest_ns"));
  CHECK_FALSE(
      fake_row("time 1e6; mhz 1500", kProblem, "samples=5 ceilings=no").observed.has("rest_ns"));
}

TEST_CASE("tf32 that is computed in float says so, and is held against the ceiling of float") {
  const std::string problem = "gemm m=64 n=64 k=64 precision=tf32";
  // Which ceilings the row is held against does not depend on their figures, and the products
  // that measure them take a minute to verify.
  const std::string script = "when k=1024 fail plan unsupported no large products; ";
  const Row wide =
      fake_row(script + "when m=64 emit describe_kernel arithmetic float", problem, "");
  REQUIRE_MESSAGE(wide.status == Status::kOk, wide.reason);
  CHECK(has_note(wide, "computed in float, not in tf32, and held against the ceiling of float"));
  CHECK(wide.bound.arithmetic_key.find("arithmetic precision=float ") == 0);
  CHECK(wide.bound.latency_key.find("latency precision=tf32 ") == 0);
  CHECK(wide.to_json().find("\"arithmetic\": \"float\"}, \"rates\"") != std::string::npos);
  const Row narrow = fake_row(script, problem, "");
  CHECK(narrow.bound.arithmetic_key.find("arithmetic precision=tf32 ") == 0);
  CHECK_FALSE(has_note(narrow, "computed in float"));
  CHECK(narrow.to_json().find("\"arithmetic\": \"float\"") == std::string::npos);
}

TEST_CASE("ceilings are measured with rests like rows, energy without") {
  // Products of 1024 take long enough for a ceiling: larger ones would take a minute to verify.
  const std::string device =
      "emit describe_device most_clock_mhz 2000; time 1e6; when k=1024 time 3e6; mhz 1500;";
  const Row row = fake_row(device, kProblem, "samples=5 ceilings=yes energy=yes");
  REQUIRE_MESSAGE(row.status == Status::kOk, row.reason);
  CHECK(row.stages.ceilings_ns > 20 * 500e3);
  REQUIRE(row.metrics.size() == 1);
  CHECK(row.stages.rest_ns < 500 * 500e3);  // of 2,200 calls
}

TEST_CASE("a row that is wrong has no figures of its kernel either") {
  const std::string script = "emit describe_kernel metric.own_time 2.5 us lower;";
  CHECK(fake_row(script, kProblem).metrics.size() == 1);
  const Row row = fake_row(script + "mutant zero_tile", kProblem);
  CHECK(row.status == Status::kIncorrect);
  CHECK(row.metrics.empty());
}

TEST_CASE("energy is measured when it is asked for, over a span of its own") {
  const Row asked = fake_row("time 1e6", kProblem, "energy=yes ceilings=no");
  REQUIRE(asked.metrics.size() == 1);
  CHECK(asked.metrics[0].name == "energy");
  CHECK(asked.metrics[0].unit == "J");
  CHECK(asked.metrics[0].better == "lower");
  CHECK(asked.metrics[0].value == 1.0 / 2200);  // one joule in 2.2 s of calls of 1 ms
  CHECK(fake_row("time 1e6", kProblem).metrics.empty());
}

TEST_CASE("a counter of energy that no working device has gives a note and no figure") {
  const std::pair<const char*, const char*> cases[] = {
      {"-1", "runs back"}, {"0", "stands still"}, {"3e5", "jumps"}};
  for (const auto& [joules, fault] : cases) {
    CAPTURE(joules);
    const Row row =
        fake_row("time 1e6; energy " + std::string(joules), kProblem, "energy=yes ceilings=no");
    CHECK(row.status == Status::kOk);
    CHECK(row.metrics.empty());
    REQUIRE(row.notes.size() == 1);
    CHECK(row.notes[0] ==
          "no energy: energy: the backend gave an impossible answer: a counter that " +
              std::string(fault));
  }
}

TEST_CASE("the regime is on the row") {
  const Row hot = fake_row("", kProblem);
  CHECK(hot.regime.cache == "hot");
  CHECK(hot.regime.cold == "");
  CHECK(hot.regime.copies == 1);
  CHECK(hot.regime.resident == true);
  CHECK(hot.regime.power == "rested");
  CHECK(fake_row("cache 1000", kProblem).regime.resident == false);
  const Row cold = fake_row("cache 1000000", kProblem, "ceilings=no cache=cold threads=3");
  CHECK(cold.regime.cache == "cold");
  CHECK(cold.regime.cold == "rotation");
  CHECK(cold.regime.copies == 46);  // of 65,536 bytes each
  CHECK(cold.regime.threads == 3);
  CHECK(fake_row("", kProblem, "ceilings=no cache=cold").regime.cold == "flush");  // 1537 copies
  const Row stuck = fake_row("cache 1000000; rotation stuck", kProblem, "ceilings=no cache=cold");
  CHECK(stuck.status == Status::kFailed);
  CHECK(stuck.reason.find("copies of the operands") != std::string::npos);
}

TEST_CASE("a row is held against measured ceilings") {
  // The model: 1 us, then 1000 operations or 1000 bytes (from the caches) in a nanosecond.
  const Row row = fake_row("", "gemm m=256 n=256 k=256", "");
  REQUIRE_MESSAGE(row.status == Status::kOk, row.reason);
  const double t = 1000 + 2.0 * 256 * 256 * 256 / 1000;
  CHECK(row.median_ns() == Approx(t));
  CHECK(row.bound.by == "arithmetic");
  CHECK(row.bound.latency_ns == Approx(1000).epsilon(0.001));
  CHECK(row.bound.flops_per_s == Approx(1e12).epsilon(0.01));
  CHECK(row.bound.share_arithmetic == Approx((t - 1000) / t).epsilon(0.01));
  CHECK(row.bound.share_roofline == row.bound.share_arithmetic);

  const Row small = fake_row("", kProblem, "");
  CHECK(small.bound.by == "latency");
  const Row copy = fake_row("", "memory kind=copy bytes=1000000000", "verify=no");
  CHECK(copy.bound.by == "memory");
  CHECK(copy.bound.level == "memory");
  CHECK(copy.bound.share_roofline == Approx(1).epsilon(0.01));
  const Row thin = fake_row("", "gemm m=1000000 n=1 k=1", "verify=no");
  CHECK(thin.bound.by == "cache");
  CHECK(thin.bound.level == "llc");
}

// 2^31 multiplications and additions in half of the time that the model takes.
constexpr const char* kLargeAboveCeiling = "when m=2048 n=1024 time 2e6";
constexpr const char* kLargeProduct = "gemm m=2048 n=1024 k=1024";

TEST_CASE("a large product steadily above its ceiling raises it for the file") {
  const Row row = fake_row(kLargeAboveCeiling, kLargeProduct, "verify=no");
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 2e6);
  // The row itself is judged by what was measured.
  CHECK(row.bound.flops_per_s == Approx(1e12).epsilon(0.01));
  CHECK(row.bound.share_roofline == Approx(4294967296 / 2e9).epsilon(0.01));
  CHECK(row.notes == std::vector<std::string>{
                         "measured twice, 2.000 ms, then 2.000 ms: steadily above the measured "
                         "ceiling, which it raises; the second, which the first confirms, is "
                         "kept"});
}

TEST_CASE("a small product steadily above its ceiling does not raise it") {
  const Row row = fake_row("when m=64 time 200", kProblem, "");
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 200);
  CHECK(row.bound.share_roofline == Approx(524.288 / 200).epsilon(0.01));
  CHECK(has_note(row, "which a problem of so few operations does not raise"));
}

// The device keeps 1,000,000 bytes and moves 100 bytes in a nanosecond from the memory, 1000 from
// the cache.
constexpr const char* kSmallCache = "model 0.001 1000 100 1000; cache 1000000; when kind=write ";

Row hot_write(const std::string& bytes, const std::string& script,
              const std::string& options = "verify=no") {
  return fake_row(kSmallCache + script, "memory kind=write bytes=" + bytes, options);
}

TEST_CASE("a hot row up to twice the cache is held against the memory unless it is faster") {
  const Row slow = hot_write("1500000", "time 16000");
  CHECK(slow.bound.level == "memory");
  CHECK(slow.bound.by == "memory");
  CHECK(slow.bound.share_roofline == Approx(15000. / 16000).epsilon(0.01));
  // 500,000 bytes from the memory take 5000 ns.
  const Row fast = hot_write("1500000", "time 6000");
  CHECK(fast.status == Status::kOk);
  CHECK(fast.bound.level == "llc");
  CHECK(fast.bound.by == "cache");
  CHECK(fast.bound.share_roofline == Approx(1500. / 6000).epsilon(0.01));
  CHECK(fast.notes.empty());
}

TEST_CASE("a hot row faster than what its cache can explain is doubted, and raises nothing") {
  const Row row = hot_write("1500000", "time 4000");
  CHECK(row.status == Status::kOk);
  CHECK(row.bound.level == "memory");
  CHECK(has_note(row, "which operands that a smaller cache may hold in part do not raise"));
  const Row unsteady =
      hot_write("1500000", "attempt=0 time 4000; when kind=write attempt=1 time 3000");
  CHECK(unsteady.status == Status::kMistrusted);
}

TEST_CASE("a hot row of several caches doubts the memory first, a cold one is never explained") {
  const Row several = hot_write("4000000", "time 35000");
  CHECK(several.bound.level == "llc");
  CHECK(several.notes.empty());
  const Row cold = fake_row(kSmallCache + std::string("time 6000; flush"),
                            "memory kind=write bytes=1500000", "verify=no cache=cold");
  CHECK(cold.bound.level == "memory");
  CHECK(has_note(cold, "steadily above the measured ceiling, which it raises"));
}

TEST_CASE("a row at most 5 % above its ceiling is left alone") {
  // Without overheads the ceilings are exact: 524.288 ns are possible.
  const std::string model = "model 0.001 1000 100 1000; when m=64 time ";
  const Row near = fake_row(model + "505", kProblem, "");
  CHECK(near.status == Status::kOk);
  CHECK(near.bound.share_roofline == Approx(524.288 / 505).epsilon(0.001));
  CHECK(near.notes.empty());
  CHECK(has_note(fake_row(model + "490", kProblem, ""), "above the measured ceiling"));
}

TEST_CASE("a row above its ceiling that does not repeat is mistrusted") {
  const Row row =
      fake_row("when m=64 attempt=0 time 200; when m=64 attempt=1 time 300", kProblem, "");
  CHECK(row.status == Status::kMistrusted);
  CHECK(row.reason ==
        "measured twice, 200.0 ns, then 300.0 ns: above the measured ceiling, and the two differ; "
        "the second is kept, without rates; other work on the machine does that");
  CHECK(row.samples);
  CHECK_FALSE(row.has_rates());
}

TEST_CASE("a row that was above its ceiling once is measured again") {
  const Row row =
      fake_row("when m=64 attempt=0 time 200; when m=64 attempt=1 time 2000", kProblem, "");
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 2000);
  CHECK(row.bound.share_roofline < 1);
  CHECK(row.notes ==
        std::vector<std::string>{
            "measured twice, 0.2000 \u00b5s, then 2.000 \u00b5s: the first was above the "
            "measured ceiling; the second, which is not, is kept"});
}

TEST_CASE("a ceiling that was measured too low is measured again") {
  // The first time around every ceiling's problem runs at a third of its speed.
  const Row row = fake_row(
      "model 0.001 1000 100 1000; when m=256 time 35000;"
      "when m=1024 attempt=0 model 0.001 300 30 300; when m=2048 attempt=0 model 0.001 300 30 300;"
      "when m=4096 attempt=0 model 0.001 300 30 300",
      "gemm m=256 n=256 k=256", "");
  CHECK(row.status == Status::kOk);
  CHECK(row.bound.flops_per_s == Approx(1e12).epsilon(0.01));
  CHECK(row.bound.share_arithmetic == Approx(33554.432 / 35000).epsilon(0.01));
}

TEST_CASE("ceilings that cannot be measured leave the row as it is") {
  const Row row = fake_row(
      "when m=1024 fail time_batch failed x; when m=1 fail prepare failed x;"
      "when op=memory fail plan unsupported x",
      kProblem, "");
  CHECK(row.status == Status::kOk);
  CHECK(row.bound.flops_per_s == 0);
  CHECK(row.bound.bytes_per_s == 0);
  CHECK(row.bound.by == "");
  CHECK(has_note(row, "no roofline: the arithmetic ceiling of float could not be measured"));
}

TEST_CASE("without one of its roofs there is no roofline") {
  const Row row = fake_row("when m=1024 fail time_batch failed x", "gemm m=512 n=512 k=512", "");
  CHECK(row.status == Status::kOk);
  CHECK(row.bound.by == "");
  CHECK(row.bound.missing == "the arithmetic ceiling of float");
  CHECK(row.bound.arithmetic_key.find("arithmetic precision=float ") == 0);
  const Row other = fake_row("when op=memory fail prepare failed x", "gemm m=512 n=512 k=512", "");
  CHECK(has_note(other, "no roofline: the bandwidth of the llc could not be measured"));
}

TEST_CASE("power is sustained also for short calls, whose batches are long") {
  const std::string options = "ceilings=no power=sustained";
  CHECK(fake_row("time 2e6", kProblem, options).regime.power == "sustained");
  const Row quick = fake_row("time 2e4", kProblem, options);
  CHECK(quick.regime.power == "sustained");
  CHECK(quick.samples->batch == 1000);
}

TEST_CASE("a ceiling that cannot be measured a second time is what it was") {
  const Row row =
      fake_row(std::string(kLargeAboveCeiling) + "; when m=1024 attempt=1 fail time_batch failed x",
               kLargeProduct, "verify=no");
  CHECK(row.bound.missing == "");
  CHECK(has_note(row, "which it raises"));
}

TEST_CASE("few samples are too few to tell what is off, not noisy") {
  const Row row = fake_row("when m=64 time 200", kProblem, "samples=3");
  CHECK(row.notes == std::vector<std::string>{
                         "measured twice, 200.0 ns, then 200.0 ns: above the measured ceiling, "
                         "with too few samples to tell which is off; the second, after which the "
                         "ceiling was measured again, is kept"});
}

TEST_CASE("a row above its ceiling keeps its energy") {
  const Row row =
      fake_row("emit describe_device energy 1; when m=64 time 200", kProblem, "energy=yes");
  CHECK(std::any_of(row.metrics.begin(), row.metrics.end(),
                    [](const Metric& metric) { return metric.name == "energy"; }));
}

TEST_CASE("a candidate that was asked for is on the row, also of one call") {
  CHECK(
      fake_row("candidates own quick", kProblem, "once=yes algorithm=quick").algorithm.candidate ==
      "quick");
}

TEST_CASE("a small copy is bound by latency") {
  CHECK(fake_row("", "memory kind=copy bytes=64", "verify=no").bound.by == "latency");
}

TEST_CASE("an exchange is verified") {
  const Row row = fake_row("", "memory kind=exchange bytes=40000");
  CHECK_MESSAGE(row.status == Status::kOk, row.reason);
  CHECK(fake_row("mutant one_off", "memory kind=exchange bytes=40000").status ==
        Status::kIncorrect);
}

TEST_CASE("exchanges and the ways between host and device have no ceilings") {
  for (const char* kind : {"exchange", "h2d", "d2h"}) {
    const Row row = fake_row("", std::string("memory bytes=1000000000 kind=") + kind, "verify=no");
    REQUIRE_MESSAGE(row.status == Status::kOk, row.reason);
    CHECK(row.bound.by.empty());
    CHECK(row.bound.share_roofline == 0);
  }
}

TEST_CASE("times that no device has are nonsense") {
  const Row row = fake_row("when m=64 time 1e-6", kProblem, "");
  CHECK(row.status == Status::kFailed);
  CHECK(row.reason.find(
            "time_batch: the backend gave an impossible answer: an elapsed time of 1e-0") == 0);
}

TEST_CASE("a ceiling that cannot be measured is not invented from a row above another one") {
  const Row row = fake_row("when op=memory fail plan unsupported no; when m=256 time 20000",
                           "gemm m=256 n=256 k=256", "");
  CHECK(row.status == Status::kOk);
  CHECK(has_note(row, "steadily above the measured ceiling"));
  CHECK(row.bound.bytes_per_s == 0);
}

TEST_CASE("a noisy row raises no ceiling and is not mistrusted") {
  const Row row =
      fake_row("when m=256 time 20000 26000 18000 30000 21000 16000 24000 19000 35000 17000",
               "gemm m=256 n=256 k=256", "time_limit=0.001");
  CHECK(row.status == Status::kOk);
  REQUIRE(row.samples->stop != StopReason::kConverged);
  CHECK(has_note(row, "too noisy to tell"));
  CHECK(row.bound.flops_per_s == Approx(1e12).epsilon(0.01));
}

TEST_CASE("a device that is lost while ceilings are measured is lost") {
  const Row row = fake_row("when op=memory fail time_batch device_lost gone", kProblem, "");
  CHECK(row.status == Status::kDeviceLost);
}

TEST_CASE("once: one call, no verification, no ceilings") {
  const Row row = fake_row("time 1234; mutant last_k", kProblem, "once=yes");
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 1234);
  CHECK(row.bound.flops_per_s == 0);
  CHECK(row.verification.reason == "one call only");
}

}  // namespace
}  // namespace deepbench
