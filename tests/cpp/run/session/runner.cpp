// The runner: lines in, rows out, the hello, and what cannot be used at all.
#include "deepbench/run/session/runner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::Json;
using testing::JsonReader;
using testing::plugin_path;

constexpr const char* kProblem = "gemm m=7 n=5 k=9";

void script(const std::string& text) { setenv("DEEPBENCH_FAKE_SCRIPT", text.c_str(), 1); }

std::string refusal(const std::string& text, const std::string& options = "") {
  script(text);
  try {
    const Runner runner(plugin_path("fake"), options);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "it was made";
}

TEST_CASE("options follow a semicolon, and hold for their row") {
  script("time 1000");
  Runner runner(plugin_path("fake"), "ceilings=no samples=3");
  CHECK(runner.run(kProblem, 0).samples->per_call_ns.size() == 3);
  CHECK(runner.run(std::string(kProblem) + " ; samples=5", 1).samples->per_call_ns.size() == 5);
  CHECK(runner.run(std::string(kProblem) + ";samples=5 seed=3", 2).samples->per_call_ns.size() ==
        5);
  CHECK(runner.run(std::string(kProblem) + " ; ", 3).samples->per_call_ns.size() == 3);
  const Row quoted = runner.run(std::string(kProblem) + " application=\"a ; b\" ; samples=4", 4);
  CHECK(quoted.application == "a ; b");
  CHECK(quoted.samples->per_call_ns.size() == 4);
  CHECK(runner.run(kProblem, 5).position == 5);
  CHECK(runner.run(std::string(kProblem) + " ; position=77", 6).position == 77);
}

TEST_CASE("bad lines are rows, and the next one runs") {
  script("time 1000");
  Runner runner(plugin_path("fake"), "ceilings=no");
  for (const std::string line :
       {"", ";", "gemm", "gemm m=1 n=1 k=1 ; cache=warm", "gemm m=1 n=1 k=1 ; ; ",
        "gemm m=1 n=1 k=1 application=\"open ; cache=cold"}) {
    const Row row = runner.run(line, 0);
    CAPTURE(line);
    CHECK(row.status == Status::kInvalid);
    CHECK_FALSE(row.reason.empty());
  }
  CHECK(runner.run("gemm m=1 n=1 k=1 ; device=5", 0).status == Status::kInvalid);
  CHECK(runner.run("gemm m=1 n=1 k=1 ; library=none", 0).status != Status::kOk);
  CHECK(runner.run(kProblem, 1).status == Status::kOk);
  CHECK_FALSE(runner.device_lost());
}

TEST_CASE("a row can be checked without being run") {
  script(
      "candidates own quick; fail prepare failed never; when m=2 fail supports unsupported not so;"
      "when m=3 memory_needed 99999999999999");
  Runner runner(plugin_path("fake"), "algorithm=quick");
  const auto check = [&](const std::string& m, const std::string& options = "") {
    const Row row = runner.run("gemm m=" + m + " n=1 k=1 ; check=yes" + options, 4);
    CHECK_FALSE(row.samples);
    CHECK(row.position == 4);
    return row.status;
  };
  CHECK(check("1") == Status::kOk);
  CHECK(check("2") == Status::kUnsupported);
  CHECK(check("3") == Status::kOutOfMemory);
  CHECK(check("1", " algorithm=quik") == Status::kInvalid);
  CHECK(check("1", " algorithm=best") == Status::kOk);
}

TEST_CASE("more threads than there are for us are refused") {
  const std::string two = "emit describe_device hardware_threads 2";
  script(two);
  try {
    const Runner runner(plugin_path("fake"), "threads=1000");
    FAIL("it was made");
  } catch (const InvalidProblem& error) {
    CHECK(std::string(error.what()) ==
          "threads=1000: this process may use 2 hardware threads; give at most so many");
  }
  Runner runner(plugin_path("fake"), "ceilings=no threads=2");
  CHECK(runner.run(kProblem, 0).status == Status::kOk);
  CHECK(runner.run(std::string(kProblem) + " ; threads=3", 1).status == Status::kInvalid);
  script("");  // a backend that does not say how many there are
  CHECK(Runner(plugin_path("fake"), "ceilings=no threads=1000").run(kProblem, 0).status ==
        Status::kOk);
}

TEST_CASE("what a row leaves is destroyed when the next one runs, or before") {
  const testing::TemporaryFolder folder;
  script("log " + (folder / "calls"));
  Runner runner(plugin_path("fake"), "ceilings=no");
  const auto destroyed = [&] {
    const auto lines = folder.lines("calls");
    return std::count(lines.begin(), lines.end(), "destroy");
  };
  runner.run(kProblem, 0);
  CHECK(destroyed() == 0);
  runner.release();
  CHECK(destroyed() == 1);
  runner.release();
  runner.run(kProblem, 1);
  runner.run(kProblem, 2);
  CHECK(destroyed() == 2);
}

TEST_CASE("a lost device is remembered") {
  script("time 1000; when m=13 fail time_batch device_lost it fell off");
  Runner runner(plugin_path("fake"), "ceilings=no");
  CHECK(runner.run(kProblem, 0).status == Status::kOk);
  CHECK_FALSE(runner.device_lost());
  const Row row = runner.run("gemm m=13 n=1 k=1", 1);
  CHECK(row.status == Status::kDeviceLost);
  CHECK(row.reason == "time_batch: it fell off");
  CHECK(runner.device_lost());
}

TEST_CASE("ceilings are measured once for all rows of a runner") {
  script("");
  Runner runner(plugin_path("fake"));
  const Row first = runner.run("gemm m=256 n=256 k=256", 0);
  script("model 1 10 1 10");  // would be seen if they were measured again
  const Row second = runner.run("gemm m=256 n=256 k=255", 1);
  CHECK(first.bound.flops_per_s > 9e11);
  CHECK(second.bound.flops_per_s == first.bound.flops_per_s);
}

TEST_CASE("the hello says what answered") {
  script(
      "libraries one two; absent three not installed: pip install three; devices 2;"
      "when device=1 emit describe_device name The other; emit describe_device warning.load busy;"
      "emit describe warning.mixed two majors; emit describe joint_phase.rnn bwd; emit environment "
      "FAKE_THREADS 4;"
      " emit environment FAKE_SET_BY_USER no");
  setenv("FAKE_SET_BY_USER", "mine", 1);
  unsetenv("FAKE_THREADS");
  const Runner runner(plugin_path("fake"), "device=1");
  const std::string text = runner.hello();
  CHECK(text.find('\n') == std::string::npos);
  const Json hello = JsonReader::read(text);
  CHECK(hello["type"].text == "hello");
  CHECK_FALSE(hello["version"].text.empty());
  CHECK(hello["backend"]["name"].text == "fake");
  CHECK(hello["backend"]["path"].text == plugin_path("fake"));
  CHECK(hello["backend"]["reason"].is_null());
  CHECK(hello["backend"]["joint_phases"]["rnn"].text == "bwd");
  CHECK(hello["device"]["index"].number == 1);
  CHECK(hello["device_count"].number == 2);
  CHECK(hello["device"]["name"].text == "The other");
  CHECK(hello["device"]["last_level_cache_bytes"].number == 32 << 20);
  CHECK(hello["libraries"]["one"]["version"].text == "1.0");
  CHECK(hello["libraries"]["two"]["path"].text == "/fake/libtwo.so");
  CHECK(hello["libraries"]["three"]["reason"].text == "not installed: pip install three");
  CHECK(hello["environment"]["FAKE_THREADS"].text == "4");
  CHECK(std::string(std::getenv("FAKE_THREADS")) == "4");
  CHECK(hello["environment"]["FAKE_SET_BY_USER"].text == "mine");  // the user's setting wins
  CHECK(std::string(std::getenv("FAKE_SET_BY_USER")) == "mine");
  REQUIRE(hello["warnings"].items.size() == 2);
  CHECK(hello["warnings"].items[0].text == "two majors");
  CHECK(hello["warnings"].items[1].text == "busy");
  CHECK_FALSE(hello["device"].has("warning.load"));
  CHECK(hello.has("threads"));
}

TEST_CASE("libraries whose facts come in any order") {
  script(
      "emit describe library.b.version 2; emit describe library.c.note x;"
      "emit describe library.b.path /p; emit describe library.with.dots.version 3");
  const Json hello = JsonReader::read(Runner(plugin_path("fake")).hello());
  CHECK(hello["libraries"]["b"]["version"].text == "2");
  CHECK(hello["libraries"]["b"]["path"].text == "/p");
  CHECK(hello["libraries"]["fake"]["version"].text == "1.0");
}

TEST_CASE("what cannot be used gives one line") {
  CHECK(refusal("fail describe_device failed boom", "") == "backend fake: describe_device: boom");
  CHECK(refusal("", "library=fake") == "it was made");
  CHECK(
      refusal("libraries openblas mkl", "library=opnblas") ==
      "backend fake knows no library 'opnblas' (did you mean 'openblas'?); it knows openblas mkl");
  CHECK(refusal("absent mkl not installed: pip install mkl", "library=mkl") ==
        "library mkl: not installed: pip install mkl");
  CHECK(refusal("devices 2", "device=2") == "backend fake has no device 2; it has 2 devices");
  CHECK(refusal("devices 1", "device=2147483647") ==
        "backend fake has no device 2147483647; it has 1 device");
  CHECK(refusal("devices 0") == "backend fake has no device here");
  CHECK(refusal("devices 0; libraries; absent driver it was not found, install it; absent b x") ==
        "backend fake has no device here: it was not found, install it");
  CHECK(refusal("devices 0; libraries driver; absent b no b") == "backend fake has no device here");
  CHECK(refusal("devices -3").find("nonsense") != std::string::npos);
  for (const std::string slot : {"device_count", "describe", "environment"})
    CHECK(refusal("fail " + slot + " failed no driver") == "backend fake: " + slot + ": no driver");
  script("");
  CHECK_THROWS_AS(Runner(plugin_path("fake"), "cache=warm"), InvalidProblem);
  CHECK_THROWS_AS(Runner(plugin_path("wrong_abi")), BackendUnavailable);
  CHECK_THROWS_AS(Runner("no_such_backend"), BackendUnavailable);
}

TEST_CASE("a hello that fails is one line, too") {
  script("fail describe_device failed no sensor");
  try {
    Runner(plugin_path("fake")).hello();
    FAIL("it did not throw");
  } catch (const std::exception& error) {
    CHECK(std::string(error.what()).find("no sensor") != std::string::npos);
  }
}

TEST_CASE("inspect never throws") {
  script("");
  const Json fake = JsonReader::read(inspect(plugin_path("fake")));
  CHECK(fake["type"].text == "hello");
  CHECK(fake["backend"]["reason"].is_null());
  CHECK(fake["devices"].items.at(0)["index"].number == 0);
  for (const std::string name : {"wrong_abi", "no_symbol", "unresolved", "null_slots"}) {
    const Json found = JsonReader::read(inspect(plugin_path(name)));
    CHECK(found["backend"]["reason"].text.find(name) != std::string::npos);
  }
  CHECK_FALSE(JsonReader::read(inspect("nonesuch"))["backend"]["reason"].is_null());
}

TEST_CASE("inspect tells libraries and devices, whatever else fails") {
  script("devices 2; when device=1 fail describe_device failed no sensor");
  const Json found = JsonReader::read(inspect(plugin_path("fake")));
  CHECK(found["backend"]["reason"].text == "describe_device: no sensor");
  CHECK(found["devices"].items.size() == 1);
  CHECK(found["libraries"]["fake"]["version"].text == "1.0");
  script("devices 0");
  CHECK(JsonReader::read(inspect(plugin_path("fake")))["backend"]["reason"].text ==
        "it has no device here");
}

TEST_CASE("one problem on a loaded backend, for embedding programs") {
  const Backend backend = fake_backend("time 1000");
  const Row row = run(backend, Problem::parse(kProblem));
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 1000);
  CHECK(row.verification.state == Verification::State::kPassed);
  CHECK(row.bound.flops_per_s == 0);  // no ceilings were given
  CHECK(run(fake_backend("fail describe_device failed x"), Problem::parse(kProblem)).status ==
        Status::kFailed);
  CHECK(run(fake_backend("mutant zero_tile"), Problem::parse(kProblem)).status ==
        Status::kIncorrect);
}

}  // namespace
}  // namespace deepbench
