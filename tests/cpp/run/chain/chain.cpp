// Chains of the fake backend: the sum of its scripted times, verification, and failures.
#include "deepbench/run/chain/chain.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/session/runner.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::Json;
using testing::JsonReader;
using testing::plugin_path;

constexpr const char* kLine = "chain 0 1 0 ; gemm m=4 n=4 k=4 ; gemm m=8 n=4 k=4";

ChainRow chain_of(const std::string& script, const std::string& line = kLine,
                  const std::string& plugin = "fake") {
  fake_backend(script, plugin);
  return Runner(plugin_path(plugin), "ceilings=no").run_chain(line);
}

TEST_CASE("a chain takes the time of all of its calls, each counted as often as it is made") {
  const ChainRow chain = chain_of("time 1000; when m=8 time 5000");
  REQUIRE(chain.row.reason == "");
  CHECK(chain.calls == 3);
  CHECK(chain.kernels == 2);
  CHECK(chain.row.median_ns() == doctest::Approx(1000 + 5000 + 1000));
  CHECK(chain.row.verification.state == Verification::State::kPassed);
  CHECK(chain.row.verification.what ==
        "the outputs of 2 of 2 kernels, of which 2 follow the operands");
}

TEST_CASE("the line of a chain has its times and its verification") {
  const Json json = JsonReader::read(chain_of("time 1000").to_json());
  CHECK(json["type"].text == "chain");
  CHECK(json["calls"].number == 3);
  CHECK(json["kernels"].number == 2);
  CHECK(json["status"].text == "ok");
  CHECK(json["power"].text == "rested");
  CHECK(json["statistics"]["median_ns"].number == doctest::Approx(3000));
  CHECK(json["verification"]["status"].text == "passed");
}

TEST_CASE("options on the line of a chain override those of the process") {
  CHECK(chain_of("time 1000", "chain 0 samples=7 ; gemm m=4 n=4 k=4")
            .row.samples->per_call_ns.size() == 7);
  CHECK(chain_of("time 1000", "chain 0 verify=no ; gemm m=4 n=4 k=4").row.verification.reason ==
        "not asked for");
}

TEST_CASE("a wrong output of any kernel makes the chain incorrect, and names the kernel") {
  const ChainRow chain = chain_of("time 1000; when m=8 mutant nan");
  CHECK(chain.row.status == Status::kIncorrect);
  CHECK(chain.row.reason.find("gemm m=8 n=4 k=4") == 0);
  CHECK(chain.row.verification.state == Verification::State::kFailed);
  CHECK(chain_of("time 1000; when m=8 from 3 mutant nan").row.status == Status::kIncorrect);
}

TEST_CASE("a chain is verified in batches like those that are timed") {
  CHECK(chain_of("time 1000; mutant nan batches").row.status == Status::kIncorrect);
  const ChainRow slow = chain_of("time 1000; real_time; works 100000");
  CHECK(slow.row.status == Status::kMistrusted);
}

std::string verdict(const ChainRow& chain, const std::string& part) {
  CHECK_MESSAGE(chain.row.reason.find(part) != std::string::npos, chain.row.reason);
  return std::string(name_of(chain.row.status));
}

TEST_CASE(
    "chains that do less than they state, or less than those that are verified, are mistrusted") {
  const std::string reset = "after its outputs were poisoned";
  CHECK(verdict(chain_of("time 2000; loops once"), "not every call is made") == "mistrusted");
  CHECK(verdict(chain_of("time 60e3; further 5e3"), "not every call does the work") ==
        "mistrusted");
  CHECK(verdict(chain_of("time 1000; verified_time 10e3"), "a call takes 30 us " + reset) ==
        "mistrusted");
  CHECK(verdict(chain_of("time 1000; reset_call 300e3"), "a single call takes ") == "mistrusted");
  // Poisoning cools caches and wakes threads.
  CHECK(verdict(chain_of("time 1000; reset_call 10e3"), "") == "ok");
}

