// Options of a row: every key, and what is wrong with a value.
#include "deepbench/run/row/options.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "deepbench/core/status.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench {
namespace {

RunOptions parse_options(const std::string& text) {
  RunOptions options;
  options.apply(text);
  return options;
}

TEST_CASE("every key of docs/reference/protocol.md") {
  const RunOptions options = parse_options(
      "device=1 library=openblas algorithm=best cache=cold power=sustained samples=7 "
      "time_limit=2.5 "
      "verify=no verify_seed=5 pad=no threads=4 seed=9 inputs=ones constant=a,b workspace=1024 "
      "once=yes "
      "ceilings=no check=yes position=3 launch=stream budget=0.5 first=fast soak=2000");
  CHECK(options.budget_s == 0.5);
  CHECK(options.soak == 2000);
  CHECK(options.first == "fast");
  CHECK(options.launch == DEEPBENCH_LAUNCH_STREAM);
  CHECK(options.check);
  CHECK(options.device == 1);
  CHECK(options.library == "openblas");
  CHECK(options.algorithm == "best");
  CHECK(options.cold);
  CHECK(options.sustained);
  CHECK(options.samples == 7);
  CHECK(options.time_limit_s == 2.5);
  CHECK_FALSE(options.verify);
  CHECK_FALSE(options.pad);
  CHECK(options.threads == 4);
  CHECK(options.seed == 9);
  CHECK(options.inputs == "ones");
  CHECK(options.constant == std::vector<std::string>{"a", "b"});
  CHECK(options.is_constant("a"));
  CHECK(options.is_constant("a,b"));
  CHECK_FALSE(options.is_constant("a,c"));
  CHECK_FALSE(options.is_constant("c"));
  CHECK(options.workspace == 1024);
  CHECK(options.once);
  CHECK_FALSE(options.ceilings);
  CHECK(options.position == 3);
}

TEST_CASE("a soak is sustained, in batches of at most a twentieth of its calls") {
  const RunOptions options = parse_options("soak=2000");
  CHECK(options.is_sustained());
  const MeasureOptions measure = options.for_measuring({});
  CHECK(measure.soak_calls == 2000);
  CHECK(measure.max_batch == 100);
  CHECK(measure.min_load_ns);
  CHECK(parse_options("soak=7").for_measuring({}).max_batch == 1);
  CHECK_FALSE(parse_options("soak=0").is_sustained());
  CHECK_THROWS_AS(parse_options("soak=-1"), InvalidProblem);
}

TEST_CASE("defaults are those of docs/reference/protocol.md") {
  const RunOptions options = parse_options("");
  CHECK(options.device == 0);
  CHECK(options.devices.empty());
  CHECK(options.launch == DEEPBENCH_LAUNCH_BEST);
  CHECK(options.library == "");
  CHECK(options.algorithm == "default");
  CHECK_FALSE(options.cold);
  CHECK_FALSE(options.sustained);
  CHECK(options.samples == 0);
  CHECK(options.time_limit_s == 0);
  CHECK(options.verify);
  CHECK(options.pad);
  CHECK(options.threads == 0);
  CHECK(options.seed == 1);
  CHECK(options.inputs == "uniform");
  CHECK(options.constant.empty());
  CHECK(options.workspace == 33554432);
  CHECK_FALSE(options.once);
  CHECK(options.ceilings);
  CHECK_FALSE(options.check);
}

TEST_CASE("options override what was set before and keep the rest") {
  RunOptions options = parse_options("cache=cold seed=5");
  options.apply("cache=hot threads=2");
  CHECK_FALSE(options.cold);
  CHECK(options.seed == 5);
  CHECK(options.threads == 2);
}

TEST_CASE("the values of the options of a run are those that were set") {
  const auto values = [](const std::string& text) {
    std::string all;
    for (const auto& [key, value] : parse_options(text).values())
      if (!value.empty()) all += (all.empty() ? "" : " ") + key + "=" + value;
    return all;
  };
  const std::string changed =
      "device=2 devices=2,0 library=mkl algorithm=best cache=cold power=sustained samples=7 "
      "soak=9 visits=3 time_limit=2.5 verify=no verify_seed=5 pad=no threads=4 seed=9 inputs=ones "
      "constant=a,b "
      "workspace=1024 launch=stream once=yes energy=yes ceilings=no cores=all";
  CHECK(values(changed) == changed);
  CHECK(values("visit=2 check=yes position=3 budget=2 first=a") == values(""));
  CHECK(parse_options("").values().size() == parse_options(changed).values().size());
}

TEST_CASE("visits divide the samples and the time limit of a row, and half of its least total") {
  Attributes device;
  device.set("min_total_ns", 30e6);
  device.set("row_limit_ns", 6e9);
  const MeasureOptions whole = parse_options("samples=7").for_measuring(device);
  const MeasureOptions part = parse_options("samples=7 visits=3 visit=2").for_measuring(device);
  CHECK(part.exact_samples == 3);
  CHECK(part.visits == 3);
  CHECK(part.min_total_ns == doctest::Approx(5e6));
  CHECK(part.time_limit_ns == doctest::Approx(2e9));
  CHECK(part.max_error == doctest::Approx(whole.max_error * std::sqrt(3.0)));
  CHECK(part.min_span_ns == whole.min_span_ns);
}

TEST_CASE("a wrong option of any length is quoted in part") {
  const std::string many(5000, 'x');
  for (const std::string& text :
       {many + "=1", "cache=" + many, "power=" + many, "inputs=" + many, "launch=" + many}) {
    try {
      parse_options(text);
      FAIL("not refused");
    } catch (const InvalidProblem& error) {
      CHECK(std::string(error.what()).size() < 400);
    }
  }
}

TEST_CASE("wrong options say what would be right") {
  const std::string keys =
      "; there are device devices library algorithm budget first cache power samples soak visits "
      "visit "
      "time_limit "
      "verify verify_seed pad "
      "threads seed "
      "inputs constant workspace launch once energy ceilings cores check position";
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"cash=cold", "no option is called 'cash' (did you mean 'cache'?)" + keys},
           {"m=1", "no option is called 'm'" + keys},
           {"cache=warm", "cache=warm: must be cold or hot"},
           {"power=full", "power=full: must be sustained or rested"},
           {"verify=1", "verify=1: must be yes or no"},
           {"once=true", "once=true: must be yes or no"},
           {"inputs=random", "inputs=random: must be uniform, zeros or ones"},
           {"samples=-1", "samples=-1: must be at least 0"},
           {"visits=0", "visits=0: must be at least 1"},
           {"visit=0", "visit=0: must be at least 1"},
           {"samples=many", "samples=many is not an integer"},
           {"device=-1", "device=-1: must be at least 0"},
           {"devices=0,-1", "devices=-1: must be at least 0"},
           {"devices=0,4294967296", "devices=4294967296: must be at most 2147483647"},
           {"device=2147483648", "device=2147483648: must be at most 2147483647"},
           {"devices=0,2,0", "devices=0,2,0: device 0 stands there twice"},
           {"launch=fast", "launch=fast: must be best, graph, stream or isolated"},
           {"seed=99999999999999999999", "seed=99999999999999999999 does not fit 64 bits"},
           {"time_limit=-1", "time_limit=-1: must be between 0 and 1000000 seconds"},
           {"budget=-1", "budget=-1: must be between 0 and 1000000 seconds"},
           {"time_limit=soon", "time_limit=soon is not a number"},
           {"cache", "'cache' is not of the form key=value"},
           {"seed=1 seed=2", "'seed' is given twice"},
       }) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_options(text), message.c_str(), InvalidProblem);
  }
}

