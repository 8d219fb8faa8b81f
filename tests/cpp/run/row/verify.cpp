// Verification: what is right passes, and every mutant comes out incorrect.
#include "deepbench/run/row/verify.hpp"

#include <doctest/doctest.h>

#include "../../fake_backend.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/operation.hpp"
#include "one_kernel_backend.hpp"

namespace deepbench {
namespace {

using testing::fake_row;

// Checked in full, and sampled with a projection of the whole.
const std::string kSmall = "gemm m=37 n=29 k=64";
const std::string kLarge = "gemm m=301 n=257 k=240";

std::string verdict(const Row& row) { return std::string(name_of(row.status)); }

TEST_CASE("correct results pass in every precision and transposition") {
  for (const std::string precision :
       {"float", "tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2", "int8", "int8 b_type=u8"}) {
    for (const std::string trans : {"trans_a=n trans_b=n", "trans_a=t trans_b=n",
                                    "trans_a=n trans_b=t", "trans_a=t trans_b=t"}) {
      const Row row = fake_row("", kSmall + " precision=" + precision + " " + trans);
      CAPTURE(row.problem);
      CHECK_MESSAGE(row.status == Status::kOk, row.reason);
      CHECK(row.verification.state == Verification::State::kPassed);
      CHECK(row.verification.checked == 37 * 29);
      CHECK(row.verification.outputs == 37 * 29);
      const bool is_fp8 = precision.find("fp8") == 0;
      CHECK(row.verification.what == (is_fp8 ? "all 1073 outputs, and exact sums of integers"
                                             : "all 1073 outputs, which follow the operands"));
      CHECK(row.verification.worst <= 1);
    }
  }
}

TEST_CASE("correct results of larger problems pass by samples and projection") {
  for (const std::string precision : {"float", "tf32", "half", "bfloat16", "int8"}) {
    const Row row = fake_row("", kLarge + " trans_b=t precision=" + precision);
    CAPTURE(precision);
    CHECK_MESSAGE(row.status == Status::kOk, row.reason);
    CHECK(row.verification.outputs == 301 * 257);
    CHECK(row.verification.checked < 301 * 257);
    CHECK(row.verification.what.find("and 301 projections of all") != std::string::npos);
  }
}

TEST_CASE("constant inputs, another beta and another type of B pass when they are said") {
  CHECK(verdict(fake_row("", kSmall, "ceilings=no inputs=ones")) == "ok");
  CHECK(verdict(fake_row("", kSmall, "ceilings=no inputs=zeros")) == "ok");
  CHECK(verdict(fake_row("beta 0", kSmall + " precision=int8")) == "ok");
  CHECK(verdict(fake_row("fill_b s7", kSmall + " precision=int8")) == "ok");
  CHECK(verdict(fake_row("", kSmall, "ceilings=no seed=123456789012")) == "ok");
  // Said, but not done.
  CHECK(verdict(fake_row("emit describe_kernel beta 0.0", kSmall + " precision=int8")) ==
        "incorrect");
  CHECK(verdict(fake_row("emit describe_kernel fill.b s7", kSmall + " precision=int8")) ==
        "incorrect");
}

// In fp8 an accumulator of 14 bits is tolerated.
const std::string kFp8 = "gemm m=37 n=29 k=64 precision=fp8_e4m3";
const std::string kAccumulator = "emit describe_kernel accumulator fp22;";
const std::string kLong = "gemm m=1 n=2 k=500000 precision=";

TEST_CASE("small integers show what the bounds of rounding hide") {
  for (const std::string mutant : {"none", "no_c", "alpha"}) {
    CAPTURE(mutant);
    const std::string script = kAccumulator + "mutant " + mutant + ";";
    const Row hidden = fake_row(script + "fail refill unsupported", kLong + "fp8_e4m3");
    CHECK_MESSAGE(hidden.status == Status::kOk, hidden.reason);
    CHECK(hidden.verification.what.find("without exact sums of integers") != std::string::npos);
    const Row row = fake_row(script, kLong + "fp8_e4m3");
    CHECK(verdict(row) == (mutant == "none" ? "ok" : "incorrect"));
    if (mutant == "none")
      CHECK(row.verification.what == "all 2 outputs, and exact sums of integers");
    else
      CHECK_MESSAGE(row.reason.find("with exact sums of integers: output ") == 0, row.reason);
  }
}

TEST_CASE("small integers are exact in every floating-point type, in place and larger") {
  for (const std::string precision : {"float", "half", "bfloat16", "fp8_e4m3"}) {
    CAPTURE(precision);
    for (const std::string script : {"", "in_place"}) {
      const Row row = fake_row(script, kLong + precision);
      CHECK_MESSAGE(row.status == Status::kOk, row.reason);
      CHECK(row.verification.what.find("all 2 outputs, ") == 0);
      CHECK(row.verification.what.find(", and exact sums of integers") != std::string::npos);
    }
  }
  const Row large = fake_row("", kLarge + " precision=fp8_e4m3");
  CHECK_MESSAGE(large.status == Status::kOk, large.reason);
  CHECK(large.verification.what.find("projections of all, and exact sums") != std::string::npos);
}

TEST_CASE("a refill that fails ends the row, and the row's inputs come back for later calls") {
  const Row failed = fake_row("fail refill failed worn out", kFp8);
  CHECK(verdict(failed) == "failed");
  CHECK(failed.reason == "refill: worn out");
  for (const std::string inputs : {"uniform", "ones", "zeros"}) {
    const testing::TemporaryFolder folder;
    for (const bool energy : {false, true}) {
      const std::string log = energy ? "with" : "without";
      const Row row =
          fake_row("log " + (folder / log), kFp8,
                   "ceilings=no seed=7 inputs=" + inputs + (energy ? " energy=yes" : ""));
      CHECK_MESSAGE(row.status == Status::kOk, row.reason);
      std::vector<std::string> refills;
      for (const std::string& call : folder.lines(log))
        if (call.find("refill") == 0) refills.push_back(call);
      std::vector<std::string> expected = {"refill inputs=integers seed=7"};
      if (energy) expected.push_back("refill inputs=" + inputs + " seed=7");
      CHECK(refills == expected);
    }
  }
}

struct Mutant {
  std::string name, problem, reason;
};

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {"last_k", kSmall, ": output "},
      {"last_k", kSmall + " precision=half", ": output "},
      {"last_k", kSmall + " precision=bfloat16", ": output "},
      {"last_k", kSmall + " precision=fp8_e5m2", ": output "},
      {"last_k", kSmall + " precision=int8", ": output "},
      {"last_k", kLarge, ": output "},
      {"last_k", kLarge + " precision=half", ": output "},
      {"last_k", kLarge + " precision=int8", ": output "},
      {"tf32", kSmall, ": output "},
      {"tf32", kLarge, ": output "},
      {"half_accumulation", kSmall, ": output "},
      {"half_accumulation", kSmall + " precision=half", ": output "},
      {"half_accumulation", kSmall + " precision=int8", ": output "},
      {"half_accumulation", kLarge + " precision=half", ": output "},
      {"half_accumulation", kLarge + " precision=int8", ": output "},
      {"zero_tile", kSmall, ": output "},
      {"zero_tile", kLarge, ": "},
      {"zero_tile", kLarge + " precision=bfloat16", ": "},
      {"one_off", kSmall, ": output "},
      {"one_off", kSmall + " precision=half", ": output "},
      {"one_off", kSmall + " precision=int8", ": output "},
      {"one_off", kLarge, ": the projection of row 100 "},
      {"one_off", kLarge + " precision=int8", ": the projection of row 100 "},
      {"untouched", kSmall, ": 1073 of 1073 outputs were not written"},
      {"untouched", kLarge + " precision=int8", ": 77357 of 77357 outputs were not written"},
      {"nan", kSmall, ": 1 of 1073 outputs are not finite"},
      {"nan", kLarge, ": 1 of 77357 outputs are not finite"},
      {"last_k", "memory kind=read bytes=4096", ": output 0 "},
      {"last_k", "memory kind=copy bytes=4096", ": output 1023 "},
      {"zero_tile", "memory kind=copy bytes=400000", ": "},
      {"one_off", "memory kind=copy bytes=400000", ": the projection of row 0 "},
      {"one_off", "memory kind=write bytes=400000", ": the projection of row 0 "},
      {"untouched", "memory kind=write bytes=4096", ": 1024 of 1024 outputs were not written"},
  };
  return all;
}