TEST_CASE(
    "results of a chain that were computed once, or are computed when they are read, are found") {
  CHECK(verdict(chain_of("time 1000; when m=8 refill ignored"),
                "gemm m=8 n=4 k=4 trans_a=n trans_b=n precision=float: with other operands") ==
        "incorrect");
  CHECK(verdict(chain_of("time 60e6; refill ignored",
                         "chain 0 1 samples=3 ; gemm m=4 n=4 k=4 ; gemm m=8 n=4 k=4"),
                "with other operands") == "incorrect");
  const std::string reading = "real_time; time 1e6; works 1e6; reading 30e6";
  // Other work on the machine may delay the reading of poison once, which ends the check.
  ChainRow chain = chain_of(reading);
  for (int i = 0; i < 4 && chain.row.status == Status::kOk; ++i) chain = chain_of(reading);
  CHECK(verdict(chain, "they are computed when they are read") == "mistrusted");
}

TEST_CASE("a chain of a clock that shows more time than has passed is mistrusted") {
  CHECK(verdict(chain_of("real_time; time 50e6", "chain 0 samples=3 ; gemm m=4 n=4 k=4"),
                "the host saw only ") == "mistrusted");
}

TEST_CASE("a poison without effect is found, since old results would pass") {
  CHECK(chain_of("time 1000; mutant unpoisoned").row.status == Status::kIncorrect);
}

TEST_CASE("in place, single calls are verified beside the sums of many") {
  for (const std::string mutant : {"nan", "one_off", "zero_tile"})
    for (const std::string line :
         {"chain 0 ; gemm m=64 n=64 k=256", "chain 0 0 0 ; gemm m=64 n=64 k=256"}) {
      CAPTURE(mutant);
      CHECK(chain_of("time 1000; in_place; mutant " + mutant, line).row.status ==
            Status::kIncorrect);
    }
  CHECK(chain_of("time 1000; in_place").row.status == Status::kOk);
}

TEST_CASE("random batches are verified while timing, in place as well") {
  for (const std::string place : {"", "in_place; ", "when m=8 in_place; "}) {
    CAPTURE(place);
    const std::string script = "time 1000; " + place;
    CHECK(verdict(chain_of(script + "from 3 mutant nan; from 40 mutant none"), "while timing") ==
          "incorrect");
    CHECK(verdict(chain_of(script), "") == "ok");
  }
}

TEST_CASE("calls in place that overflow within one chain are refused") {
  const ChainRow chain =
      chain_of("time 1000; in_place; emit describe_kernel restore_every 1", kLine);
  CHECK(chain.row.status == Status::kUnsupported);
  CHECK(chain.row.reason.find("2 calls in place overflow its output") != std::string::npos);
}

TEST_CASE("calls in place are verified by their sum and restored before they overflow") {
  const ChainRow chain =
      chain_of("time 1000; in_place; emit describe_kernel restore_every 8", kLine);
  REQUIRE(chain.row.reason == "");
  CHECK(chain.row.samples->batch <= 4);  // two calls of a kernel in each chain
}

TEST_CASE("a chain that cannot be made says why") {
  CHECK(chain_of("time 1000; fail prepare failed broken").row.reason ==
        "gemm m=4 n=4 k=4 trans_a=n trans_b=n precision=float: prepare: broken");
  CHECK(chain_of("time 1000; when m=8 fail plan unsupported never").row.status ==
        Status::kUnsupported);
  CHECK(chain_of("time 1000; fail link failed torn").row.reason == "link: torn");
  CHECK(chain_of("time 1000; emit describe_device memory_available_bytes 1000; "
                 "emit describe_plan memory_bytes 600")
            .row.status == Status::kOutOfMemory);
  const ChainRow without = chain_of("time 1000", kLine, "minimal");
  CHECK(without.row.status == Status::kUnsupported);
  CHECK(without.row.reason.find("cannot make several calls as one") != std::string::npos);
  for (const std::string option :
       {"algorithm=best", "algorithm=some", "check=yes", "once=yes", "soak=100", "cache=cold"}) {
    const ChainRow refused = chain_of("time 1000", "chain 0 " + option + " ; gemm m=4 n=4 k=4");
    CHECK(refused.row.status == Status::kInvalid);
  }
  CHECK(chain_of("time 1000", "chain 0 warmth=1 ; gemm m=4 n=4 k=4").row.status ==
        Status::kInvalid);
}

TEST_CASE("a runner goes on with rows after a chain that failed") {
  fake_backend("time 1000; fail link failed torn");
  Runner runner(plugin_path("fake"), "ceilings=no");
  CHECK(runner.run_chain(kLine).row.status == Status::kFailed);
  CHECK(runner.run("gemm m=4 n=4 k=4", 0).status == Status::kOk);
}

}  // namespace
}  // namespace deepbench
