// Plugins that lie or are broken: none of their rows is ok, verified and without a remark.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "../../fake_backend.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/fill.h"
#include "deepbench/run/row/verify.hpp"
#include "one_kernel_backend.hpp"

namespace deepbench {
namespace {

using testing::fake_row;

// Checked in full, and sampled with a projection of the whole.
const std::string kSmall = "gemm m=37 n=29 k=64";
const std::string kLarge = "gemm m=301 n=257 k=240";
// Its results are computed in no time when they are read, as the fake backend does.
const std::string kTiny = "gemm m=4 n=4 k=4";

std::string verdict(const Row& row) { return std::string(name_of(row.status)); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the places that are compared are drawn anew for each row, and the seed is recorded") {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) {
    const Row row = fake_row("", kSmall);
    seeds.insert(row.verification.seed);
    CHECK(contains(row.to_json(), "\"seed\": " + std::to_string(row.verification.seed)));
    CHECK(row.verification.seed < uint64_t{1} << 53);
  }
  CHECK(seeds.size() == 8);
  CHECK(fake_row("", kSmall, "ceilings=no verify_seed=123456789").verification.seed == 123456789);
  CHECK(fake_row("", kSmall, "ceilings=no verify=no").verification.seed == 0);
  const Row guessed = fake_row("mutant guessed", kLarge);
  CHECK_MESSAGE(verdict(guessed) == "incorrect", guessed.reason);
}

TEST_CASE("a loop that makes one call, whatever the count, is mistrusted") {
  const Row row = fake_row("time 2000; loops once", kSmall);
  CHECK(verdict(row) == "mistrusted");
  CHECK_MESSAGE(contains(row.reason, ": not every call is made"), row.reason);
  CHECK(row.samples);
  CHECK_FALSE(row.has_rates());
}

TEST_CASE("a batch whose first call alone does the work is mistrusted") {
  for (const std::string script : {"", "in_place; "}) {
    const Row row = fake_row(script + "time 80e3; further 10e3", kSmall);
    CHECK(verdict(row) == "mistrusted");
    CHECK_MESSAGE(contains(row.reason, ": not every call does the work"), row.reason);
    CHECK_FALSE(row.has_rates());
    // A device may take its time to begin, and so may threads.
    CHECK(verdict(fake_row(script + "time 40e3; further 10e3", kSmall)) == "ok");
    CHECK(verdict(fake_row(script + "time 150e3; further 10e3; emit describe_kernel threads 64",
                           kSmall)) == "ok");
  }
}

TEST_CASE("isolated calls that were not asked for are an impossible answer") {
  const Row row = fake_row("launch isolated", kSmall);
  CHECK(verdict(row) == "failed");
  CHECK(row.reason ==
        "time_batch: the backend gave an impossible answer: isolated calls, which it "
        "was not asked for");
  CHECK(verdict(fake_row("", kSmall, "ceilings=no launch=isolated")) == "ok");
  CHECK(verdict(fake_row("launch isolated; flush", kSmall, "ceilings=no cache=cold")) == "ok");
}

TEST_CASE("a transform that the operation does not permit is an impossible answer") {
  const Row row = fake_row("emit describe_kernel transform_factor 1e6", kSmall);
  CHECK(verdict(row) == "failed");
  CHECK_MESSAGE(contains(row.reason, "transform_factor=1000000, which gemm does not permit here"),
                row.reason);
  CHECK(verdict(fake_row("emit describe_kernel transform_factor 1.0", kSmall)) == "ok");
}

TEST_CASE("arithmetic that the operation does not permit is an impossible answer") {
  const Row row = fake_row("emit describe_kernel arithmetic half", kSmall);
  CHECK(verdict(row) == "failed");
  CHECK_MESSAGE(contains(row.reason, "arithmetic=half, which gemm does not permit here"),
                row.reason);
}

TEST_CASE("a padded dimension below the problem's is an impossible answer") {
  const Row row = fake_row("emit describe_kernel padded.m 3", kSmall);
  CHECK(verdict(row) == "failed");
  CHECK_MESSAGE(contains(row.reason, "padded.m=3, less than the problem has"), row.reason);
  CHECK(verdict(fake_row("emit describe_kernel padded.m 4096", kSmall)) == "ok");
}

TEST_CASE("caches that are hot in a cold row by the backend's own words are an impossible answer") {
  const Row fitting =
      fake_row("emit describe_kernel copies 2; memory_bytes 1e6; answer copies_touched 1", kLarge,
               "ceilings=no cache=cold");
  CHECK(verdict(fitting) == "failed");
  CHECK_MESSAGE(contains(fitting.reason, "copies=2, which all fit the last-level cache"),
                fitting.reason);
  const Row hot = fake_row("emit describe_kernel copies 2", kSmall);
  CHECK_MESSAGE(contains(hot.reason, "copies=2, where the caches are hot"), hot.reason);
  const Row flushed = fake_row("emit describe_kernel cold flush", kSmall);
  CHECK_MESSAGE(contains(flushed.reason, "cold=flush, where the caches are hot"), flushed.reason);
  CHECK(verdict(fake_row("", kLarge, "ceilings=no cache=cold")) == "ok");
}

TEST_CASE("a host time that is too short does not make the limit of time void") {
  const std::string script = "time 1e6 2e6 4e6 8e6; host 1; answer host_ns 1; works 2e6; ";
  const Row row =
      fake_row(script + "real_time", kTiny, "ceilings=no verify=no samples=100000 time_limit=1");
  CHECK_MESSAGE(verdict(row) == "ok", row.reason);
  REQUIRE(row.samples);
  CHECK(row.samples->stop == StopReason::kTimeLimit);
}

TEST_CASE("work that is done after poisoning alone is mistrusted") {
  for (const std::string script : {"", "in_place; "}) {
    const Row row = fake_row(script + "time 1000; verified_time 20e3", kSmall);
    CHECK(verdict(row) == "mistrusted");
    CHECK_MESSAGE(contains(row.reason, "after its outputs were poisoned"), row.reason);
    CHECK(verdict(fake_row(script + "time 1000; verified_time 1500", kSmall)) == "ok");
  }
}

TEST_CASE("work that the first call after poisoning does for all others is mistrusted") {
  for (const std::string script : {"", "in_place; "}) {
    const Row row = fake_row(script + "time 1000; reset_call 300e3", kSmall);
    CHECK(verdict(row) == "mistrusted");
    CHECK_MESSAGE(row.reason ==
                      "a single call takes 300 us after its outputs were poisoned and 1 us "
                      "otherwise: the calls that are timed do less than those that are verified",
                  row.reason);
    CHECK_FALSE(row.has_rates());
    // Poisoning cools caches and wakes threads.
    CHECK(verdict(fake_row(script + "time 1000; reset_call 50e3", kSmall)) == "ok");
    CHECK(verdict(fake_row(script + "time 1e6; reset_call 1.5e6", kSmall)) == "ok");
  }
}

TEST_CASE("a backend does not say for some rows alone that its times are a simulator's") {
  const Backend backend = testing::fake_backend("real_time");
  CHECK_FALSE(backend.has_simulated_time());
  testing::fake_backend("");  // the script from now on
  CHECK(backend.describe().integer("simulated_time") == 1);
  CHECK_FALSE(backend.has_simulated_time());
}

const std::string kFewSamples = "ceilings=no samples=3";

// The first row with a doubt, or the last of many: other work on the machine may hide a clock that
// shows too much, and make one that is off by little look far off.
Row first_row(const std::string& script, const std::string& options,
              const std::function<bool(const Row&)>& is_doubted) {
  Row row = fake_row(script, kTiny, options);
  for (int i = 0; i < 20 && !is_doubted(row); ++i) row = fake_row(script, kTiny, options);
  return row;
}

void check_far_off(const std::string& script, const std::string& part,
                   const std::string& options = kFewSamples) {
  const Row row = first_row("real_time; " + script, options,
                            [](const Row& one) { return one.status == Status::kMistrusted; });
  CHECK(verdict(row) == "mistrusted");
  CHECK_MESSAGE(contains(row.reason, part), row.reason);
  CHECK_FALSE(row.has_rates());
  // The clock of a simulator is not the host's.
  const Row simulated = fake_row(script, kTiny, options);
  CHECK_MESSAGE(verdict(simulated) == "ok", simulated.reason);
  CHECK(simulated.notes.empty());
}

TEST_CASE("a clock that shows a small part of the calls' time, or decays, is mistrusted") {
  // A batch of 20 calls takes 10 ms of the host's time.
  check_far_off("time 10e3; works 500e3", "not all calls are timed");
  check_far_off("time 40e3*4 20e3*4 10e3*4 5e3*4 2e3 hold; works 500e3", "the clock is wrong");
}

TEST_CASE("a clock that is right only when it is looked at is mistrusted") {
  // The batches of 30 samples lie, and those of the audit do not.
  check_far_off("time 10e3*45 500e3 hold; works 500e3", "not all calls are timed",
                "ceilings=no samples=30");
}

TEST_CASE("a clock that lies for most batches is mistrusted, whatever the others show") {
  check_far_off("time 10e3*5 1200e3 10e3 1200e3*3; works 500e3", "the clock is wrong",
                "ceilings=no samples=20");
}

TEST_CASE("a clock that shows a small part of single calls' time is mistrusted") {
  check_far_off("in_place; emit describe_kernel restore_every 1; time 1e6; works 20e6",
                "1 call takes 1000 us by the backend's clock and ");
  check_far_off("time 1e6; works 20e6", "not all calls are timed",
                kFewSamples + " launch=isolated");
}

TEST_CASE("a clock that shows half of the calls' time is a note on the row") {
  const Row row = first_row("real_time; time 250e3; works 500e3", kFewSamples, [](const Row& one) {
    return one.status == Status::kOk && !one.notes.empty();
  });
  REQUIRE(row.notes.size() == 1);
  CHECK_MESSAGE(contains(row.notes[0], "not all calls are timed"), row.notes[0]);
}

// How long a flush takes is not known.
TEST_CASE("the clock of calls after a flush is not judged as slow") {
  const Row row =
      fake_row("real_time; flush; time 1e6; works 20e6", kTiny, kFewSamples + " cache=cold");
  CHECK_MESSAGE(verdict(row) == "ok", row.reason);
}

// The host's time includes the call, whatever comes before it: a flush, a launch, a meeting of
// ranks.
TEST_CASE("a clock that shows many times the time that has passed is mistrusted") {
  const std::string part = "1 call takes 5e+04 us by the backend's clock, and the host saw only ";
  check_far_off("time 50e6", part);
  check_far_off("flush; time 50e6", part, kFewSamples + " cache=cold");
  check_far_off("time 50e6", part, kFewSamples + " launch=isolated");
  check_far_off("in_place; emit describe_kernel restore_every 1; time 50e6", part);
}

// Other work on the machine may make the reading of poison as long as that of results once, which
// ends the check.
TEST_CASE("results that are computed when they are read are mistrusted") {
  for (const std::string& problem : {kSmall, kLarge}) {
    for (const std::string reading : {"reading 30e6", "reading 30e6 each"}) {
      const std::string script = "real_time; time 1e6; works 1e6; " + reading;
      const std::string options = "ceilings=no samples=3";
      Row row = fake_row(script, problem, options);
      for (int i = 0; i < 4 && row.status == Status::kOk; ++i)
        row = fake_row(script, problem, options);
      CHECK(verdict(row) == "mistrusted");
      CHECK_MESSAGE(contains(row.reason, ": they are computed when they are read"), row.reason);
    }
  }
}

TEST_CASE("other processes on the device may delay a reading, which the row says") {
  const std::string script =
      "emit describe_device other_processes 1; real_time; time 1e6; works 1e6; reading 30e6";
  const auto is_noted = [](const Row& row) {
    return std::any_of(row.notes.begin(), row.notes.end(), [](const std::string& note) {
      return contains(note, "or other processes keep the device busy");
    });
  };
  bool was_noted = false;
  for (int i = 0; i < 5 && !was_noted; ++i) {
    const Row row = fake_row(script, kSmall, "ceilings=no samples=3");
    CHECK(verdict(row) == "ok");
    was_noted = is_noted(row);
  }
  CHECK(was_noted);
}

TEST_CASE("slow readings are believed where poison is read as slowly, and those of a simulator") {
  const std::string slow =
      "real_time; time 1e6; works 1e6; sleep read_output 2; sleep project_output 2";
  CHECK(verdict(fake_row(slow, kTiny, "ceilings=no samples=3")) == "ok");
  CHECK(verdict(fake_row("time 1e6; reading 2e6", kTiny, "ceilings=no samples=3")) == "ok");
}

TEST_CASE("what is wrong between the first and the last batch is found while timing") {
  for (const std::string& problem :
       {kSmall, kLarge, std::string("memory kind=copy bytes=400000")}) {
    for (const std::string mutant : {"untouched", "last_k"}) {
      CAPTURE(problem);
      CAPTURE(mutant);
      const Row row = fake_row("time 2e6; from 2 mutant " + mutant + "; from 31 mutant none",
                               problem, "ceilings=no samples=30");
      CHECK(verdict(row) == "incorrect");
      CHECK_MESSAGE(contains(row.reason, "while timing: "), row.reason);
    }
  }
}

TEST_CASE("in place, restore must bring C back, also where calls do not add up") {
  for (const std::string& problem : {kSmall, kLarge, kSmall + " precision=int8"}) {
    const std::string script = "in_place; restore broken; adds once; time ";
    const Row row = fake_row(script + "2e6", problem);
    CHECK(verdict(row) == "incorrect");
    CHECK_MESSAGE(contains(row.reason, "after timing: restore leaves "), row.reason);
    CHECK(verdict(fake_row(script + "10e3", problem)) == "incorrect");
  }
}

TEST_CASE("in place, a batch in which not every call adds the product is incorrect") {
  for (const std::string& problem : {kSmall, kLarge, kSmall + " precision=int8",
                                     kLarge + " precision=half", kLarge + " precision=bfloat16"}) {
    for (const std::string lie : {"adds once", "adds half"}) {
      CAPTURE(problem);
      CAPTURE(lie);
      const std::string script = "in_place; time 10e3; ";
      const Row row = fake_row(script + lie, problem);
      CHECK(verdict(row) == "incorrect");
      CHECK_MESSAGE(contains(row.reason, "while timing, after 20 calls in place: "), row.reason);
      CHECK_FALSE(row.has_rates());
      const Row honest = fake_row(script, problem);
      CHECK_MESSAGE(verdict(honest) == "ok", honest.reason);
      CHECK_MESSAGE(contains(honest.verification.what, ", what 20 calls in place add up to"),
                    honest.verification.what);
      // Rows of three samples may have no batch that is checked in the loop.
      const Row late = fake_row(script + "from 30 " + lie, problem, "ceilings=no samples=10");
      CHECK(verdict(late) == "incorrect");
    }
  }
}

TEST_CASE("in place with cold caches, the calls of a batch add up in every copy") {
  const std::string script = "in_place; cache 1000; time 1000; ";
  const std::string options = "ceilings=no cache=cold";
  const Row honest = fake_row(script, kLarge, options);
  CHECK_MESSAGE(verdict(honest) == "ok", honest.reason);
  CHECK_MESSAGE(contains(honest.verification.what, " calls in place add up to"),
                honest.verification.what);
  CHECK(verdict(fake_row(script + "adds half", kLarge, options)) == "incorrect");
}

// A recurrent layer whose gradients of the data are those of every call, while the gradient of the
// weights holds what some of the calls of a batch have added.
struct BothGradientsKernel final : testing::PlainKernel {
  static inline ExpectedOutput right{};
  static inline uint64_t calls = 0;      // whose gradients of the weights are in dU
  static inline double data_factor = 1;  // of the gradients of the data