// Whether the row is incorrect for the mutant's reason. One wrong output of many may be among the
// random ones that are compared one by one, which comes before projections.
bool is_found(const Mutant& mutant, const std::string& when, const Row& row) {
  return row.reason.find(when + mutant.reason) == 0 ||
         (mutant.name == "one_off" && row.reason.find(when + ": output ") == 0);
}

TEST_CASE("every mutant comes out incorrect before timing, and shows no rate") {
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    CAPTURE(mutant.problem);
    const Row row = fake_row("mutant " + mutant.name, mutant.problem);
    CHECK(verdict(row) == "incorrect");
    CHECK_MESSAGE(is_found(mutant, "before timing", row), row.reason);
    CHECK(row.verification.state == Verification::State::kFailed);
    CHECK(row.verification.reason == row.reason);
    CHECK_FALSE(row.has_rates());
  }
}

// A random batch may find it earlier. The last batches of the row are those after timing.
TEST_CASE("a mutant that appears while timing is found then or after it; its rate goes") {
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    CAPTURE(mutant.problem);
    const Row row = fake_row("from 30 mutant " + mutant.name, mutant.problem);
    CHECK(verdict(row) == "incorrect");
    const bool is_late = is_found(mutant, "after timing", row);
    CHECK_MESSAGE((is_late || row.reason.find("while timing: ") == 0), row.reason);
    CHECK(row.samples.has_value() == is_late);
    CHECK_FALSE(row.has_rates());
  }
}

