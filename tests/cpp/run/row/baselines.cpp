// The baselines of a row: what is measured, under which conditions, and what a failure leaves.
#include "deepbench/run/row/baselines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "../../fake_backend.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::TemporaryFolder;

const Baseline kDense = {"dense baseline", "dense_time", "speedup",
                         "gemm m=64 n=64 k=64 precision=float"};

// Measures `baselines` in turn under each script, as rows of one session.
class BaselineSession {
 public:
  BaselineTimes measure(const std::string& script, const std::vector<Baseline>& baselines,
                        const RunOptions& options = {}) {
    const TemporaryFolder folder;
    const Backend backend = fake_backend(script + "\nlog " + (folder / "calls"));
    TrialSlot slot;
    const BaselineTimes result = baselines_.measure({backend, backend.describe_device(0)},
                                                    baselines, options, slot, stages_);
    slot.trial.reset();
    calls_ = folder.lines("calls");
    return result;
  }

  const Stages& stages() const { return stages_; }
  // Whether the last measurement called this slot.
  bool called(const std::string& slot) const {
    return std::any_of(calls_.begin(), calls_.end(), [&](const std::string& line) {
      return line.substr(0, line.find(' ')) == slot;
    });
  }

 private:
  Baselines baselines_;
  Stages stages_;
  std::vector<std::string> calls_;
};

TEST_CASE("a baseline is verified and measured, and its note names the kernel") {
  BaselineSession session;
  const BaselineTimes result = session.measure("time 3000", {kDense});
  REQUIRE(result.times.size() == 1);
  CHECK(result.times[0].metric == "dense_time");
  CHECK(result.times[0].speedup == "speedup");
  CHECK(result.times[0].median_ns == 3000);
  REQUIRE_FALSE(result.times[0].samples_ns.empty());
  CHECK(result.times[0].samples_ns.back() == 3000);
  CHECK(result.notes == std::vector<std::string>{"dense baseline: fake, naive:default"});
  CHECK(session.called("scan_output"));
  CHECK(session.stages().verify_ns > 0);
  CHECK(session.measure("", {}).notes.empty());
}

TEST_CASE("a baseline has the conditions of the row, but neither its library nor its algorithm") {
  RunOptions options;
  options.apply("cache=cold threads=3 seed=7 library=other algorithm=best");
  const std::string conditions = "when cache=cold threads=3 seed=7 library=fake candidate=default ";
  BaselineSession session;
  const BaselineTimes result =
      session.measure("cache 1000000; time 9000; " + conditions + "time 3000", {kDense}, options);
  REQUIRE_MESSAGE(result.times.size() == 1, result.notes[0]);
  CHECK(result.times[0].median_ns == 3000);
}

TEST_CASE("the backend names the candidate of a baseline") {
  BaselineSession session;
  const BaselineTimes result =
      session.measure("candidates a b; emit describe baseline_candidate.gemm b", {kDense});
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0] == "dense baseline: fake, naive:b");
}

TEST_CASE("a failure of a baseline is a note, and the next one is measured") {
  const Baseline half = {"dense baseline in half", "half_time", "half_speedup",
                         "gemm m=64 n=64 k=64 precision=half"};
  struct Case {
    const char *script, *note;
  };
  for (const Case& one :
       {Case{"when precision=float fail prepare failed no luck",
             "no dense baseline: prepare: no luck"},
        Case{"when precision=float fail plan unsupported not here", "no dense baseline: not here"},
        Case{"when precision=float memory_bytes 70000000000;"
             "emit describe_device memory_available_bytes 60000000000",
             "no dense baseline: needs 65.19 GiB of memory; 55.88 GiB are available"},
        Case{"when precision=float mutant zero_tile", "no dense baseline: before timing: "}}) {
    BaselineSession session;
    const BaselineTimes result = session.measure(one.script, {kDense, half});
    REQUIRE(result.notes.size() == 2);
    CHECK_MESSAGE(result.notes[0].find(one.note) == 0, result.notes[0]);
    REQUIRE(result.times.size() == 1);
    CHECK(result.times[0].metric == "half_time");
  }
}

TEST_CASE("an optional baseline that the backend does not support is left out without a note") {
  Baseline optional = kDense;
  optional.optional = true;
  BaselineSession session;
  const BaselineTimes refused = session.measure("fail plan unsupported no", {optional});
  CHECK(refused.times.empty());
  CHECK(refused.notes.empty());
  CHECK(session.measure("fail prepare failed no", {optional}).notes.size() == 1);
}

TEST_CASE("a lost device ends the row") {
  BaselineSession session;
  CHECK_THROWS_WITH_AS(session.measure("fail time_batch device_lost it fell off", {kDense}),
                       doctest::Contains("it fell off"), RowFailure);
}

TEST_CASE("a baseline whose call would take very long is not begun") {
  const Baseline huge = {"dense baseline", "dense_time", "speedup",
                         "gemm m=10000 n=10000 k=10000 precision=float"};
  BaselineSession session;
  const std::string slow = "emit describe estimate.flops_per_s.gemm 1e11;";
  const BaselineTimes result = session.measure(slow, {huge});
  CHECK(result.notes ==
        std::vector<std::string>{"no dense baseline: one call would take about 20 s"});
  CHECK_FALSE(session.called("prepare"));
  RunOptions options;
  options.apply("threads=4 verify=no");
  CHECK(session.measure(slow + "emit describe estimate.per_thread 1; time 3000", {huge}, options)
            .times.size() == 1);
}

TEST_CASE("neighboring rows share a baseline of equal conditions") {
  BaselineSession session;
  CHECK(session.measure("time 3000", {kDense}).times.at(0).median_ns == 3000);
  const BaselineTimes again = session.measure("time 5000", {kDense});
  CHECK(again.times.at(0).median_ns == 3000);
  CHECK_FALSE(again.times.at(0).samples_ns.empty());
  CHECK(again.notes.size() == 1);
  CHECK_FALSE(session.called("prepare"));
  RunOptions cold;
  cold.apply("cache=cold");
  CHECK(session.measure("time 5000; cache 1000000", {kDense}, cold).times.at(0).median_ns == 5000);
  CHECK(session.measure("time 7000", {kDense}).times.at(0).median_ns == 7000);  // no neighbor
}

TEST_CASE("a baseline that failed is tried again for the next row") {
  BaselineSession session;
  CHECK(session.measure("fail prepare failed once", {kDense}).times.empty());
  CHECK(session.measure("time 3000", {kDense}).times.size() == 1);
}

}  // namespace
}  // namespace deepbench
