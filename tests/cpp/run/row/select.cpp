// algorithm=best: the fastest candidate that is right, by more than noise.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "../../fake_backend.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/run/row/candidate_search.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::fake_row;

constexpr const char* kProblem = "gemm m=7 n=5 k=9";
// No limit of host time, so that a busy machine changes nothing.
constexpr const char* kExhaustive = "ceilings=no algorithm=exhaustive";

bool has_note(const Row& row, const std::string& text) {
  return std::any_of(row.notes.begin(), row.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_CASE("the fastest candidate wins, and both times are on the row") {
  const Row row = fake_row(
      "candidates own quick slow; time 1000; when candidate=quick time 500;"
      "when candidate=slow time 2000",
      kProblem, kExhaustive);
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 500);
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(row.algorithm.default_ns == 1000);
  REQUIRE_FALSE(row.algorithm.default_samples_ns.empty());
  CHECK(row.algorithm.default_samples_ns.back() == 1000);
  CHECK(row.algorithm.default_name == "naive:own");
  CHECK(row.algorithm.candidates() == 3);
  CHECK(row.algorithm.gain == 2);
  CHECK(row.verification.state == Verification::State::kPassed);
}

TEST_CASE("the id of the library's default is on the row, whoever wins") {
  const std::string script = "candidates own other; time 1000; when candidate=other time ";
  for (const std::string ns : {"500", "2000"}) {
    const Row row = fake_row(script + ns, kProblem, kExhaustive);
    CHECK(row.algorithm.default_candidate == "own");
    CHECK(row.to_json().find("\"default_candidate\": \"own\"") != std::string::npos);
  }
  CHECK(fake_row("time 1000", kProblem, kExhaustive).algorithm.default_candidate == "");
  const Row plain = fake_row("candidates own other; time 1000", kProblem, "ceilings=no");
  CHECK(plain.to_json().find("\"default_candidate\": null") != std::string::npos);
}

TEST_CASE("every candidate's times are on the row, and why it was left out") {
  const Row row = fake_row(
      "candidates own quick wrong broken; time 1000; when candidate=quick time 500;"
      "when candidate=wrong time 300; when candidate=wrong mutant last_k;"
      "when candidate=broken fail prepare failed it broke",
      kProblem, kExhaustive);
  const std::vector<TriedCandidate>& tried = row.algorithm.tried;
  REQUIRE(tried.size() == 4);
  CHECK(row.algorithm.listed == 4);
  CHECK(tried[0].id == "");
  CHECK(tried[0].screened_ns == 1000);
  CHECK(tried[0].compared_ns == std::vector<double>(5, 1000));
  CHECK(tried[1].id == "quick");
  CHECK(tried[1].compared_ns == std::vector<double>(5, 500));
  CHECK(tried[1].refused == "");
  CHECK(tried[2].screened_ns == 300);
  CHECK(tried[2].refused.find("before timing: output ") == 0);
  CHECK(tried[3].screened_ns == 0);
  CHECK(tried[3].refused == "prepare: it broke");
  const std::string json = row.to_json();
  CHECK(json.find("\"candidates\": 4, ") != std::string::npos);
  CHECK(json.find("\"listed\": 4, \"searched_ns\": ") != std::string::npos);
  CHECK(json.find("\"first\": null, \"tried\": [{\"candidate\": null, \"screened_ns\": 1000, "
                  "\"compared_ns\": "
                  "[1000, 1000, 1000, 1000, 1000]}, ") != std::string::npos);
  CHECK(json.find("{\"candidate\": \"broken\", \"screened_ns\": null, \"compared_ns\": [], "
                  "\"refused\": \"prepare: it broke\"}]") != std::string::npos);
  CHECK(fake_row("time 1000", kProblem, "ceilings=no").to_json().find("\"tried\"") ==
        std::string::npos);
}

TEST_CASE("a switch needs more than 2 %") {
  const std::string script = "candidates own other; time 1000; when candidate=other time ";
  CHECK(fake_row(script + "985", kProblem, kExhaustive).algorithm.name == "naive:own");
  CHECK(fake_row(script + "975", kProblem, kExhaustive).algorithm.name == "naive:other");
  const Row equal = fake_row(script + "1000", kProblem, kExhaustive);
  CHECK(equal.algorithm.name == "naive:own");
  CHECK(equal.median_ns() == 1000);
  CHECK(equal.algorithm.default_ns == 1000);
  CHECK(equal.algorithm.gain == 0);
}

TEST_CASE("a candidate that is faster but wrong is no winner, and is named") {
  const Row row = fake_row(
      "candidates own wrong quick; time 1000; when candidate=wrong time 300;"
      "when candidate=wrong mutant last_k; when candidate=quick time 400",
      kProblem, kExhaustive);
  CHECK(row.status == Status::kOk);
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(row.median_ns() == 400);
  CHECK(has_note(row, "candidate wrong left out: before timing: output "));
  const Row none = fake_row(
      "candidates own wrong; time 1000; when candidate=wrong time 300;"
      "when candidate=wrong mutant one_off",
      kProblem, kExhaustive);
  CHECK(none.status == Status::kOk);
  CHECK(none.algorithm.name == "naive:own");
  CHECK(none.median_ns() == 1000);
  CHECK(none.verification.state == Verification::State::kPassed);
}

TEST_CASE("what is faster in turns only is not the best") {
  // Attempts: 0 the row's own, 1 and 2 first looks, 3 to 12 the final, 13 the winner in full.
  const std::string script =
      "candidates own quick; time 1000; when candidate=quick time 800;"
      "when candidate=quick attempt=13 time ";
  const Row row = fake_row(script + "1100", kProblem, kExhaustive);
  CHECK(row.algorithm.name == "naive:own");
  CHECK(row.algorithm.candidate == "");
  CHECK(row.algorithm.gain == 0);
  CHECK(row.median_ns() == 1000);
  CHECK(has_note(
      row, "candidate quick was faster in turns, but took 1.100 \u00b5s against 1.000 \u00b5s"));
  CHECK(fake_row(script + "900", kProblem, kExhaustive).algorithm.name == "naive:quick");
}

TEST_CASE("energy is of the library's default, where that is kept") {
  for (const std::string loses : {"attempt=13 time 2e6", "attempt=13 mutant last_k"}) {
    CAPTURE(loses);
    const Row row = fake_row(
        "candidates own quick; time 1e6; when candidate=quick time 8e5;"
        "when candidate=quick " +
            loses,
        kProblem, std::string(kExhaustive) + " energy=yes");
    CHECK(row.algorithm.name == "naive:own");
    REQUIRE(row.metrics.size() == 1);
    CHECK(row.metrics[0].value == 1.0 / 2200);  // a joule in 2.2 s of its calls
  }
}

TEST_CASE("a library's default that cannot be prepared again keeps its row, without energy") {
  // Attempts: 0 the row's own, 1 and 2 first looks, 3 to 12 the final, 13 the winner, 14 the own
  // again.
  const Row row = fake_row(
      "candidates own quick; time 1e6; when candidate=quick time 8e5;"
      "when candidate=quick attempt=13 time 2e6; when attempt=14 fail prepare out_of_memory full",
      kProblem, std::string(kExhaustive) + " energy=yes");
  CHECK(row.status == Status::kOk);
  CHECK(row.algorithm.name == "naive:own");
  CHECK(row.median_ns() == 1e6);
  CHECK(row.metrics.empty());
  CHECK(has_note(row, "candidate quick was faster in turns"));
  CHECK(has_note(row, "without energy or single calls: prepare: full"));
  CHECK_FALSE(has_note(row, "left out"));
}

TEST_CASE("the id that gives the row again is on it") {
  const std::string script = "candidates own quick; time 1000; when candidate=quick time 500";
  const Row row = fake_row(script, kProblem, kExhaustive);
  CHECK(row.algorithm.candidate == "quick");
  CHECK(row.to_json().find("\"candidate\": \"quick\"") != std::string::npos);
  const Row own = fake_row("candidates own; time 1000", kProblem, kExhaustive);
  CHECK(own.to_json().find("\"candidate\": null") != std::string::npos);
}

TEST_CASE("a wrong candidate does not hide the right ones that it outran by far") {
  const Row row = fake_row(
      "candidates own wrong quick; time 1000; when candidate=wrong time 300;"
      "when candidate=wrong mutant last_k; when candidate=quick time 500",
      kProblem, kExhaustive);
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(row.median_ns() == 500);
  CHECK(row.algorithm.candidates() == 3);
  CHECK(has_note(row, "candidate wrong left out: before timing: output "));
}

TEST_CASE("what was asked stays noted, what a loser said does not") {
  const Row row = fake_row(
      "candidates own quick; time 1000; when candidate=quick time 500;"
      "when candidate=own emit describe_kernel note.own of its own;"
      "when candidate=quick emit describe_kernel note.quick by the way",
      kProblem, std::string(kExhaustive) + " inputs=ones");
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(row.notes == std::vector<std::string>{"inputs are all ones", "by the way"});
}

TEST_CASE("what fails in the final is left out of it, and the row stays") {
  // Attempts: 0 the row's own, 1 to 3 first looks, then the turns of quick, slower and own: 4 to 6
  // the first one, 7 to 9 the second one.
  for (const int attempt : {4, 5, 6, 7, 8, 9}) {
    CAPTURE(attempt);
    const std::string step = attempt < 7 ? "time_batch" : "prepare";
    const Row row = fake_row(
        "candidates own slower quick; time 1000; when candidate=slower time 900;"
        "when candidate=quick time 800; when attempt=" +
            std::to_string(attempt) + " fail " + step + " out_of_memory full",
        kProblem, kExhaustive);
    CHECK(row.status == Status::kOk);
    CHECK(has_note(row, "left out of the final: "));
    const bool fails_quick = attempt == 4 || attempt == 7;
    CHECK(row.median_ns() == (fails_quick ? 900 : 800));
    CHECK(row.algorithm.gain == 1000 / row.median_ns());
  }
}

TEST_CASE("a candidate that cannot be prepared or fails is left out and named") {
  const Row row = fake_row(
      "candidates own absent breaking quick; time 1000;"
      "when candidate=absent fail prepare out_of_memory needs 9 GiB of workspace;"
      "when candidate=breaking fail time_batch failed it broke;"
      "when candidate=quick time 500",
      kProblem, kExhaustive);
  CHECK(row.status == Status::kOk);
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(has_note(row, "candidate absent left out: prepare: needs 9 GiB of workspace"));
  CHECK(has_note(row, "candidate breaking left out: time_batch: it broke"));
  CHECK(row.algorithm.candidates() == 4);
}

TEST_CASE("candidates that are left out for one reason are one note") {
  const Row row = fake_row(
      "candidates own a b c d e f other; time 1000;"
      "when candidate=a fail prepare out_of_memory needs 9 GiB;"
      "when candidate=b fail prepare out_of_memory needs 10.5 GiB;"
      "when candidate=c fail prepare out_of_memory needs 9 GiB;"
      "when candidate=d fail prepare out_of_memory needs 9 GiB;"
      "when candidate=e fail prepare out_of_memory needs 9 GiB;"
      "when candidate=f fail time_batch failed it broke;"
      "when candidate=other fail time_batch failed it stopped",
      kProblem, kExhaustive);
  CHECK(row.status == Status::kOk);
  CHECK(
      row.notes ==
      std::vector<std::string>{
          "5 candidates left out (a, b, c, d and 1 more), the first of them: prepare: needs 9 GiB",
          "candidate f left out: time_batch: it broke",
          "1 more candidate left out, for other reasons"});
}

TEST_CASE("results that are wrong alike are one note") {
  const Row row = fake_row(
      "candidates own wrong worse; time 1000; when candidate=wrong time 300;"
      "when candidate=wrong mutant last_k; when candidate=worse time 310;"
      "when candidate=worse mutant last_k",
      kProblem, kExhaustive);
  REQUIRE(row.notes.size() == 1);
  CHECK(row.notes[0].find("2 candidates left out (wrong, worse)") == 0);
}

TEST_CASE("a candidate that ends the row in its full measurement is the row's") {
  const std::string script = "candidates own quick; time 1000; when candidate=quick time 500;";
  const Row lost = fake_row(script + "when candidate=quick fail scan_output device_lost gone",
                            kProblem, kExhaustive);
  CHECK(lost.status == Status::kDeviceLost);
  CHECK(lost.algorithm.candidate == "quick");
  CHECK(lost.algorithm.name == "naive:quick");
  CHECK(lost.verification.state == Verification::State::kFailed);
}

TEST_CASE("a device that is lost by a candidate is lost") {
  const Row row = fake_row(
      "candidates own fatal; time 1000; when candidate=fatal fail time_batch device_lost gone",
      kProblem, kExhaustive);
  CHECK(row.status == Status::kDeviceLost);
}

TEST_CASE("candidates that cannot be listed do not cost the library's default") {
  const Row row = fake_row("time 1000; fail candidates failed no list", kProblem, kExhaustive);
  CHECK(row.status == Status::kOk);
  CHECK(row.median_ns() == 1000);
  CHECK(has_note(row, "no list"));
}

TEST_CASE("without candidates best is the library's default") {
  for (const std::string plugin : {"fake", "minimal"}) {
    const Row row = fake_row("time 1000", kProblem, kExhaustive, plugin);
    CHECK(row.status == Status::kOk);
    CHECK(row.algorithm.name == "naive:default");
    CHECK(row.median_ns() == 1000);
  }
}

std::string many_candidates(int count) {
  std::string line = "candidates own";
  for (int i = 1; i < count; ++i) line += " c" + std::to_string(i);
  return line + "\ntime 1000\nwhen candidate=c" + std::to_string(count - 1) + " time 500\n";
}

TEST_CASE("best tries at most 32, exhaustive all") {
  const Row all = fake_row(many_candidates(40), kProblem, kExhaustive);
  CHECK(all.algorithm.name == "naive:c39");
  CHECK(all.algorithm.candidates() == 40);
  // The library's default sleeps, so that there is host time enough to try others.
  const Row some = fake_row(many_candidates(40) + "when candidate=own sleep time_batch 2", kProblem,
                            "ceilings=no algorithm=best verify=no");
  CHECK(some.algorithm.name == "naive:own");
  CHECK(some.algorithm.candidates() <= 33);
}

TEST_CASE("best gives up when the others cost too much host time") {
  const Row row = fake_row(many_candidates(20) + "sleep prepare 50; time 1000", kProblem,
                           "ceilings=no algorithm=best");
  CHECK(row.status == Status::kOk);
  CHECK(row.algorithm.candidates() < 20);
  CHECK(row.algorithm.listed == 20);
  CHECK(has_note(row, "tried " + std::to_string(row.algorithm.candidates()) +
                          " of 20 candidates for lack of time"));
}

TEST_CASE("time that other rows have left lets best try all, and both are on the row") {
  const std::string script = many_candidates(20) + "sleep prepare 50";
  const auto run = [&](const std::string& more) {
    return fake_row(script, kProblem, "ceilings=no algorithm=best" + more);
  };
  const Row poor = run(""), rich = run(" budget=1000");
  CHECK(poor.algorithm.candidates() < 20);
  CHECK(rich.algorithm.candidates() == 20);
  CHECK(rich.algorithm.name == "naive:c19");
  CHECK(rich.algorithm.budget_ns > 1000e9);
  CHECK(rich.algorithm.budget_ns < 2000e9);
  CHECK(rich.algorithm.searched_ns > 19 * 50e6);
  CHECK(rich.algorithm.searched_ns < rich.algorithm.budget_ns);
  CHECK(rich.to_json().find("\"budget_ns\": 10") != std::string::npos);
  CHECK(fake_row(script, kProblem, kExhaustive).to_json().find("budget_ns") == std::string::npos);
}

TEST_CASE("the first visit searches for all visits, with the budget of all") {
  const Row row = fake_row(many_candidates(2) + "sleep prepare 50", kProblem,
                           "ceilings=no algorithm=best visits=3");
  CHECK(row.algorithm.budget_ns >= 2 * 3 * 50e6);
}

TEST_CASE("the candidate that is to be first comes after the default, if there is such a one") {
  const auto tried = [](const std::string& more) {
    const Row row = fake_row(many_candidates(4), kProblem, std::string(kExhaustive) + more);
    std::string ids;
    for (const TriedCandidate& one : row.algorithm.tried) ids += "," + one.id;
    return ids + " " + row.algorithm.first;
  };
  CHECK(tried("") == ",,c1,c2,c3 ");
  CHECK(tried(" first=c3") == ",,c3,c1,c2 c3");
  CHECK(tried(" first=own") == ",,c1,c2,c3 own");
  CHECK(tried(" first=other") == ",,c1,c2,c3 other");
}

TEST_CASE("a final that has no time left has three rounds instead of five") {
  const testing::TemporaryFolder folder;
  // Each call of the candidate's takes 0.2 s of host time: ten of them are more than there is.
  const Backend backend = fake_backend(
      "candidates own quick; time 20e6; when candidate=quick time 10e6;"
      "when candidate=quick sleep time_batch 200; log " +
      (folder / "calls"));
  Stages stages;
  const Plan plan = plan_first_choice({Problem::parse(kProblem), RunOptions()}, backend);
  const CandidateSearch selection =
      search_candidates({backend, {}}, plan, 500e3, 1.9e9, {}, stages);
  REQUIRE(selection.improvements.size() == 1);
  CHECK(selection.improvements[0].gain == 2);
  const auto calls = folder.lines("calls");
  const auto timed = std::count_if(calls.begin(), calls.end(), [](const std::string& call) {
    return call.find("time_batch") == 0;
  });
  // Of each two to warm up and three samples, in first looks and in the final.
  CHECK(timed == 2 * (2 + 3) + 2 * (2 + 3));
}

// The number of kernels that a search prepares, and the most that exist at the same time.
struct PreparedKernels {
  int prepared = 0, most_together = 0;
};

// A search on a device with a cache of this size, whose second candidate takes half of the time.
PreparedKernels kernels_of_search(std::optional<int64_t> cache_bytes,
                                  const RunOptions& options = {}, bool shares_host_memory = false) {
  const testing::TemporaryFolder folder;
  const Backend backend = fake_backend(
      "candidates own quick; time 20e6; when candidate=quick time 10e6; log " + (folder / "calls"));
  RowContext context{backend, {}};
  if (cache_bytes) context.device.set("last_level_cache_bytes", *cache_bytes);
  context.device.set("shares_host_memory", int64_t{shares_host_memory});
  Stages stages;
  const Plan plan = plan_first_choice({Problem::parse(kProblem), options}, backend);
  CHECK(search_candidates(context, plan, 500e3, 0, {}, stages).improvements.size() == 1);
  PreparedKernels kernels;
  int together = 0;
  for (const std::string& call : folder.lines("calls")) {
    if (call.rfind("prepare", 0) == 0) ++kernels.prepared, ++together;
    if (call.rfind("destroy", 0) == 0) --together;
    kernels.most_together = std::max(kernels.most_together, together);
  }
  CHECK(together == 0);
  return kernels;
}

TEST_CASE("finalists that fit a device's cache are prepared for each sample, one at a time") {
  // Two kernels are screened. In the final, each of two takes five samples.
  const auto unknown = kernels_of_search({}), alone = kernels_of_search(1000000);
  CHECK(unknown.prepared == 2 + 2);
  CHECK(unknown.most_together == 2);
  CHECK(alone.prepared == 2 + 2 * 5);
  CHECK(alone.most_together == 1);
  constexpr int64_t kBytes = 4 * (7 * 9 + 9 * 5 + 2 * 7 * 5);  // C is read and written
  CHECK(kernels_of_search(kBytes).most_together == 1);
  CHECK(kernels_of_search(kBytes - 1).most_together == 2);
  RunOptions cold, sustained;
  cold.cold = true;
  sustained.sustained = true;
  CHECK(kernels_of_search(1000000, cold).most_together == 2);
  CHECK(kernels_of_search(1000000, sustained).most_together == 2);
  CHECK(kernels_of_search(1000000, {}, true).most_together == 2);
}

// A search with this budget among five candidates.
CandidateSearch search_among_five(double budget_ns, const std::string& script, Stages& stages) {
  const Backend backend = fake_backend(many_candidates(5) + script);
  const Plan plan = plan_first_choice({Problem::parse(kProblem), RunOptions()}, backend);
  return search_candidates({backend, {}}, plan, 500e3, budget_ns, {}, stages);
}

TEST_CASE("the time that listing candidates takes is part of what best has") {
  Stages stages;
  const CandidateSearch search = search_among_five(1000e9, "sleep candidates 200", stages);
  CHECK(search.tried.size() == 5);
  CHECK(search.spent_ns >= 200e6);
  CHECK(stages.prepare_ns >= 200e6);
  CHECK(stages.compiling_ns == 0);
}

TEST_CASE("listing candidates for longer than best has leaves time to try the first") {
  Stages stages;
  // Listing takes more than half of the budget. A quarter, 0.5 s, is left for screening.
  const CandidateSearch search =
      search_among_five(2e9, "sleep candidates 1100\nwhen candidate=c1 sleep prepare 600", stages);
  CHECK(search.tried.size() == 2);
  CHECK(search.tried.back().id == "c1");
  CHECK(search.notes == std::vector<std::string>{"tried 2 of 5 candidates for lack of time"});
}

TEST_CASE("what listing candidates compiled once is none of the time that best has") {
  Stages stages;
  Stopwatch watch;
  // More than there was counts as all of it.
  const CandidateSearch search =
      search_among_five(1000e9, "sleep candidates 200\nemit candidates compiling_ns 1.5e9", stages);
  CHECK(search.tried.size() == 5);
  CHECK(stages.compiling_ns >= 200e6);
  CHECK(stages.compiling_ns <= stages.prepare_ns);
  CHECK(search.spent_ns <= watch.lap_ns() - stages.compiling_ns);
}

TEST_CASE("a time of compilation that candidates cannot have taken is refused") {
  const Backend backend = fake_backend("candidates a b; emit candidates compiling_ns -1.5");
  const BackendPlan plan = backend.plan(Problem::parse(kProblem), {});
  CHECK_THROWS_WITH_AS(plan.candidates(0), doctest::Contains("compiling_ns=-1.5"), RowFailure);
}

TEST_CASE("the time of a candidate that cannot be prepared counts as preparing") {
  Stages stages;
  const CandidateSearch search = search_among_five(
      1000e9,
      "when candidate=c1 sleep prepare 100\nwhen candidate=c1 fail prepare unsupported no kernel",
      stages);
  CHECK(search.tried[1].refused == "no kernel");
  CHECK(stages.prepare_ns >= 100e6);
}

// Batches of the candidate's; the library's default takes two calls to warm up and three
// samples.
int64_t candidate_batches(const std::string& default_ns, const std::string& other_ns) {
  const testing::TemporaryFolder folder;
  const Backend backend =
      fake_backend("candidates own other; time " + default_ns + "; when candidate=other time " +
                   other_ns + "; log " + (folder / "calls"));
  Stages stages;
  const CandidateSearch selection = search_candidates(
      {backend, {}}, plan_first_choice({Problem::parse(kProblem), RunOptions()}, backend), 500e3, 0,
      {}, stages);
  CHECK(selection.improvements.empty());
  CHECK(selection.tried.size() == 2);
  const auto calls = folder.lines("calls");
  return std::count_if(calls.begin(), calls.end(),
                       [](const std::string& call) { return call.find("time_batch") == 0; }) -
         5;
}

TEST_CASE("a candidate whose call is long and far off takes no samples") {
  CHECK(candidate_batches("20e3", "2e6") == 2);  // none but to warm up
  CHECK(candidate_batches("20e3", "2e8") == 2);
  CHECK(candidate_batches("20e3", "40e3") == 5);                // twice the leader
  CHECK(candidate_batches("20e3", "9e5") == 5);                 // far off, yet short
  CHECK(candidate_batches("1e6", "3.5e6") == 5);                // long, yet not far off
  CHECK(candidate_batches("1e6", "4.5e6") == 2);                // both
  CHECK(candidate_batches("20e3", "40e3 2e6 40e3 40e3") == 6);  // held up once
}

TEST_CASE("a library's default that is far off has its samples all the same") {
  const Row row = fake_row("candidates own quick; time 2e7; when candidate=quick time 1e5",
                           kProblem, kExhaustive);
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(row.algorithm.gain == 200);
}

TEST_CASE("what is far slower than the library's default needs no final") {
  const Row row = fake_row(
      "candidates own slow; time 1000; when candidate=slow time 2000;"
      "when attempt=3 fail time_batch failed a final",
      kProblem, kExhaustive);
  CHECK(row.algorithm.name == "naive:own");
  CHECK(row.notes.empty());
}

// Every candidate takes 200 ms to prepare, and says how much of that was compiling. The library's
// own choice sleeps, so that there is host time enough for what is not, but far less than for all:
// on a busy machine it may take several times as long.
Row row_with_slow_candidates(const std::string& compiling_ns) {
  return fake_row(many_candidates(10) + "sleep prepare 200; time 1000;" +
                      "when candidate=own sleep time_batch 2;" +
                      "emit describe_kernel compiling_ns " + compiling_ns,
                  kProblem, "ceilings=no algorithm=best verify=no");
}

TEST_CASE("what is compiled once for a candidate is none of the time that best has") {
  const Row row = row_with_slow_candidates("1e9");  // more than there was counts as all of it
  CHECK(row.status == Status::kOk);
  CHECK_FALSE(has_note(row, "candidates for lack of time"));
  CHECK(row.algorithm.candidates() == 10);
  for (const char* compiling_ns : {"1e6", "0"})
    CHECK(has_note(row_with_slow_candidates(compiling_ns), "candidates for lack of time"));
}

TEST_CASE("a candidate can be asked for by its id") {
  const std::string script = "candidates own quick; time 1000; when candidate=quick time 500";
  const Row row = fake_row(script, kProblem, "ceilings=no algorithm=quick");
  CHECK(row.status == Status::kOk);
  CHECK(row.algorithm.mode == "quick");
  CHECK(row.algorithm.name == "naive:quick");
  CHECK(row.median_ns() == 500);
  const Row unknown = fake_row(script, kProblem, "ceilings=no algorithm=quik");
  CHECK(unknown.status == Status::kInvalid);
  CHECK(unknown.reason ==
        "backend fake has no candidate 'quik' for this problem (did you mean 'quick'?); it has own "
        "quick, beside default, best and exhaustive");
  CHECK(fake_row("", kProblem, "ceilings=no algorithm=quik").reason ==
        "backend fake has no candidate 'quik' for this problem; it has none, beside default, best "
        "and "
        "exhaustive");
  const Row of_many = fake_row(many_candidates(40), kProblem, "ceilings=no algorithm=quick");
  CHECK(of_many.reason.find(" c10 c11 and 28 more, beside default") != std::string::npos);
  const Row once = fake_row(script, kProblem, "ceilings=no algorithm=quick once=yes");
  CHECK(once.algorithm.name == "naive:quick");
}

TEST_CASE("a conversion that cannot be made beforehand is part of a candidate's cost") {
  const std::string script =
      "candidates own packed; time 1000; when candidate=packed time 500;"
      "when candidate=packed emit describe_kernel converted b;"
      "when candidate=packed emit describe_kernel conversion_ns 600.0;"
      "when candidate=packed emit describe_kernel conversion_sample_ns.0 700.0;"
      "when candidate=packed emit describe_kernel conversion_sample_ns.1 600.0";
  CHECK(fake_row(script, kProblem, kExhaustive).algorithm.name == "naive:own");
  const Row constant = fake_row(script, kProblem, std::string(kExhaustive) + " constant=b");
  CHECK(constant.algorithm.name == "naive:packed");
  REQUIRE(constant.conversion);
  CHECK(constant.conversion->operand == "b");
  CHECK(constant.conversion->ns == 600);
  CHECK(constant.conversion->samples_ns == std::vector<double>{700, 600});
  CHECK(constant.conversion->constant);
}

}  // namespace
}  // namespace deepbench
