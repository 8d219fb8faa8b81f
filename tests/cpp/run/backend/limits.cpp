// What a backend that says too much, or what nobody can print, ends with: one line that names it.
#include "deepbench/run/backend/limits.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::fake_row;
using testing::plugin_path;

const std::string kProblem = "gemm m=4 n=3 k=5";

// How a call of `body` with the fake backend under a script ended: "ok" or "failed | reason".
template <class Body>
std::string outcome_of(const std::string& script, Body body) {
  try {
    body(fake_backend(script));
  } catch (const RowFailure& failure) {
    return std::string(name_of(failure.status())) + " | " + failure.what();
  }
  return "ok";
}

// What each slot that emits does with the values of a script.
std::string outcome_in(const std::string& slot, const std::string& script) {
  return outcome_of(script, [&](const Backend& backend) {
    const auto plan = [&] { return backend.plan(Problem::parse(kProblem), {}); };
    if (slot == "describe") backend.describe();
    if (slot == "describe_device") backend.describe_device(0);
    if (slot == "describe_plan") plan();
    if (slot == "describe_kernel") plan().prepare();
    if (slot == "environment") backend.required_environment_variables({});
    if (slot == "observe") backend.observe(0);
    if (slot == "candidates") plan().candidates(0);
  });
}

std::string emitted(const std::string& slot, const std::string& what) {
  return outcome_in(slot, "emit " + slot + " " + what);
}

const char* const kFactSlots[] = {"describe",        "describe_device", "describe_plan",
                                  "describe_kernel", "observe",         "environment"};

std::string refusal(const std::string& slot, const std::string& why) {
  return "failed | backend fake: " + slot + ": " + why;
}

TEST_CASE("the names of facts are printable UTF-8 of some length") {
  for (const std::string slot : kFactSlots) {
    CAPTURE(slot);
    CHECK(emitted(slot, "caf\xc3\xa9 5") == "ok");
    CHECK(emitted(slot, "x*256 5") == "ok");
    CHECK(emitted(slot, "x*0 5") == refusal(slot, "a fact's name is empty"));
    CHECK(emitted(slot, "x*257 5") == refusal(slot, "a fact's name has more than 256 characters"));
    CHECK(emitted(slot, "x*100000000 5") ==
          refusal(slot, "a fact's name has more than 256 characters"));
    CHECK(emitted(slot, "a\x1b[2Jb 5") == refusal(slot, "a fact's name has a control character"));
    CHECK(emitted(slot, "a\xc2\x9b 5") == refusal(slot, "a fact's name has a control character"));
    CHECK(emitted(slot, "a\xff 5") == refusal(slot, "a fact's name is not UTF-8"));
  }
  CHECK(emitted("describe", "library.a\x1b.version 1") ==
        refusal("describe", "a library's name has a control character"));
}

TEST_CASE("names are refused and never changed") {
  const std::vector<std::tuple<std::string, std::string, std::string>> names = {
      {"describe_device", "name", "the device's name"},
      {"describe_device", "uuid", "the device's uuid"},
      {"describe_plan", "library", "the library's name"},
      {"describe_plan", "algorithm", "the algorithm's name"},
      {"describe_kernel", "algorithm", "the algorithm's name"},
      {"candidates", "candidate", "a candidate's id"},
  };
  for (const auto& [slot, fact, subject] : names) {
    CAPTURE(slot + " " + fact);
    CHECK(emitted(slot, fact + " \"two words\" \xe2\x82\xac") == "ok");
    CHECK(emitted(slot, fact + " x*256") == "ok");
    CHECK(emitted(slot, fact + " x*257") ==
          refusal(slot, subject + " has more than 256 characters"));
    CHECK(emitted(slot, fact + " a\x1b[31mb") ==
          refusal(slot, subject + " has a control character"));
    CHECK(emitted(slot, fact + " tab\there") ==
          refusal(slot, subject + " has a control character"));
    CHECK(emitted(slot, fact + " \xe2\x80\xaex") ==
          refusal(slot, subject + " has a control character"));
    CHECK(emitted(slot, fact + " latin1 \xe9t\xe9") == refusal(slot, subject + " is not UTF-8"));
  }
  CHECK(emitted("describe_kernel", "metric.x 2.5 u\x1bs lower") ==
        refusal("describe_kernel", "the unit of metric.x has a control character"));
  CHECK(outcome_of("timer t\x1b", [](const Backend& backend) {
          backend.plan(Problem::parse(kProblem), {}).prepare().time_batch(1);
        }) == refusal("time_batch", "the timer's name has a control character"));
}

TEST_CASE("variables of the environment are neither shortened nor changed") {
  CHECK(emitted("environment", "PLACE x*4000") == "ok");
  CHECK(emitted("environment", "PLACE x*4001") ==
        refusal("environment", "the variable PLACE has more than 4000 characters"));
  CHECK(emitted("environment", "PLACE a\x1b") ==
        refusal("environment", "the variable PLACE has a control character"));
}

