// Rows that follow from several visits, which are rows themselves.
#include "deepbench/run/row/combine_visits.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::fake_row;
using testing::Json;
using testing::JsonReader;

// A visit whose samples lie around `ns`.
Row visit_of(double ns) {
  Row row = fake_row("time 1e5", "gemm m=8 n=8 k=8");
  row.notes.clear();
  row.observed = Attributes();
  row.work = {1e6, 2e3};
  row.samples = Samples();
  for (const double factor : {0.9, 1.0, 1.0, 1.0, 1.1})
    row.samples->per_call_ns.push_back(factor * ns);
  row.samples->clock_mhz = 0;
  row.stages = Stages();
  row.stages.prepare_ns = 7;
  return row;
}

Json combined(const std::vector<Row>& visits) {
  std::vector<std::string> texts;
  for (const Row& visit : visits) texts.push_back(visit.to_json());
  return JsonReader::read(combine_visits({texts}).at(0));
}

TEST_CASE("the time is the geometric mean of the visits, and samples and stages are joined") {
  const Json row = combined({visit_of(100), visit_of(200), visit_of(400)});
  const Json& statistics = row["statistics"];
  CHECK(statistics["median_ns"].number == Approx(200));
  CHECK(statistics["min_ns"].number == Approx(90));
  CHECK(statistics["max_ns"].number == Approx(440));
  CHECK(statistics["mean_ns"].number == Approx(700.0 / 3));
  CHECK(statistics["n"].number == 15);
  CHECK(statistics["low_ns"].number < 100);
  CHECK(statistics["high_ns"].number > 400);
  CHECK(statistics["visits"]["count"].number == 3);
  CHECK(statistics["visits"]["medians_ns"].items.at(2).number == Approx(400));
  CHECK(statistics["visits"]["class_deviation"].is_null());  // one row is no class
  CHECK(row["samples_ns"].items.size() == 15);
  CHECK(row["samples_kept"].text == "all");
  CHECK(row["rates"]["tflops"].number == Approx(1e6 / 200 / 1e3));
  CHECK(row["rates"]["gbps"].number == Approx(10));
  CHECK(row["stages_ns"]["prepare"].number == 21);
}

TEST_CASE(
    "the share of waiting is the mean of the visits, and unknown if the first does not know") {
  Row first = visit_of(100), second = visit_of(100);
  CHECK_FALSE(combined({first, second})["statistics"].has("waited_share"));
  second.samples->waited_share = 0.75;
  CHECK(combined({first, second})["statistics"]["waited_share"].number == Approx(0.75));
  first.samples->waited_share = 0.25;
  CHECK(combined({first, second})["statistics"]["waited_share"].number == Approx(0.5));
}

TEST_CASE("visits that lie apart are named, and equal notes stand once") {
  Row first = visit_of(100), second = visit_of(104);
  first.notes = {"one", "both"};
  second.notes = {"both", "other"};
  const Json row = combined({first, second});
  const std::vector<Json>& notes = row["notes"].items;
  REQUIRE(notes.size() == 4);
  CHECK(notes[0].text == "one");
  CHECK(notes[2].text == "other");
  CHECK(notes[3].text == "the visits lie apart, from 100.0 ns to 104.0 ns");
  CHECK(combined({visit_of(100), visit_of(102)})["notes"].items.empty());
}

TEST_CASE("metrics that every visit has are those of the row's time") {
  Row first = visit_of(100), second = visit_of(400);
  first.metrics = {{"rate", "GB/s", "higher", 8}, {"energy", "J", "lower", 3}, {"none", "", "", 0}};
  second.metrics = {{"none", "", "", 0}, {"rate", "GB/s", "higher", 2}};
  const Json row = combined({first, second});
  const std::vector<Json>& metrics = row["metrics"].items;
  REQUIRE(metrics.size() == 3);
  CHECK(metrics[0]["name"].text == "rate");
  CHECK(metrics[0]["value"].number == Approx(4));
  CHECK(metrics[0]["unit"].text == "GB/s");
  CHECK(metrics[1]["value"].number == 3);  // measured once
  CHECK(metrics[2]["value"].number == 0);
}

TEST_CASE("the clock is the mean over the visits, if all of them know it") {
  Row first = visit_of(100), second = visit_of(100);
  first.observed.set("sm_clock_mhz", 1000.0);
  first.observed.set("temperature_c", 40.0);
  CHECK(combined({first, second})["observed"]["sm_clock_mhz"].number == 1000);
  second.observed.set("sm_clock_mhz", 1500.0);
  const Json row = combined({first, second});
  CHECK(row["observed"]["sm_clock_mhz"].number == 1250);
  CHECK(row["observed"]["temperature_c"].number == 40);
}

TEST_CASE("visits that agree have converged together, and others have the reason of a visit") {
  const auto stop = [](double second_ns, StopReason reason) {
    Row first = visit_of(100), second = visit_of(second_ns);
    second.samples->stop = reason;
    return combined({first, second})["statistics"]["stop"].text;
  };
  CHECK(stop(100, StopReason::kTooFew) == "converged");
  CHECK(stop(110, StopReason::kConverged) == "noisy");
  CHECK(stop(110, StopReason::kTooFew) == "too_few");
  CHECK(stop(110, StopReason::kTimeLimit) == "time_limit");
  CHECK(stop(100, StopReason::kThrottled) == "throttled");
}

TEST_CASE("rows of one class share their variance, and rows of other classes do not") {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 40; ++i) {
    const double ns = i < 30 ? 200 : 5000;
    const double apart = 1 + 0.001 * (1 + i % 5);
    rows.push_back(
        {visit_of(ns).to_json(), visit_of(ns * apart).to_json(), visit_of(ns / apart).to_json()});
  }
  const std::vector<std::string> combined = combine_visits(rows);
  REQUIRE(combined.size() == rows.size());
  const Json first = JsonReader::read(combined[0])["statistics"];
  const double deviation = first["visits"]["class_deviation"].number;
  CHECK(deviation > 0.001);
  CHECK(deviation < 0.005);
  // The first row's visits agree best of its class, whose variance widens the interval.
  const double plain = 4.3027 * std::log(1.001) / std::sqrt(3.0);
  CHECK(std::log(first["high_ns"].number / first["median_ns"].number) > 1.2 * plain);
}

TEST_CASE("more samples than a row keeps are thinned evenly, and n counts them all") {
  Row visit = visit_of(100);
  visit.samples->per_call_ns.assign(900, 100);
  const Json row = combined({visit, visit});
  CHECK(row["samples_ns"].items.size() == kMaxSamples);
  CHECK(row["samples_kept"].text == "thinned");
  CHECK(row["statistics"]["n"].number == 1800);
}

TEST_CASE("a row of one visit is that visit, with its interval") {
  const std::string visit = visit_of(100).to_json();
  CHECK(combine_visits({{visit}}).at(0) == visit);
}

TEST_CASE("what is no visit is refused") {
  CHECK_THROWS_AS(combine_visits({{}}), std::invalid_argument);
  CHECK_THROWS_AS(combine_visits({{"{}"}}), std::invalid_argument);
  CHECK_THROWS_AS(combine_visits({{"[]"}}), std::invalid_argument);
  Row failed = visit_of(100);
  failed.samples.reset();
  CHECK_THROWS_AS(combine_visits({{failed.to_json()}}), std::invalid_argument);
  CHECK(combine_visits({}).empty());
}

}  // namespace
}  // namespace deepbench
