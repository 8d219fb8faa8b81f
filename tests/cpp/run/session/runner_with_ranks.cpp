// A runner that is one of two ranks: what rank 0 runs, the other follows. The other is a process of
// its own, since a backend knows of one rank.
#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "../../fake_backend.hpp"
#include "../../forked_process.hpp"
#include "../../group/local_group.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/session/runner.hpp"

namespace deepbench {
namespace {

using testing::environment_of;
using testing::ForkedProcess;
using testing::plugin_path;

constexpr const char* kOptions = "ceilings=no cores=all";  // this process keeps its processors
constexpr const char* kGemm = "gemm m=7 n=5 k=9";
constexpr const char* kSum = "all_reduce elements=64";

std::unique_ptr<Runner> make_runner(Rendezvous& meeting) {
  return std::make_unique<Runner>(plugin_path("fake"), kOptions, std::vector<std::string>(),
                                  meeting.wait());
}

// The other rank's exit status: 0 once rank 0 has told that there is no more.
int run_follower(int port) {
  try {
    Rendezvous meeting(environment_of(1, 2, port), {"1", "test"});
    make_runner(meeting)->follow_rank_zero();
    return 0;
  } catch (const RowFailure&) {
    return 1;
  } catch (const std::exception&) {
    return 2;
  }
}

class RunnerPair {
 public:
  explicit RunnerPair(const std::string& script) {
    setenv("DEEPBENCH_FAKE_SCRIPT", script.c_str(), 1);
    Rendezvous meeting(environment_of(0, 2, 0), {"1", "test"});
    other_ = std::make_unique<ForkedProcess>([&] { return run_follower(meeting.port()); });
    first_ = make_runner(meeting);
  }

  Runner& first() { return *first_; }
  int end() {
    first_.reset();
    return other_->end();
  }

