// Matrix products on the device through cuBLASLt and cublasGemmEx. Every precision, transposition
// and candidate is compared with three loops; further tests cover odd sizes, restoring, conversions
// and refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"
#include "gemm_harness.hpp"
#include "gpu.hpp"
#include "libraries.hpp"

namespace deepbench::cuda_test {
namespace {

constexpr const char* kPrecisions[] = {"float",    "tf32",     "half", "bfloat16",
                                       "fp8_e4m3", "fp8_e5m2", "int8"};
constexpr const char* kLibraries[] = {"cublaslt", "cublas"};

std::string with_library(const std::string& library, const std::string& rest = "") {
  return "library=" + library + " " + rest;
}

// Calls the kernel once from poisoned outputs and compares all outputs. Returns false if the device
// does not run the call.
bool check_call(GemmRun& run, const NaiveGemm& naive, uint64_t outputs, bool in_place) {
  run.poison();
  CHECK(run.scan().untouched == outputs);
  deepbench_batch batch;
  if (run.call(1, &batch) != DEEPBENCH_OK) return false;
  CHECK(batch.count == 1);
  CHECK(batch.elapsed_ns > 0);
  CHECK(batch.copies_touched == 1);
  const deepbench_scan scan = run.scan();
  CHECK(scan.count == outputs);
  CHECK(double(scan.untouched) <= (in_place ? 0.02 * double(outputs) + 1 : 0));
  CHECK(scan.non_finite == 0);
  CHECK(naive.count_wrong(run.read(outputs)) == 0);
  return true;
}

bool check_call(GemmRun& run, const Gemm& gemm, const Emitted& facts) {
  return check_call(run, NaiveGemm(with_roundoff_of_units(gemm), facts, kSeed),
                    cpu_test::outputs_of(gemm), facts.text("in_place") == "1");
}

void check_problem(const std::string& library, const Dimensions& d, bool trans_a, bool trans_b,
                   const std::string& precision, const std::string& options = "") {
  const std::string problem = gemm_text(d, trans_a, trans_b, precision);
  CAPTURE(library);
  CAPTURE(problem);
  CAPTURE(options);
  GemmRun run(problem, with_library(library, options));
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  const Emitted facts = run.describe();
  CHECK(facts.text("library").substr(0, library.size()) == library);
  CHECK_FALSE(facts.text("algorithm").empty());
  CHECK(facts.number("workspace_bytes") >= 0);
  CHECK(facts.has("in_place") == (library == "cublas"));
  const bool ran = check_call(run, gemm_of(d, trans_a, trans_b, precision), facts);
  INFO(run.error());
  CHECK(ran);
}

bool is_fp8(const std::string& precision) { return precision.substr(0, 3) == "fp8"; }

TEST_CASE("gpu: gemm: every precision and transposition of each library") {
  REQUIRE_GPU();
  for (const std::string library : kLibraries)
    for (const std::string precision : kPrecisions)
      for (const int transposition : {0, 1, 2, 3})
        for (const Dimensions& d : {Dimensions{64, 48, 128}, Dimensions{65, 33, 129}}) {
          const bool trans_a = (transposition & 1) != 0, trans_b = (transposition & 2) != 0;
          const std::string problem = gemm_text(d, trans_a, trans_b, precision);
          const GemmRequest request(problem, with_library(library));
          if (request.plan_status() != DEEPBENCH_OK) {
            const std::string reason = table().last_error();
            CAPTURE(library);
            CAPTURE(problem);
            CAPTURE(reason);
            CHECK(reason.size() > 10);
            CHECK(library == "cublas");
            CHECK(is_fp8(precision));
            continue;
          }
          if (library == "cublas" && precision == "int8") {
            GemmRun tried(problem, with_library(library));
            if (tried.status() == DEEPBENCH_UNSUPPORTED) {
              MESSAGE(problem << ": " << tried.error());
              continue;
            }
          }
          check_problem(library, d, trans_a, trans_b, precision);
        }
}

TEST_CASE("gpu: gemm: odd sizes, vectors and single elements are correct") {
  REQUIRE_GPU();
  for (const std::string precision : kPrecisions)
    for (const Dimensions& d :
         {Dimensions{1, 1, 1}, Dimensions{513, 77, 101}, Dimensions{300, 1, 257},
          Dimensions{1, 300, 64}, Dimensions{7, 5, 1}, Dimensions{1, 1, 1000}})
      for (const bool transposed : {false, true})
        check_problem("cublaslt", d, transposed, transposed, precision);
}

// Checks the candidates that `best` would try.
void check_candidates(const std::string& library, const Dimensions& d, bool trans_a, bool trans_b,
                      const std::string& precision, const std::string& options = "") {
  const std::string problem = gemm_text(d, trans_a, trans_b, precision);
  CAPTURE(problem);
  auto ids = GemmRequest(problem, with_library(library, options)).candidates();
  REQUIRE_FALSE(ids.empty());
  MESSAGE(problem << ": " << ids.size() << " candidates, the first " << ids.front());
  auto sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  ids.resize(std::min<size_t>(ids.size(), 32));
  const Gemm gemm = gemm_of(d, trans_a, trans_b, precision);
  // No candidate may round more than the problem does.
  const NaiveGemm naive(with_roundoff_of_units(gemm), /*facts=*/{}, kSeed);
  for (const std::string& id : ids) {
    CAPTURE(id);
    GemmRun run(problem, with_library(library, options + " candidate=" + id));
    INFO(run.error());
    REQUIRE(run.status() == DEEPBENCH_OK);
    const bool in_place = run.describe().text("in_place") == "1";
    const bool ran = check_call(run, naive, cpu_test::outputs_of(gemm), in_place);
    INFO(run.error());
    CHECK(ran);
  }
}

TEST_CASE("gpu: gemm: every product of a batch has its own operands") {
  REQUIRE_GPU();
  for (const std::string library : kLibraries)
    for (const std::string precision : kPrecisions)
      for (const int transposition : {0, 1, 2, 3})
        for (const Dimensions& d : {Dimensions{64, 48, 128, 6}, Dimensions{65, 33, 129, 3}}) {
          const bool trans_a = (transposition & 1) != 0, trans_b = (transposition & 2) != 0;
          const std::string problem = gemm_text(d, trans_a, trans_b, precision);
          if (GemmRun tried(problem, with_library(library));
              tried.status() == DEEPBENCH_UNSUPPORTED) {
            const bool is_8_bit = is_fp8(precision) || precision == "int8";
            CAPTURE(problem);
            INFO(tried.error());
            CHECK(is_8_bit);
            CHECK_FALSE((library == "cublaslt" && trans_a && !trans_b));  // the layout of the units
            continue;
          }
          check_problem(library, d, trans_a, trans_b, precision);
        }
  check_problem("cublaslt", {128, 1, 64, 1000}, true, false, "half");
  check_candidates("cublaslt", {96, 40, 512, 8}, true, false, "half");
}

// How far results of gelu lie from those of the sums before it, which another algorithm may round
// otherwise. With the hardware's tanh it would be 100 times as much.
double largest_error_of_gelu(GemmRun& gelu_run, GemmRun& bias_run, uint64_t outputs) {
  gelu_run.call(1), bias_run.call(1);
  const std::vector<double> after = gelu_run.read(outputs), before = bias_run.read(outputs);
  double largest = 0;
  for (size_t i = 0; i < outputs; ++i)
    largest = std::max(largest, std::abs(after[i] - gelu(before[i])));
  return largest;
}

TEST_CASE("gpu: gemm: epilogues add a bias for each row and apply relu or gelu") {
  REQUIRE_GPU();
  for (const std::string epilogue : {"bias", "relu", "gelu"})
    for (const std::string precision : {"float", "tf32", "half", "bfloat16"})
      for (const Dimensions& d :
           {Dimensions{64, 48, 128}, Dimensions{65, 33, 129}, Dimensions{64, 48, 128, 3}})
        for (const bool trans_a : {false, true}) {
          const std::string problem =
              gemm_text(d, trans_a, false, precision) + " epilogue=" + epilogue;
          CAPTURE(problem);
          GemmRun run(problem, "");
          if (run.status() == DEEPBENCH_UNSUPPORTED) {
            MESSAGE(problem << ": " << run.error());
            continue;
          }
          INFO(run.error());
          REQUIRE(run.status() == DEEPBENCH_OK);
          Gemm gemm = gemm_of(d, trans_a, false, precision);
          gemm.epilogue = epilogue_named(epilogue);
          CHECK(check_call(run, gemm, run.describe()));
          CHECK_FALSE(run.describe().has("beta"));
        }
  const std::string product = gemm_text({256, 256, 64}, true, false, "float");
  GemmRun gelu_run(product + " epilogue=gelu", ""), bias_run(product + " epilogue=bias", "");
  REQUIRE(gelu_run.status() == DEEPBENCH_OK);
  REQUIRE(bias_run.status() == DEEPBENCH_OK);
  CHECK(largest_error_of_gelu(gelu_run, bias_run, 256 * 256) < 2e-5);
  CHECK_FALSE(gelu_run.describe().has("accumulator"));
  for (const std::string library : {"cublas", "skinny_mma"})
    CHECK(GemmRequest(gemm_text({64, 8, 128}, true, false, "half") + " epilogue=relu",
                      with_library(library))
              .plan_error()
              .find("no products with an epilogue") != std::string::npos);
}

// Calls the kernel and compares all outputs, of random operands and of integers, which the seed
// kSeed + 1 gives.
void check_scaled_call(GemmRun& run, const NaiveGemm& naive, const std::vector<double>& exact) {
  CHECK(check_call(run, naive, exact.size(), /*in_place=*/false));
  REQUIRE(table().refill(run.handle(), "integers", kSeed + 1) == DEEPBENCH_OK);
  run.poison();
  run.call(1);
  CHECK(run.read(exact.size()) == exact);
}

TEST_CASE("gpu: gemm: scales of blocks multiply their blocks, in the default and candidates") {
  REQUIRE_GPU();
  for (const std::string precision : {"fp8_e4m3", "fp8_e5m2"})
    for (const Dimensions& d :
         {Dimensions{64, 48, 128}, Dimensions{261, 131, 640}, Dimensions{384, 256, 512}})
      for (const bool trans_a : {true, false}) {
        const std::string problem = gemm_text(d, trans_a, false, precision) + " scaling=block128";
        CAPTURE(problem);
        Gemm gemm = gemm_of(d, trans_a, false, precision);
        gemm.scales_blocks = true;
        const GemmRequest request(problem, "");
        if (request.plan_status() == DEEPBENCH_UNSUPPORTED) {
          const std::string reason = table().last_error();
          MESSAGE(problem << ": " << reason);
          CHECK(reason.find("scaling=block128") != std::string::npos);
          if (cuda::device_facts(0).major == 9)
            CHECK(reason.find("it needs 12.9") != std::string::npos);
          continue;
        }
        const NaiveGemm naive(with_roundoff_of_units(gemm), /*facts=*/{}, kSeed);
        const std::vector<double> exact = exact_outputs(gemm, kSeed + 1);
        GemmRun run(problem, "");
        INFO(run.error());
        REQUIRE(run.status() == DEEPBENCH_OK);
        check_scaled_call(run, naive, exact);
        auto ids = request.candidates();
        ids.resize(std::min<size_t>(ids.size(), 8));
        for (const std::string& id : ids) {
          CAPTURE(id);
          GemmRun candidate(problem, "candidate=" + id);
          INFO(candidate.error());
          REQUIRE(candidate.status() == DEEPBENCH_OK);
          check_scaled_call(candidate, naive, exact);
        }
      }
}

TEST_CASE("gpu: gemm: without padding, the problem runs unchanged or is refused with a reason") {
  REQUIRE_GPU();
  const Dimensions d = {65, 33, 129};
  for (const std::string library : kLibraries)
    for (const std::string precision : kPrecisions) {
      if (library == "cublas" && is_fp8(precision)) continue;
      const std::string problem = gemm_text(d, false, false, precision);
      CAPTURE(problem);
      GemmRun run(problem, with_library(library, "pad=0"));
      if (run.status() != DEEPBENCH_OK) {
        INFO(run.error());
        CHECK(run.status() == DEEPBENCH_UNSUPPORTED);
        CHECK((is_fp8(precision) || precision == "int8"));
        continue;
      }
      const Emitted facts = run.describe();
      CHECK_FALSE(facts.has("padded.m"));
      CHECK_FALSE(facts.has("padding_rule"));
      CHECK(check_call(run, gemm_of(d, false, false, precision), facts));
    }
  GemmRun padded(gemm_text(d, false, false, "half"), with_library("cublaslt"));
  REQUIRE(padded.status() == DEEPBENCH_OK);
  CHECK(padded.describe().text("padded.m") == "72");
  CHECK(padded.describe().text("padded.k") == "136");
  CHECK_FALSE(padded.describe().has("padded.n"));
  CHECK_FALSE(padded.describe().text("padding_rule").empty());
}

TEST_CASE("gpu: gemm: all candidates that best tries are correct") {
  REQUIRE_GPU();
  for (const char* precision : {"float", "tf32", "half", "bfloat16"})
    check_candidates("cublaslt", {192, 24, 2048}, false, false, precision);
  check_candidates("cublaslt", {256, 128, 256}, true, true, "half");
  for (const char* precision : {"fp8_e4m3", "fp8_e5m2", "int8"}) {
    check_candidates("cublaslt", {48, 33, 2050}, false, false, precision, "constant=a");
    check_candidates("cublaslt", {64, 32, 512}, false, true, precision);
  }
  check_candidates("cublas", {64, 32, 512}, false, false, "int8", "constant=a");
}

TEST_CASE("gpu: gemm: the first candidate is the library's default") {
  REQUIRE_GPU();
  for (const char* precision : {"half", "float", "int8", "fp8_e4m3"}) {
    const std::string problem = gemm_text({256, 64, 512}, false, false, precision);
    CAPTURE(problem);
    const auto ids = GemmRequest(problem, "").candidates();
    const GemmRun unnamed(problem, ""), named(problem, "candidate=" + ids.front());
    REQUIRE(unnamed.status() == DEEPBENCH_OK);
    REQUIRE(named.status() == DEEPBENCH_OK);
    CHECK(unnamed.describe().text("algorithm") == named.describe().text("algorithm"));
    CHECK(unnamed.describe().number("planning_ns") > 0);
  }
}

TEST_CASE("gpu: gemm: with a workspace limit of 0, no workspace is used") {
  REQUIRE_GPU();
  const Dimensions d = {64, 32, 2048};
  for (const std::string library : kLibraries) {
    CAPTURE(library);
    GemmRun run(gemm_text(d, false, false, "half"), with_library(library, "workspace=0"));
    REQUIRE(run.status() == DEEPBENCH_OK);
    const Emitted facts = run.describe();
    CHECK(facts.number("workspace_bytes") == 0);
    CHECK(check_call(run, gemm_of(d, false, false, "half"), facts));
  }
}

TEST_CASE("gpu: gemm: constant operands are converted beforehand, other operands in every call") {
  REQUIRE_GPU();
  const Dimensions d = {50, 20, 130};
  const auto tn = [&](bool trans_b, const std::string& options) {
    const std::string problem = gemm_text(d, false, trans_b, "int8");
    for (const std::string& id :
         GemmRequest(problem, with_library("cublaslt", options)).candidates())
      if (id.substr(0, 3) == "tn:") return options + " candidate=" + id;
    FAIL("no candidate stores A transposed");
    return std::string();
  };
  const auto check = [&](bool trans_b, const std::string& options, const std::string& beforehand,
                         const std::string& in_call) {
    CAPTURE(options);
    GemmRun run(gemm_text(d, false, trans_b, "int8"), tn(trans_b, options));
    REQUIRE(run.status() == DEEPBENCH_OK);
    const Emitted facts = run.describe();
    CHECK(facts.text("converted") == beforehand);
    CHECK(facts.has("conversion_ns") == !beforehand.empty());
    if (!beforehand.empty()) CHECK(facts.number("conversion_ns") > 100);
    CHECK(facts.has("conversion_sample_ns.2") == !beforehand.empty());
    CHECK(facts.text("note.conversion").find(in_call) != std::string::npos);
    CHECK(facts.has("note.conversion") == !in_call.empty());
    CHECK(facts.text("padded.n") == "32");
    CHECK(check_call(run, gemm_of(d, false, trans_b, "int8"), facts));
  };
  check(false, "constant=a", "a", "");
  check(false, "", "", "first transposes a,");
  check(true, "constant=a", "a", "first transposes b,");
  check(true, "constant=a,b", "a,b", "");
  check(true, "", "", "first transposes a,b,");
  check(true, "constant=a cache=cold", "a", "first transposes b,");
}

TEST_CASE("gpu: gemm: in place, calls accumulate and restore resets C") {
  REQUIRE_GPU();
  const Dimensions d = {56, 40, 32};
  for (const char* precision : {"float", "half", "int8"}) {
    CAPTURE(precision);
    const Gemm gemm = gemm_of(d, true, false, precision);
    GemmRun run(gemm_text(d, true, false, precision), with_library("cublas"));
    INFO(run.error());
    REQUIRE(run.status() == DEEPBENCH_OK);
    const Emitted facts = run.describe();
    REQUIRE(facts.text("in_place") == "1");
    CHECK(facts.number("restore_every") == calls_before_overflow(gemm, true, 1 << 20));
    const auto outputs = uint64_t(d.m * d.n);
    const NaiveGemm naive(gemm, facts, kSeed);
    run.restore();
    CHECK(run.scan().untouched == outputs);
    run.call(3);
    CHECK(naive.count_wrong(run.read(outputs), 3) == 0);
    run.restore();
    run.call(1);
    CHECK(naive.count_wrong(run.read(outputs)) == 0);
  }
}

TEST_CASE("gpu: gemm: two kernels of one library coexist") {
  REQUIRE_GPU();
  const Dimensions d = {128, 64, 2048};
  const Gemm gemm = gemm_of(d, false, false, "half");
  for (const std::string library : kLibraries) {
    GemmRun first(gemm_text(d, false, false, "half"), with_library(library));
    GemmRun second(gemm_text(d, false, false, "half"), with_library(library));
    REQUIRE(first.status() == DEEPBENCH_OK);
    REQUIRE(second.status() == DEEPBENCH_OK);
    const Emitted facts = first.describe();
    for (int round = 0; round < 3; ++round) {
      CHECK(check_call(first, gemm, facts));
      CHECK(check_call(second, gemm, facts));
    }
  }
}

TEST_CASE("gpu: gemm: calls are captured, and a batch leaves a correct result") {
  REQUIRE_GPU();
  const Dimensions d = {128, 64, 256};
  for (const char* precision : {"half", "fp8_e4m3"}) {  // fp8_e4m3 transposes A in every call
    GemmRun run(gemm_text(d, false, false, precision), "");
    REQUIRE(run.status() == DEEPBENCH_OK);
    const Gemm gemm = with_roundoff_of_units(gemm_of(d, false, false, precision));
    const NaiveGemm naive(gemm, run.describe(), kSeed);
    for (const int32_t launch : {DEEPBENCH_LAUNCH_GRAPH, DEEPBENCH_LAUNCH_STREAM}) {
      run.poison();
      CHECK(run.call(20, launch).launch == launch);
      CHECK(naive.count_wrong(run.read(128 * 64)) == 0);
    }
  }
}

TEST_CASE("gpu: gemm: cold calls rotate through the copies, and each copy gets the result") {
  REQUIRE_GPU();
  const Dimensions d = {1024, 512, 1024};
  const std::string problem = gemm_text(d, false, false, "half");
  for (const std::string library : kLibraries) {
    GemmRun run(problem, with_library(library, "cache=cold"));
    REQUIRE(run.status() == DEEPBENCH_OK);
    const Emitted facts = run.describe();
    CHECK(facts.text("cold") == "rotation");
    const auto copies = uint64_t(facts.number("copies"));
    CHECK(copies >= 2);
    const uint64_t bytes = 2 * (1024 * 1024 + 2 * 512 * 1024);
    CHECK(copies * (bytes + 2 * 1024 * 512) >= 3 * cuda::device_facts(0).l2_bytes);
    CHECK(GemmRequest(problem, with_library(library, "cache=cold")).memory_needed() >=
          copies * bytes);

    run.poison();
    CHECK(run.call(1).copies_touched == 1);
    const std::vector<double> first = run.project(1024, 1);
    for (uint64_t copy = 1; copy < std::min<uint64_t>(copies, 8); ++copy) {
      run.call(1);
      CHECK(run.project(1024, 1) == first);
    }
    CHECK(run.call(copies + 3).copies_touched == copies);
  }
}

TEST_CASE("gpu: gemm: unknown candidates are invalid, impossible problems are unsupported") {
  REQUIRE_GPU();
  const std::string problem = gemm_text({64, 64, 64}, false, false, "half");
  for (const std::string library : kLibraries)
    for (const char* candidate : {"nosuch", "plain:id=12345", "tn:id=0", "plain:heuristic=999"}) {
      CAPTURE(candidate);
      const GemmRequest request(problem,
                                with_library(library, std::string("candidate=") + candidate));
      CHECK(request.plan_status() == DEEPBENCH_INVALID);
      CHECK(std::string(table().last_error()).find(candidate) != std::string::npos);
    }
  const auto refused = [](const std::string& text, const std::string& options) {
    CAPTURE(text);
    CHECK(GemmRequest(text, options).plan_status() == DEEPBENCH_UNSUPPORTED);
    return std::string(table().last_error());
  };
  CHECK(refused(gemm_text({64, 64, 64}, false, false, "int8", "u8"), "").find("b_type=s8") !=
        std::string::npos);
  CHECK(refused(gemm_text({64, 64, 64}, false, false, "fp8_e4m3"), "library=cublas")
            .find("8-bit floating-point") != std::string::npos);
  CHECK(refused(gemm_text({int64_t{1} << 31, 1, 1}, false, false, "float"), "library=cublas")
            .find("32 bits") != std::string::npos);
}

TEST_CASE("gpu: gemm: a problem larger than memory reports its size and fails in prepare") {
  REQUIRE_GPU();
  const std::string problem = gemm_text({1 << 18, 1 << 18, 1 << 18}, false, false, "half");
  for (const std::string library : kLibraries) {
    const GemmRequest request(problem, with_library(library));
    REQUIRE(request.plan_status() == DEEPBENCH_OK);
    CHECK(request.memory_needed() > uint64_t{384} << 30);
    CHECK(GemmRun(problem, with_library(library)).status() == DEEPBENCH_OUT_OF_MEMORY);
  }
}

TEST_CASE("gpu: gemm: inputs of ones give the exact sums") {
  REQUIRE_GPU();
  for (const std::string precision : kPrecisions) {
    CAPTURE(precision);
    GemmRun ones(gemm_text({16, 8, 10}, false, true, precision), "inputs=ones");
    REQUIRE(ones.status() == DEEPBENCH_OK);
    ones.call(1);
    for (const double value : ones.read(128)) CHECK(value == 11);
  }
}

std::vector<double> outputs_after_refill(GemmRun& run, const Gemm& gemm, const char* inputs,
                                         uint64_t seed) {
  REQUIRE(table().refill(run.handle(), inputs, seed) == DEEPBENCH_OK);
  run.poison();
  run.call(1);
  return run.read(uint64_t(gemm.m * gemm.n));
}

// Graphs that were captured before a refill hold the addresses of the operands.
TEST_CASE("gpu: gemm: a refill in place gives exact sums of integers, then the first outputs") {
  REQUIRE_GPU();
  constexpr size_t kCandidates = 6;
  const Dimensions dimensions = {65, 4, 100001};
  for (const std::string library :
       {"", "library=cublas", "constant=a,b", "cache=cold copies=3", "library=skinny"}) {
    for (const std::string precision : kPrecisions) {
      const bool is_int8 = precision == "int8";  // all of whose sums are exact
      for (const bool trans_a : {false, true}) {
        const std::string problem = gemm_text(dimensions, trans_a, false, precision);
        const Gemm gemm = gemm_of(dimensions, trans_a, false, precision);
        const GemmRequest request(problem, library);
        if (request.plan_status() != DEEPBENCH_OK) continue;
        const std::vector<double> exact = is_int8 ? std::vector<double>() : exact_outputs(gemm, 9);
        std::vector<std::string> ids = request.candidates();
        ids.resize(std::min(ids.size(), kCandidates));
        for (const std::string& id : ids) {
          CAPTURE(library);
          CAPTURE(problem);
          CAPTURE(id);
          GemmRun run(problem, library + " candidate=" + id);
          REQUIRE(run.status() == DEEPBENCH_OK);
          run.poison();
          run.call(1);
          const std::vector<double> first = run.read(uint64_t(gemm.m * gemm.n));
          if (!is_int8) CHECK(outputs_after_refill(run, gemm, "integers", 9) == exact);
          CHECK(outputs_after_refill(run, gemm, "uniform", 9) != first);
          const std::vector<double> again = outputs_after_refill(run, gemm, "uniform", kSeed);
          // Sums of a library that adds atomically differ in their last places.
          for (size_t i = 0; i < first.size(); ++i)
            CHECK(again[i] == doctest::Approx(first[i]).epsilon(0.02));
        }
      }
    }
  }
}

// Counts cuBLASLt's heuristics while it lives, by a function in place of the library's.
class HeuristicsCounter {
 public:
  HeuristicsCounter() : functions_(const_cast<nvidia::CublasLt&>(cuda::cublaslt())) {
    real_ = std::exchange(functions_.cublasLtMatmulAlgoGetHeuristic, query);
    queries_ = 0;
  }
  ~HeuristicsCounter() { functions_.cublasLtMatmulAlgoGetHeuristic = real_; }
  HeuristicsCounter(const HeuristicsCounter&) = delete;
  HeuristicsCounter& operator=(const HeuristicsCounter&) = delete;
  int queries() const { return queries_; }