TEST_CASE("other texts become one printable line of some length") {
  const auto note = [](const std::string& text) {
    return fake_backend("emit describe_device note.a " + text).describe_device(0).text("note.a");
  };
  CHECK(note("caf\xc3\xa9 \xe2\x82\xac") == "caf\xc3\xa9 \xe2\x82\xac");
  CHECK(note("a\x1b[31m\tb\x7f\xc2\x9b") == "a\xef\xbf\xbd[31m b\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(note("\xe9t\xe9 \xc0\xaf.") == "\xef\xbf\xbdt\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd.");
  CHECK(note("x*4000") == std::string(4000, 'x'));
  CHECK(note("x*4001") == std::string(4000, 'x') + " ...");
  CHECK(note("x*100000000") == std::string(4000, 'x') + " ...");
  CHECK(note("\x01*4000").size() == 1333 * 3 + 4);

  const auto reason = [](const std::string& text) {
    return outcome_in("describe", "fail describe unsupported " + text);
  };
  CHECK(reason("a\x1b[2J\xff") == "unsupported | a\xef\xbf\xbd[2J\xef\xbf\xbd");
  CHECK(reason("x*100000000") == "unsupported | " + std::string(4000, 'x') + " ...");
}

TEST_CASE("a function emits so many values and no more") {
  for (const std::string slot : kFactSlots) {
    CAPTURE(slot);
    CHECK(outcome_in(slot, "flood " + slot + " 900 x") == "ok");
    CHECK(outcome_in(slot, "flood " + slot + " 1000000 x") ==
          refusal(slot, "it emits more than 1000 values"));
    CHECK(outcome_in(slot, "flood " + slot + " 900 x*1000") ==
          refusal(slot, "it emits more than 128 KiB of values"));
  }
}

TEST_CASE("candidates are so many and no more") {
  const auto count = [](const std::string& script) {
    return fake_backend(script).plan(Problem::parse(kProblem), {}).candidates(0).ids.size();
  };
  CHECK(count("flood candidates 4096") == 4096);
  CHECK(count("candidates a b a; flood candidates 4093") == 4095);  // one of them twice
  CHECK(outcome_in("candidates", "flood candidates 4097") ==
        refusal("candidates", "it emits more than 4096 candidates"));
  CHECK(outcome_in("candidates", "flood candidates 1000000") ==
        refusal("candidates", "it emits more than 4096 candidates"));
}

TEST_CASE("a row does without the candidates of a backend that lists too many") {
  const Row row = fake_row("flood candidates 5000", kProblem, "ceilings=no algorithm=best");
  CHECK(row.status == Status::kOk);
  REQUIRE_FALSE(row.notes.empty());
  CHECK(row.notes[0] == "backend fake: candidates: it emits more than 4096 candidates");
}

TEST_CASE("numbers that no device has are refused") {
  const auto impossible = [](const std::string& slot, const std::string& fact) {
    const std::string said = emitted(slot, fact);
    const std::string start = "failed | " + slot + ": the backend gave an impossible answer: ";
    CHECK_MESSAGE(said.compare(0, start.size(), start) == 0, said);
    return said.substr(std::min(said.size(), start.size()));
  };
  for (const std::string fact :
       {"row_limit_ns", "min_span_ns", "min_total_ns", "timer_resolution_ns", "most_clock_mhz"}) {
    CAPTURE(fact);
    CHECK(emitted("describe_device", fact + " 1000.5") == "ok");
    CHECK(emitted("describe_device", fact + " 1000") == "ok");
    CHECK(impossible("describe_device", fact + " -1.5") == fact + "=-1.5");
    CHECK(impossible("describe_device", fact + " nan") == fact + "=nan");
    CHECK(impossible("describe_device", fact + " inf") == fact + "=inf");
    CHECK(impossible("describe_device", fact + " 1e300") == fact + "=1e+300");
    CHECK(impossible("describe_device", fact + " soon") == fact + "=soon");
  }
  CHECK(impossible("describe_device", "row_limit_ns 0") == "row_limit_ns=0");
  CHECK(impossible("describe_device", "timer_resolution_ns 1e9") ==
        "timer_resolution_ns=1000000000");
  CHECK(impossible("describe_device", "any_fact nan") == "any_fact=nan");
  CHECK(impossible("describe_device", "hardware_threads -2") == "hardware_threads=-2");
  CHECK(impossible("describe", "estimate.calls -inf") == "estimate.calls=-inf");
  CHECK(impossible("describe_plan", "workspace_bytes -5") == "workspace_bytes=-5");
  CHECK(impossible("describe_plan", "planning_ns 1e30") == "planning_ns=1e+30");
  CHECK(impossible("describe_kernel", "copies 0") == "copies=0");
  CHECK(impossible("describe_kernel", "copies -3") == "copies=-3");
  CHECK(impossible("describe_kernel", "restore_every 0") == "restore_every=0");
  CHECK(impossible("describe_kernel", "ranks 9223372036854775807") == "ranks=9223372036854775807");
  CHECK(impossible("describe_kernel", "conversion_ns -1.0") == "conversion_ns=-1");
  CHECK(impossible("describe_kernel", "conversion_sample_ns.0 -1.0") ==
        "conversion_sample_ns.0=-1");
  CHECK(impossible("describe_kernel", "metric.x inf us lower") == "metric.x=inf");
  CHECK(impossible("observe", "power_w nan") == "power_w=nan");
}

TEST_CASE("a kernel's metric must not replace one that the core measures") {
  for (const std::string name : {"energy", "call_p99", "busbw", "bitwise", "speedup"})
    CHECK(emitted("describe_kernel", "metric." + name + " 1e-9 J") ==
          "failed | describe_kernel: the backend gave an impossible answer: metric." + name +
              "=1e-09");
  CHECK(emitted("describe_kernel", "metric.my_energy 1e-9 J") == "ok");
}

TEST_CASE("a candidate has no name that the option algorithm gives another meaning") {
  for (const std::string name : {"default", "best", "exhaustive"})
    CHECK(outcome_in("candidates", "candidates x " + name + " y") ==
          "failed | candidates: the backend gave an impossible answer: a candidate called '" +
              name + "'");
}

TEST_CASE("a batch takes less than a lifetime") {
  const auto batch = [](const std::string& script) {
    return outcome_of(script, [](const Backend& backend) {
      backend.plan(Problem::parse(kProblem), {}).prepare().time_batch(1);
    });
  };
  const std::string nonsense = "failed | time_batch: the backend gave an impossible answer: ";
  CHECK(batch("answer elapsed_ns 1e300").compare(0, nonsense.size(), nonsense) == 0);
  CHECK(batch("answer host_ns 1e300").compare(0, nonsense.size(), nonsense) == 0);
}

TEST_CASE("a host has so many devices and no more") {
  const auto devices = [](const std::string& count) {
    return outcome_of("devices " + count, [](const Backend& backend) { backend.device_count(); });
  };
  CHECK(devices("1024") == "ok");
  const std::string nonsense = "failed | device_count: the backend gave an impossible answer: ";
  CHECK(devices("1025") == nonsense + "1025 devices");
  CHECK(devices("2147483647") == nonsense + "2147483647 devices");
  CHECK(devices("-2147483648") == nonsense + "-2147483648 devices");
}

testing::Json inspected(const std::string& script) {
  fake_backend(script);
  return testing::JsonReader::read(inspect(plugin_path("fake")));
}

TEST_CASE("an inspection ends with one line, whatever a backend says") {
  const auto reason = [](const std::string& script) {
    return inspected(script)["backend"]["reason"].text;
  };
  CHECK(reason("devices 2147483647") ==
        "device_count: the backend gave an impossible answer: 2147483647 devices");
  CHECK(reason("devices 1000; flood describe_device 30 x*4000") ==
        "backend fake: describe_device: its devices tell more than 4 MiB");
  CHECK(reason("emit describe_device name a\x1b") ==
        "backend fake: describe_device: the device's name has a control character");
}

TEST_CASE("facts whose names collide stay apart") {
  const testing::Json found = inspected(
      "emit describe_device index 7; emit describe_device a 1; emit describe_device a.b 2;"
      "emit describe_device a 3; emit describe library.a.b 1; emit describe library.a.b.c 2");
  REQUIRE(found["devices"].items.size() == 1);
  const testing::Json& device = found["devices"].items[0];
  CHECK(device["index"].number == 0);
  CHECK(device["a"].number == 3);  // the later one
  CHECK(device["a.b"].number == 2);
  CHECK(found["libraries"]["a"]["b"].text == "1");
  CHECK(found["libraries"]["a.b"]["c"].text == "2");
}

TEST_CASE("a session names a refused backend once") {
  fake_backend("emit describe_device name a\x1b");
  CHECK_THROWS_WITH_AS(Runner(plugin_path("fake"), ""),
                       "backend fake: describe_device: the device's name has a control character",
                       BackendUnavailable);
}

TEST_CASE("a refused plan is a row with the reason") {
  const Row row = fake_row("emit describe_plan algorithm a\x1b", kProblem);
  CHECK(row.status == Status::kFailed);
  CHECK(row.reason == "backend fake: describe_plan: the algorithm's name has a control character");
}

}  // namespace
}  // namespace deepbench