  void describe(plugin::Sink& sink) const override { sink.integer("in_place", 1); }
  void restore() override { calls = 0; }
  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) {
      const bool is_of_weights = right.initial_values[indices[i]] == 0;
      values[i] = right.values[indices[i]] * (is_of_weights ? double(calls) : data_factor);
    }
  }
  void scan_output(uint32_t, deepbench_scan& scan) override { scan.count = right.outputs; }
};

TEST_CASE("in place, the weights' gradient of a joint pass adds up and the data's gradients stay") {
  const Problem problem =
      Problem::parse("rnn cell=gru hidden=8 batch=3 timesteps=4 phase=bwd precision=float");
  BothGradientsKernel::right = problem.operation().expected_output(problem, {});
  REQUIRE(BothGradientsKernel::right.indices.size() == BothGradientsKernel::right.outputs);
  const auto result_of = [&](uint64_t made, double data_factor, bool briefly) {
    deepbench::Kernel kernel = testing::prepare_kernel<BothGradientsKernel>(problem);
    Verifier verifier(problem, kernel.facts(), 1, "uniform", 2,
                      [&]() -> deepbench::Kernel { throw 0; });
    REQUIRE(verifier.adds_up());
    BothGradientsKernel::calls = made;
    BothGradientsKernel::data_factor = data_factor;
    if (briefly)
      verifier.check_briefly(kernel, 3, 20);
    else
      verifier.check_sum(kernel, 20, "now");
    return verifier.result();
  };
  CHECK(contains(result_of(20, 1, false).what, ", what 20 calls in place add up to"));
  for (const bool briefly : {false, true}) {
    const Verification honest = result_of(20, 1, briefly);
    CHECK_MESSAGE(honest.reason.empty(), honest.reason);
    for (const uint64_t made : {1, 10}) {
      const std::string lie = result_of(made, 1, briefly).reason;
      CHECK_MESSAGE(contains(lie, ", after 20 calls in place: output "), lie);
    }
    CHECK_FALSE(result_of(20, 20, briefly).reason.empty());
  }
}