 private:
  std::unique_ptr<ForkedProcess> other_;
  std::unique_ptr<Runner> first_;  // ends ahead of the other, which waits for it
};

TEST_CASE("two ranks: a fleet's rows, a collective's, and an end for both") {
  RunnerPair pair("devices 2; time 1e6; when rank=1 time 2e6");
  const Row own = pair.first().run(kGemm, 3);
  CHECK(own.reason == "");
  CHECK(own.position == 3);
  CHECK(own.ranks_json.find("{\"count\": 2, \"representative\": 0, ") == 0);
  CHECK(own.ranks_json.find("\"median_ns\": [1000000, 2000000]") != std::string::npos);
  CHECK(own.median_ns() == 1e6);

  const Row sum = pair.first().run(kSum, 4);
  CHECK(sum.reason == "");
  CHECK(sum.ranks_json.empty());
  CHECK(sum.median_ns() == 2e6);  // the slowest rank's
  CHECK(sum.regime.ranks == 2);
  CHECK(sum.metrics.back().name == "rank_spread");
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: a rank that fails is named with the device of its place on the machine") {
  RunnerPair pair("devices 2; when rank=1 fail prepare failed no room");
  const Row own = pair.first().run(kGemm, 0);
  CHECK(own.reason.find("rank 1 (") == 0);
  CHECK(own.reason.find(", device 1): ") != std::string::npos);
  CHECK(own.ranks_json.find("\"failures\": [{\"rank\": 1, ") != std::string::npos);
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: a backend without collectives has a fleet's rows, and no sums") {
  for (const std::string without : {"", "when rank=1 "}) {
    CAPTURE(without);
    RunnerPair pair("devices 2; time 1e6; " + without + "fail join unsupported no links here");
    const Row own = pair.first().run(kGemm, 0);
    CHECK(own.reason == "");
    CHECK(own.ranks_json.find("{\"count\": 2, ") == 0);
    const Row sum = pair.first().run(kSum, 1);
    CHECK(sum.status == Status::kUnsupported);
    CHECK(sum.reason.find("no links here") != std::string::npos);
    CHECK(pair.first().run(kGemm, 2).reason == "");
    CHECK(pair.end() == 0);
  }
}

TEST_CASE("two ranks: a fleet's copies to the device are held against no ceilings") {
  RunnerPair pair("devices 2");
  const std::string options = " bytes=100000000 ; ceilings=yes verify=no";
  const Row within = pair.first().run("memory kind=copy" + options, 0);
  CHECK(within.bound.by == "memory");
  const Row between = pair.first().run("memory kind=h2d" + options, 1);
  CHECK(between.status == Status::kOk);
  CHECK(between.bound.by.empty());
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: they rest alike, though one has a higher clock") {
  const std::string script = "devices 2; time 1e6; host 1e6; mhz 1500;";
  for (const std::string higher : {"rank=1", "rank=0"}) {
    CAPTURE(higher);
    RunnerPair pair(script + "emit describe_device most_clock_mhz 1500; when " + higher +
                    " emit describe_device most_clock_mhz 2000");
    const Row sum = pair.first().run(kSum, 0);
    CHECK(sum.reason == "");
    CHECK(pair.end() == 0);
  }
}

TEST_CASE("two ranks: they plan alike, though each device and kernel has limits of its own") {
  const std::string script = "devices 2; time 1e6; host 1e6; in_place;";
  for (const std::string slot_and_fact :
       {"describe_device min_span_ns 5000000", "describe_device min_total_ns 50000000",
        "describe_device row_limit_ns 2000000", "describe_device timer_resolution_ns 1000",
        "describe_kernel schedule_sensitive 1", "describe_kernel restore_every 3"})
    for (const std::string rank : {"rank=0", "rank=1"}) {
      CAPTURE(slot_and_fact);
      CAPTURE(rank);
      RunnerPair pair(script + "when " + rank + " emit " + slot_and_fact);
      const Row sum = pair.first().run(kSum, 0);
      CHECK(sum.reason == "");
      CHECK(pair.end() == 0);
    }
}

TEST_CASE("two ranks: where the kernel of one alone works in place, the row fails on both") {
  RunnerPair pair("devices 2; time 1e6; host 1e6; when rank=1 in_place");
  const Row sum = pair.first().run(kSum, 0);
  CHECK(sum.reason == "the kernels of some ranks work in place, and others do not");
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: the second process of a backend that forks takes no part") {
  RunnerPair pair("devices 2; time 1e6; host 1e6; when rank=1 fork prepare");
  const Row sum = pair.first().run(kSum, 0);
  CHECK(sum.reason == "");
  CHECK(pair.end() == 0);
}

// The host's time of a call includes the meeting of the ranks before it. Other work on the machine
// can make it as long as what the clock shows, and ends the doubt.
TEST_CASE("two ranks: a clock of isolated calls that shows more than has passed is mistrusted") {
  Row sum;
  for (int i = 0; i < 5 && sum.status != Status::kMistrusted; ++i) {
    RunnerPair pair("devices 2; real_time; time 100; when rank=1 time 500e6");
    sum = pair.first().run(std::string(kSum) + " ; launch=isolated samples=3", 0);
    CHECK(pair.end() == 0);
  }
  CHECK(sum.status == Status::kMistrusted);
  CHECK_MESSAGE(
      sum.reason.find("rank 1: 1 call takes 5e+05 us by the backend's clock, and the host "
                      "saw only ") == 0,
      sum.reason);
}

TEST_CASE("two ranks: single calls are of the library's default, where that is kept") {
  RunnerPair pair(
      "candidates own quick; time 1e6; when candidate=quick time 8e5;"
      "when candidate=quick attempt=5 time 2e6");
  const Row sum = pair.first().run(std::string(kSum) + " ; algorithm=exhaustive", 0);
  CHECK(sum.reason == "");
  CHECK(sum.algorithm.name == "naive:own");
  REQUIRE(sum.metrics.size() >= 4);
  CHECK(sum.metrics[sum.metrics.size() - 4].name == "call_p50");
  CHECK(sum.metrics[sum.metrics.size() - 4].value == 1e6);
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: where one cannot prepare its own choice again, both keep the row") {
  RunnerPair pair(
      "candidates own quick; time 1e6; when candidate=quick time 8e5;"
      "when candidate=quick attempt=5 time 2e6; when rank=1 attempt=6 fail prepare failed full");
  const Row sum = pair.first().run(std::string(kSum) + " ; algorithm=exhaustive", 0);
  CHECK(sum.status == Status::kOk);
  CHECK(sum.median_ns() == 1e6);
  REQUIRE_FALSE(sum.notes.empty());
  CHECK(sum.notes.back() == "without energy or single calls: rank 1: prepare: full");
  CHECK(pair.first().run(kGemm, 1).status == Status::kOk);
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: a line that cannot be, or fails on one of them, costs its row alone") {
  RunnerPair pair("time 1e6; when rank=1 elements=65 fail time_batch failed the cable is out");
  CHECK(pair.first().run("gemm m=", 0).status == Status::kInvalid);
  CHECK(pair.first().run(std::string(kGemm) + " ; cores=share", 0).status == Status::kInvalid);
  const Row failed = pair.first().run("all_reduce elements=65", 1);
  CHECK(failed.status == Status::kFailed);
  CHECK(failed.reason == "rank 1: time_batch: the cable is out");
  CHECK(pair.first().run(kSum, 2).status == Status::kOk);
  CHECK(pair.first().run(kGemm, 3).status == Status::kOk);
  CHECK_FALSE(pair.first().device_lost());
  CHECK(pair.end() == 0);
}

TEST_CASE("two ranks: one that loses its device ends both, with its reason") {
  RunnerPair pair("time 1e6; when rank=1 from 3 fail time_batch device_lost it fell off");
  const Row lost = pair.first().run(kSum, 0);
  CHECK(lost.status == Status::kDeviceLost);
  CHECK(lost.reason == "rank 1: time_batch: it fell off");
  CHECK(pair.first().device_lost());
  CHECK(pair.end() == 1);
}

}  // namespace
}  // namespace deepbench
