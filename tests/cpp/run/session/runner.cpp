// The runner: lines in, rows out, the hello, and what cannot be used at all.
#include "deepbench/run/session/runner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

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

void set_script(const std::string& text) { setenv("DEEPBENCH_FAKE_SCRIPT", text.c_str(), 1); }

std::string refusal_message(const std::string& text, const std::string& options = "") {
  set_script(text);
  try {
    const Runner runner(plugin_path("fake"), options);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "it was made";
}

TEST_CASE("options follow a semicolon, and hold for their row") {
  set_script("time 1000");
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
  set_script("time 1000");
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

TEST_CASE("a row that quotes a line with a NUL has none") {
  set_script("time 1000");
  Runner runner(plugin_path("fake"), "ceilings=no");
  const std::string json = runner.run(std::string_view("g\0emm m=8 n=8 k=8", 18), 0).to_json();
  CHECK(json.find("\\u0000") == std::string::npos);
  CHECK(json.find("emm m=8") != std::string::npos);
}

TEST_CASE("a row can be checked without being run") {
  set_script(
      "candidates own quick; fail prepare failed never; when m=2 fail plan unsupported not so;"
      "when m=3 memory_bytes 99999999999999");
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

TEST_CASE("a row that the backend admits is announced before it is prepared") {
  int admitted = 0;
  const auto admissions = [&](const std::string& commands, const std::string& options) {
    admitted = 0;
    set_script(commands);
    Runner runner(plugin_path("fake"), "ceilings=no");
    runner.on_admitted([&] { ++admitted; });
    runner.run(std::string(kProblem) + " ; " + options, 0);
    return admitted;
  };
  CHECK(admissions("time 1000", "") == 1);
  CHECK(admissions("fail prepare out_of_memory no", "") == 1);
  CHECK(admissions("fail plan unsupported no", "") == 0);
  CHECK(admissions("time 1000", "check=yes") == 0);
}

TEST_CASE("a row is announced once, with the first problem that is measured for its ceilings") {
  set_script("time 3e6");  // long enough for a ceiling: no larger product is tried
  Runner runner(plugin_path("fake"));
  std::vector<std::pair<std::string, std::string>> announced;
  runner.on_measuring_ceiling([&](const std::string& problem, const std::string& row) {
    announced.emplace_back(problem, row);
  });
  runner.run(kProblem, 7);
  REQUIRE(announced.size() > 2);
  CHECK_FALSE(announced[0].first.empty());
  CHECK(announced[0].second.find("{\"type\": \"row\", \"position\": 7, ") == 0);
  for (size_t i = 1; i < announced.size(); ++i) {
    CHECK(announced[i].first.empty() == (i % 2 == 1));
    CHECK(announced[i].second.empty());
  }
  announced.clear();
  runner.run(kProblem, 8);  // whose ceilings are known
  CHECK(announced.empty());
}

TEST_CASE("more threads than there are for us are refused") {
  const std::string two = "emit describe_device hardware_threads 2";
  set_script(two);
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
  set_script("");  // a backend that does not say how many there are
  CHECK(Runner(plugin_path("fake"), "ceilings=no threads=1000").run(kProblem, 0).status ==
        Status::kOk);
}

TEST_CASE("what a row leaves is destroyed when the next one runs, or before") {
  const testing::TemporaryFolder folder;
  set_script("log " + (folder / "calls"));
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
  set_script("time 1000; when m=13 fail time_batch device_lost it fell off");
  Runner runner(plugin_path("fake"), "ceilings=no");
  CHECK(runner.run(kProblem, 0).status == Status::kOk);
  CHECK_FALSE(runner.device_lost());
  const Row row = runner.run("gemm m=13 n=1 k=1", 1);
  CHECK(row.status == Status::kDeviceLost);
  CHECK(row.reason == "time_batch: it fell off");
  CHECK(runner.device_lost());
}

TEST_CASE("ceilings are measured once for all rows of a runner") {
  set_script("");
  Runner runner(plugin_path("fake"));
  const Row first = runner.run("gemm m=256 n=256 k=256", 0);
  set_script("model 1 10 1 10");  // would be seen if they were measured again
  const Row second = runner.run("gemm m=256 n=256 k=255", 1);
  CHECK(first.bound.flops_per_s > 9e11);
  CHECK(second.bound.flops_per_s == first.bound.flops_per_s);
}

// The lines of the ceilings that a runner reports.
std::vector<Json> ceilings_of(Runner& runner, const std::vector<std::string>& problems) {
  std::vector<Json> lines;
  runner.on_ceiling([&](const std::string& line) { lines.push_back(JsonReader::read(line)); });
  for (size_t i = 0; i < problems.size(); ++i) runner.run(problems[i], int64_t(i));
  return lines;
}

const Json& ceiling_of(const std::vector<Json>& lines, const std::string& kind) {
  return *std::find_if(lines.begin(), lines.end(),
                       [&](const Json& line) { return line["kind"].text == kind; });
}

TEST_CASE("a ceiling is a line with the figures of its best problem, and rows name it") {
  set_script("emit describe_device hardware_threads 6");
  Runner runner(plugin_path("fake"), "threads=3");
  const std::vector<Json> lines =
      ceilings_of(runner, {"gemm m=256 n=256 k=256", "gemm m=256 n=256 k=255"});
  REQUIRE(lines.size() == 3);  // the second row measures none
  const Json& arithmetic = ceiling_of(lines, "arithmetic");
  CHECK(arithmetic["type"].text == "ceiling");
  CHECK(arithmetic["ceiling"].text ==
        "arithmetic precision=float device=0 threads=3 cores=6 cache=hot power=rested");
  CHECK(arithmetic["precision"].text == "float");
  CHECK(arithmetic["level"].is_null());
  CHECK(arithmetic["raised_by"].is_null());
  CHECK_FALSE(arithmetic.has("position"));
  CHECK_FALSE(arithmetic.has("bound"));
  CHECK(arithmetic["op"].text == "gemm");
  CHECK(arithmetic["status"].text == "ok");
  CHECK(arithmetic["verification"]["status"].text == "passed");
  CHECK(arithmetic["regime"]["threads"].number == 3);
  CHECK(arithmetic["rates"]["tflops"].number > 0.9);
  CHECK(arithmetic["statistics"]["median_ns"].number > 0);
  const Json& bandwidth = ceiling_of(lines, "bandwidth");
  CHECK(bandwidth["level"].text == "l2");
  CHECK(bandwidth["precision"].is_null());
  CHECK(bandwidth["verification"]["status"].text == "passed");
  CHECK(bandwidth["rates"]["gbps"].number > 0);
  const Json row = JsonReader::read(runner.run("gemm m=256 n=256 k=254", 2).to_json());
  CHECK(row["bound"]["level"].text == "l2");
  CHECK(row["bound"]["arithmetic"].text == arithmetic["ceiling"].text);
  CHECK(row["bound"]["bandwidth"].text == bandwidth["ceiling"].text);
  CHECK(row["bound"]["latency"].text == ceiling_of(lines, "latency")["ceiling"].text);
}

TEST_CASE("a ceiling that cannot be measured is a line with its reason") {
  set_script("when op=memory fail plan unsupported no streams here");
  Runner runner(plugin_path("fake"));
  const Json bandwidth = ceiling_of(ceilings_of(runner, {kProblem}), "bandwidth");
  CHECK(bandwidth["status"].text == "unsupported");
  CHECK(bandwidth["reason"].text == "no streams here");
  CHECK(bandwidth["statistics"].is_null());
  CHECK(bandwidth["rates"].is_null());
}

TEST_CASE("a wrong problem is no ceiling") {
  set_script("when op=memory mutant zero_tile");
  Runner runner(plugin_path("fake"));
  const Json bandwidth = ceiling_of(ceilings_of(runner, {kProblem}), "bandwidth");
  CHECK(bandwidth["status"].text == "incorrect");
  CHECK(bandwidth["rates"].is_null());
  CHECK(runner.run(kProblem, 1).bound.bytes_per_s == 0);
}

TEST_CASE("a ceiling that a row raises is a second line, which names the row") {
  set_script("when m=2048 n=1024 time 2e6");
  Runner runner(plugin_path("fake"), "verify=no");
  const std::vector<Json> lines = ceilings_of(runner, {kProblem, "gemm m=2048 n=1024 k=1024"});
  const Json& last = lines.back();
  CHECK(last["kind"].text == "arithmetic");
  CHECK(last["raised_by"].number == 1);
  CHECK(last["problem"].text == "gemm m=2048 n=1024 k=1024 trans_a=n trans_b=n precision=float");
  CHECK(last["rates"]["tflops"].number == doctest::Approx(4294967296 / 2e9));
}

TEST_CASE("a ceiling that is given is not measured") {
  set_script("");
  std::vector<Json> lines;
  {
    Runner first(plugin_path("fake"));
    lines = ceilings_of(first, {"gemm m=256 n=256 k=256"});
  }
  Runner second(plugin_path("fake"));
  for (const Json& line : lines) {
    const bool is_latency = line["kind"].text == "latency";
    second.give_ceiling("ceiling " + line["ceiling"].text +
                        " ; figure=" + (is_latency ? "500" : "1.5e12"));
  }
  CHECK(ceilings_of(second, {"gemm m=256 n=256 k=200"}).empty());
  CHECK(second.run("gemm m=256 n=256 k=256", 1).bound.flops_per_s == 1.5e12);
  CHECK(ceilings_of(second, {"gemm m=256 n=256 k=256 precision=half"}).size() == 2);
  CHECK_THROWS_AS(second.give_ceiling("nonsense"), InvalidProblem);
}

TEST_CASE("the hello says what answered") {
  set_script(
      "libraries one two; absent three not installed: pip install three; devices 2;"
      "when device=1 emit describe_device name The other; emit describe_device warning.load busy;"
      "emit describe warning.mixed two majors; emit describe joint_phase.rnn bwd; "
      "emit describe kernel_sources /srv/kernels; emit environment FAKE_THREADS 4; emit "
      "environment FAKE_SET_BY_USER no");
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
  CHECK(hello["backend"]["simulated_time"].truth);
  CHECK(hello["backend"]["kernel_sources"].text == "/srv/kernels");
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
  set_script(
      "emit describe library.b.version 2; emit describe library.c.note x;"
      "emit describe library.b.path /p; emit describe library.with.dots.version 3");
  const Json hello = JsonReader::read(Runner(plugin_path("fake")).hello());
  CHECK(hello["libraries"]["b"]["version"].text == "2");
  CHECK(hello["libraries"]["b"]["path"].text == "/p");
  CHECK(hello["libraries"]["fake"]["version"].text == "1.0");
}

TEST_CASE("what cannot be used gives one line") {
  CHECK(refusal_message("fail describe_device failed boom", "") ==
        "backend fake: describe_device: boom");
  CHECK(refusal_message("", "library=fake") == "it was made");
  CHECK(
      refusal_message("libraries openblas mkl", "library=opnblas") ==
      "backend fake knows no library 'opnblas' (did you mean 'openblas'?); it knows openblas mkl");
  CHECK(refusal_message("absent mkl not installed: pip install mkl", "library=mkl") ==
        "library mkl: not installed: pip install mkl");
  CHECK(refusal_message("devices 2", "device=2") ==
        "backend fake has no device 2; it has 2 devices");
  CHECK(refusal_message("devices 1", "device=2147483647") ==
        "backend fake has no device 2147483647; it has 1 device");
  CHECK(refusal_message("devices 0") == "backend fake has no device here");
  CHECK(refusal_message(
            "devices 0; libraries; absent driver it was not found, install it; absent b x") ==
        "backend fake has no device here: it was not found, install it");
  CHECK(refusal_message("devices 0; libraries driver; absent b no b") ==
        "backend fake has no device here");
  CHECK(refusal_message("devices -3").find("an impossible answer") != std::string::npos);
  for (const std::string slot : {"device_count", "describe", "environment"})
    CHECK(refusal_message("fail " + slot + " failed no driver") ==
          "backend fake: " + slot + ": no driver");
  set_script("");
  CHECK_THROWS_AS(Runner(plugin_path("fake"), "cache=warm"), InvalidProblem);
  CHECK_THROWS_AS(Runner(plugin_path("wrong_abi")), BackendUnavailable);
  CHECK_THROWS_AS(Runner("no_such_backend"), BackendUnavailable);
}

TEST_CASE("a hello that fails is one line, too") {
  set_script("fail describe_device failed no sensor");
  try {
    Runner(plugin_path("fake")).hello();
    FAIL("it did not throw");
  } catch (const std::exception& error) {
    CHECK(std::string(error.what()).find("no sensor") != std::string::npos);
  }
}

TEST_CASE("inspect never throws") {
  set_script("");
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
  set_script("devices 2; when device=1 fail describe_device failed no sensor");
  const Json found = JsonReader::read(inspect(plugin_path("fake")));
  CHECK(found["backend"]["reason"].text == "describe_device: no sensor");
  CHECK(found["devices"].items.size() == 1);
  CHECK(found["libraries"]["fake"]["version"].text == "1.0");
  set_script("devices 0");
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