TEST_CASE("a backend that does not poison its outputs is found") {
  for (const std::string& problem :
       {kSmall, kLarge + " precision=half", std::string("memory bytes=4096")}) {
    const Row row = fake_row("mutant unpoisoned", problem);
    CHECK(verdict(row) == "incorrect");
    CHECK_MESSAGE(row.reason.find("only 0 hold the poison that was asked for") != std::string::npos,
                  row.reason);
  }
}

TEST_CASE("memory that is right passes, read, written and copied") {
  for (const std::string kind : {"read", "write", "copy", "h2d", "d2h"}) {
    CHECK(verdict(fake_row("", "memory bytes=4096 kind=" + kind)) == "ok");
    CHECK(verdict(fake_row("", "memory bytes=4 kind=" + kind)) == "ok");
    CHECK(verdict(fake_row("", "memory bytes=400000 kind=" + kind)) == "ok");
  }
}

TEST_CASE("the smallest problems pass, and their mutants do not") {
  for (const std::string precision : {"float", "half", "int8"}) {
    const std::string problem = "gemm m=1 n=1 k=1 precision=" + precision;
    CHECK(verdict(fake_row("", problem)) == "ok");
    for (const std::string mutant : {"last_k", "one_off", "untouched", "zero_tile"})
      CHECK(verdict(fake_row("mutant " + mutant, problem)) == "incorrect");
  }
}

TEST_CASE("a backend that leaves scanning and projecting to the core is verified as well") {
  CHECK(verdict(fake_row("", kSmall, "ceilings=no", "minimal")) == "ok");
  CHECK(verdict(fake_row("", kLarge + " precision=int8", "ceilings=no", "minimal")) == "ok");
  CHECK(verdict(fake_row("", "memory bytes=400000", "ceilings=no", "minimal")) == "ok");
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    CAPTURE(mutant.problem);
    CHECK(verdict(fake_row("mutant " + mutant.name, mutant.problem, "ceilings=no", "minimal")) ==
          "incorrect");
  }
}

TEST_CASE("what a backend's own scan overlooks is seen in the elements") {
  const Row nan = fake_row("mutant nan; scan blind", kSmall);
  CHECK_MESSAGE(nan.reason.find("before timing: output 345 is nan, not ") == 0, nan.reason);
  CHECK(fake_row("mutant untouched; scan blind", kSmall).status == Status::kIncorrect);
  CHECK(fake_row("mutant nan; scan blind", kLarge).status == Status::kIncorrect);
}

TEST_CASE("in place: C is brought back") {
  CHECK(verdict(fake_row("in_place", kSmall)) == "ok");
  CHECK(verdict(fake_row("in_place", kLarge)) == "ok");
  CHECK(verdict(fake_row("in_place", kSmall + " precision=int8")) == "ok");
  // Of a single call in each batch, and of several.
  const Row broken = fake_row("in_place; restore broken; time 2e6", kSmall);
  CHECK(verdict(broken) == "incorrect");
  CHECK_MESSAGE(broken.reason.find("while timing: output ") == 0, broken.reason);
  CHECK(verdict(fake_row("in_place; restore broken; time 10e3", kSmall)) == "incorrect");
  const Row untouched = fake_row("in_place; mutant untouched", kSmall);
  CHECK(untouched.reason == "before timing: 1073 of 1073 outputs were not written");
  // The loop makes 32 batches of calls of 2 ms.
  const Row later = fake_row("in_place; time 2e6; from 32 mutant untouched", kSmall);
  CHECK_MESSAGE(later.reason == "after timing: 1073 of 1073 outputs were not written",
                later.reason);
  CHECK(verdict(fake_row("in_place; from 30 mutant untouched", kSmall)) == "incorrect");
}