TEST_CASE("a row says where rounding hides what several calls in place add up to") {
  const std::string alone = ", in place only for single calls";
  const Row rounded = fake_row("in_place; time 1000", kLarge + " precision=bfloat16");
  CHECK_MESSAGE(verdict(rounded) == "ok", rounded.reason);
  CHECK_MESSAGE(contains(rounded.verification.what, alone), rounded.verification.what);
  const Row single = fake_row("in_place; time 2e6", kLarge);
  CHECK_FALSE(contains(single.verification.what, "in place"));
}

TEST_CASE("a result that was computed once is found where operands can be refilled") {
  const Row exact = fake_row("refill ignored", kSmall + " precision=fp8_e4m3");
  CHECK(verdict(exact) == "incorrect");
  CHECK_MESSAGE(contains(exact.reason, "with exact sums of integers: output "), exact.reason);
  for (const std::string& problem : {kSmall, kLarge}) {
    for (const std::string precision : {"float", "half", "bfloat16", "int8"}) {
      for (const std::string place : {"", "in_place; "}) {
        for (const std::string inputs : {"uniform", "ones"}) {
          const std::string line = problem + " precision=" + precision;
          const std::string options = "ceilings=no samples=3 inputs=" + inputs;
          const Row row = fake_row(place + "refill ignored", line, options);
          CHECK(verdict(row) == "incorrect");
          CHECK_MESSAGE(row.reason ==
                            "with other operands: the outputs are the same: they do not come from "
                            "the calls that are timed",
                        row.reason);
          CHECK_FALSE(row.has_rates());
          const Row honest = fake_row(place, line, options);
          CHECK_MESSAGE(verdict(honest) == "ok", honest.reason);
          CHECK(contains(honest.verification.what, ", which follow the operands"));
        }
      }
    }
  }
}