 private:
  static nvidia::cublasStatus_t query(
      nvidia::cublasLtHandle_t handle, nvidia::cublasLtMatmulDesc_t operation,
      nvidia::cublasLtMatrixLayout_t a, nvidia::cublasLtMatrixLayout_t b,
      nvidia::cublasLtMatrixLayout_t c, nvidia::cublasLtMatrixLayout_t d,
      nvidia::cublasLtMatmulPreference_t preference, int requested,
      nvidia::cublasLtMatmulHeuristicResult_t* results, int* returned) {
    ++queries_;
    return real_(handle, operation, a, b, c, d, preference, requested, results, returned);
  }
  inline static decltype(nvidia::CublasLt::cublasLtMatmulAlgoGetHeuristic) real_ = nullptr;
  inline static int queries_ = 0;
  nvidia::CublasLt& functions_;
};

TEST_CASE("gpu: gemm: a row asks cuBLASLt once for its choice, and once for all candidates") {
  REQUIRE_GPU();
  const GemmRequest request(gemm_text({192, 24, 2048}, false, false, "half"),
                            "library=cublaslt limit=8");
  const HeuristicsCounter counter;
  const testing::TablePlan plan = request.plan();
  CHECK(counter.queries() == 1);
  const std::vector<std::string> ids = plan.candidates();
  REQUIRE(ids.size() > 2);
  CHECK(counter.queries() == 2);
  for (const std::string& id : ids) CHECK(plan.can_prepare(id));
  CHECK(counter.queries() == 2);
}

}  // namespace
}  // namespace deepbench::cuda_test