TEST_CASE("what is verified while and after timing is the batch that is timed") {
  for (const std::string mutant : {"last_k", "untouched", "nan"}) {
    const Row row = fake_row("time 1000; mutant " + mutant + " batches", kSmall);
    CHECK(verdict(row) == "incorrect");
    CHECK_MESSAGE(row.reason.find("before timing: ") == std::string::npos, row.reason);
  }
}

TEST_CASE("a failure while verifying ends the row, with its reason") {
  for (const std::string slot : {"scan_output", "read_output", "poison_outputs"}) {
    const Row row = fake_row("fail " + slot + " failed the cable is out", kSmall);
    CHECK(verdict(row) == "failed");
    CHECK(row.reason == slot + ": the cable is out");
  }
  CHECK(fake_row("fail project_output out_of_memory x", kLarge).status == Status::kOutOfMemory);
  CHECK(fake_row("in_place; fail restore failed x", kSmall).reason == "restore: x");
}

TEST_CASE("verification can be left out, and the row says so") {
  const Row row = fake_row("mutant last_k", kSmall, "ceilings=no verify=no");
  CHECK(verdict(row) == "ok");
  CHECK(row.verification.state == Verification::State::kSkipped);
  CHECK(row.verification.reason == "not asked for");
}

// Two outputs: element i of output `number` is i + 100 * number.
ExpectedOutput expect_one_of_two(const KernelConditions& conditions) {
  ExpectedOutput expected;
  expected.outputs = 3 + conditions.output;
  for (uint64_t i = 0; i < expected.outputs; ++i) {
    expected.indices.push_back(i);
    expected.values.push_back(double(i) + 100 * conditions.output);
    expected.bounds.push_back(0.5);
  }
  expected.coverage = "all " + std::to_string(expected.outputs) + " outputs";
  return expected;
}

// Computes them, with `error` in the last element of output `wrong`.
struct TwoOutputsKernel final : testing::PlainKernel {
  static inline uint32_t wrong = 0;
  static inline double error = 0;
  bool poisoned = false;

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    poisoned = false;
    PlainKernel::time_batch(request, batch);
  }
  void poison_outputs() override { poisoned = true; }
  void read_output(uint32_t output, const uint64_t* indices, size_t count,
                   double* values) override {
    for (size_t i = 0; i < count; ++i)
      values[i] = double(indices[i]) + 100 * output +
                  (output == wrong && indices[i] == 2 + output ? error : 0);
  }
  void scan_output(uint32_t output, deepbench_scan& scan) override {
    scan.count = 3 + output;
    scan.untouched = poisoned ? scan.count : 0;
  }
};

TEST_CASE("every output of an operation is verified") {
  const testing::ExpectingOperation operation(expect_one_of_two, {"dq", "dk"});
  const Problem problem(operation, {});
  const auto verified = [&](uint32_t wrong, double error) {
    TwoOutputsKernel::wrong = wrong, TwoOutputsKernel::error = error;
    Kernel kernel = testing::prepare_kernel<TwoOutputsKernel>(problem);
    Verifier verifier(problem, kernel.facts(), 1, "uniform", 2, [&]() -> Kernel { throw 0; });
    Verifier::reset_outputs(kernel);
    verifier.check_reset(kernel);
    kernel.time_batch(1);
    verifier.check(kernel, "now");
    return verifier.result();
  };
  const Verification right = verified(0, 0.25);
  CHECK(right.state == Verification::State::kPassed);
  CHECK(right.what == "dq: all 3 outputs; dk: all 4 outputs");
  CHECK(right.checked == 7);
  CHECK(right.outputs == 7);
  CHECK(right.worst == 0.5);
  CHECK(right.worst_check == "now");
  CHECK(verified(0, 0).worst_check.empty());
  CHECK(verified(0, 1).reason == "now: dq: output 2 is 3, not 2 within 0.5");
  CHECK(verified(1, 1).reason == "now: dk: output 3 is 104, not 103 within 0.5");
}

}  // namespace
}  // namespace deepbench