TEST_CASE("other operands may give the same single output by chance, and the row is believed") {
  for (int i = 0; i < 300; ++i) {
    const Row row =
        fake_row("time 1e6", "gemm m=1 n=1 k=1 precision=bfloat16", "ceilings=no samples=3");
    CHECK_MESSAGE(verdict(row) == "ok", row.reason);
  }
}

TEST_CASE("later visits leave refilled operands to the first") {
  const std::string options = "ceilings=no samples=6 visits=2 visit=";
  CHECK(verdict(fake_row("refill ignored", kSmall, options + "1")) == "incorrect");
  const Row later = fake_row("refill ignored", kSmall, options + "2");
  CHECK_MESSAGE(verdict(later) == "ok", later.reason);
  CHECK_FALSE(contains(later.verification.what, "which follow the operands"));
  CHECK(later.verification.state == Verification::State::kPassed);
}

TEST_CASE("the first of several visits compares whole rows and columns") {
  const auto compared = [](const std::string& visit) {
    const Row row =
        fake_row("", "gemm m=300 n=300 k=300", "ceilings=no samples=6 visits=2 visit=" + visit);
    CHECK_MESSAGE(verdict(row) == "ok", row.reason);
    return row.verification.checked;
  };
  CHECK(compared("1") > compared("2") + 2 * 250);
}