TEST_CASE("what plugins are told") {
  const Attributes values =
      parse_options("cache=cold pad=no threads=3 library=mkl inputs=zeros constant=a,b")
          .for_plugin();
  CHECK(values.integer("device") == 0);
  CHECK(values.text("devices") == "");
  CHECK(values.text("library") == "mkl");
  CHECK(values.text("cache") == "cold");
  CHECK(values.integer("threads") == 3);
  CHECK(values.integer("pad", 1) == 0);
  CHECK(values.integer("seed") == 1);
  CHECK(values.integer("workspace") == 33554432);
  CHECK(values.text("inputs") == "zeros");
  CHECK(values.text("constant") == "a,b");
}

TEST_CASE("of several devices the first is the row's") {
  const RunOptions options = parse_options("devices=2,0");
  CHECK(options.device == 2);
  CHECK(options.devices == std::vector<int64_t>{2, 0});
  CHECK(options.for_plugin().text("devices") == "2,0");
  CHECK(plugin::Options::parse_device_list("2,0,11") == std::vector<int>{2, 0, 11});
  CHECK(plugin::Options::parse_device_list("").empty());
}

TEST_CASE("how long is measured") {
  Attributes device;
  CHECK(parse_options("").for_measuring(device).time_limit_ns == 5e9);
  CHECK(parse_options("time_limit=2").for_measuring(device).time_limit_ns == 2e9);
  CHECK(parse_options("samples=7").for_measuring(device).exact_samples == 7);
  CHECK(parse_options("").for_measuring(device).min_load_ns == std::nullopt);
  CHECK(parse_options("power=sustained").for_measuring(device).min_load_ns == 3e9);
  CHECK(parse_options("").for_measuring(device).timer_resolution_ns == 1);
  CHECK(parse_options("").for_measuring(device).min_span_ns == 200e3);
  CHECK(parse_options("").for_measuring(device).min_total_ns == 20e6);
}

TEST_CASE("a device may ask to be measured otherwise") {
  Attributes device;
  device.set("timer_resolution_ns", 32.0);
  device.set("min_span_ns", 500e3);
  device.set("min_total_ns", 200e6);
  device.set("row_limit_ns", 10e9);
  const MeasureOptions how = parse_options("").for_measuring(device);
  CHECK(how.timer_resolution_ns == 32);
  CHECK(how.min_span_ns == 500e3);
  CHECK(how.min_total_ns == 200e6);
  CHECK(how.time_limit_ns == 10e9);
  CHECK(parse_options("time_limit=2").for_measuring(device).time_limit_ns == 2e9);
}

}  // namespace
}  // namespace deepbench