TEST_CASE("one of eight rows of long calls is refilled") {
  int refilled = 0, rows = 0;
  for (; rows < 400 && (refilled == 0 || refilled == rows); ++rows) {
    const Row row = fake_row("time 400e6", kSmall, "ceilings=no samples=3");
    CHECK_MESSAGE(verdict(row) == "ok", row.reason);
    refilled += contains(row.verification.what, "follow the operands");
  }
  CHECK(refilled > 0);
  CHECK(refilled < rows);
}

TEST_CASE("a condition that the operation does not permit fails the row, another stands on it") {
  const auto reason_of = [](const std::string& script, const std::string& problem) {
    const Row row = fake_row(script, problem);
    CHECK(verdict(row) == "failed");
    return row.reason;
  };
  CHECK(
      reason_of("beta 0", kSmall) ==
      "describe_kernel: the backend gave an impossible answer: beta=0, which gemm does not permit "
      "here");
  CHECK(contains(reason_of("beta 0.5", kSmall + " precision=int8"), "beta=0.5"));
  CHECK(contains(reason_of("fill_b s7", kSmall), "fill.b=s7"));
  const std::string accumulator = "emit describe_kernel accumulator ";
  for (const std::string word : {"float", "fp22", "rounded_product", "winograd", "none"})
    CHECK(contains(reason_of(accumulator + word, kSmall), "accumulator=" + word));
  CHECK(contains(reason_of("emit describe_kernel beta 0.0", "memory bytes=4096"), "beta=0"));

  const Row permitted = fake_row("beta 0; fill_b s7", kSmall + " precision=int8");
  CHECK_MESSAGE(verdict(permitted) == "ok", permitted.reason);
  CHECK(contains(permitted.to_json(), "\"conditions\": {\"beta\": 0"));
  CHECK(contains(permitted.to_json(), "\"fill.b\": \"s7\"}"));
  CHECK_FALSE(contains(fake_row("", kSmall).to_json(), "\"conditions\""));
}

TEST_CASE("a product whose outputs are all 1.0003 times too large is incorrect") {
  for (const std::string precision : {"half", "bfloat16"}) {
    const std::string problem = kLarge + " precision=" + precision;
    CHECK(verdict(fake_row("mutant scaled", problem)) == "incorrect");
    CHECK(verdict(fake_row("", problem)) == "ok");
    CHECK(verdict(fake_row("", problem, "ceilings=no inputs=ones")) == "ok");
    CHECK(verdict(fake_row("in_place; emit describe_kernel accumulator rounded_product",
                           problem)) == "ok");
  }
}

// An operation of many outputs in bfloat16, which are rounded twice: each may be off by twice the
// roundoff, which is more than a factor of 1.0003.
constexpr uint64_t kOutputs = 1 << 15;

double right_output(uint64_t index) { return deepbench_uniform(1, 0, index); }

ExpectedOutput expect_many_outputs(const KernelConditions&) {
  ExpectedOutput expected;
  expected.outputs = kOutputs;
  expected.resize(kOutputs);
  for (uint64_t i = 0; i < kOutputs; ++i) {
    expected.indices[i] = i;
    expected.values[i] = right_output(i);
    expected.bounds[i] = std::abs(right_output(i)) / 128;
  }
  expected.slope.emplace();
  return expected;
}

struct ManyOutputsKernel final : testing::PlainKernel {
  static inline double factor = 1;

  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i)
      values[i] =
          deepbench_from_bfloat16(deepbench_to_bfloat16(float(factor * right_output(indices[i]))));
  }
  void scan_output(uint32_t, deepbench_scan& scan) override { scan.count = kOutputs; }
};

TEST_CASE("a factor that single outputs hide shows in the slope of many") {
  const testing::ExpectingOperation operation(expect_many_outputs);
  const Problem problem(operation, {});
  const auto reason_of = [&](double factor) {
    ManyOutputsKernel::factor = factor;
    deepbench::Kernel kernel = testing::prepare_kernel<ManyOutputsKernel>(problem);
    Verifier verifier(problem, kernel.facts(), 1, "uniform", 2,
                      [&]() -> deepbench::Kernel { throw 0; });
    verifier.check(kernel, "now");
    return verifier.result().reason;
  };
  CHECK(reason_of(1).empty());
  for (const double factor : {1.0003, 0.9997})
    CHECK_MESSAGE(contains(reason_of(factor), "now: the slope of 32768 outputs over the expected "),
                  reason_of(factor));
}

}  // namespace
}  // namespace deepbench
