// Matrix products through every installed library: each precision, transposition and candidate
// against three loops, with odd sizes, restore, cold regimes, and refusals with their reasons.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "harness.hpp"
#include "naive_gemm.hpp"
#include "ops/gemm/operands.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

struct OperandTypes {
  const char* precision;
  const char* b_type;
};
constexpr OperandTypes kKinds[] = {{"float", ""},    {"bfloat16", ""}, {"half", ""},
                                   {"int8", "s8"},   {"int8", "u8"},   {"tf32", ""},
                                   {"fp8_e4m3", ""}, {"fp8_e5m2", ""}};
constexpr const char* kLibraries[] = {"onednn", "openblas", "mkl"};

std::string library_options(const std::string& library, const std::string& rest = "") {
  return "library=" + library + " seed=5 " + rest;
}

// Runs one candidate once from newly filled operands and compares all outputs.
void check_candidate(const Gemm& gemm, const std::string& problem, const std::string& options) {
  CAPTURE(problem);
  CAPTURE(options);
  Kernel kernel("gemm", problem, options);
  const Emitted facts = kernel.describe();
  CHECK_FALSE(facts.text("library").empty());
  CHECK_FALSE(facts.text("algorithm").empty());
  CHECK(facts.number("workspace_bytes") >= 0);
  CHECK(facts.number("threads") >= 1);
  if (options.find("packed") != std::string::npos) {
    CHECK(facts.text("converted") == "a");
    CHECK(facts.number("conversion_ns") > 0);
    CHECK(facts.number("conversion_sample_ns.0") > 0);
  }
  const uint64_t outputs = outputs_of(gemm);
  const bool in_place = facts.text("in_place") == "1";

  kernel.poison();
  CHECK(kernel.scan().untouched == outputs);
  const deepbench_batch batch = kernel.run(1);
  CHECK(batch.launch == DEEPBENCH_LAUNCH_STREAM);
  CHECK(batch.copies_touched == 1);
  const deepbench_scan scan = kernel.scan();
  CHECK(scan.count == outputs);
  CHECK(double(scan.untouched) <= (in_place ? 0.02 * double(outputs) + 1 : 0));
  CHECK(scan.non_finite == 0);
  CHECK(NaiveGemm(gemm, facts, 5).count_wrong(kernel.read(outputs)) == 0);
}

void check_every_candidate(const std::string& library, const Dimensions& dimensions,
                           const OperandTypes& kind, bool trans_a, bool trans_b) {
  const std::string problem = gemm_text(dimensions, trans_a, trans_b, kind.precision, kind.b_type);
  const Gemm gemm = gemm_of(dimensions, trans_a, trans_b, kind.precision, kind.b_type);
  CAPTURE(problem);
  const SupportResult answer = plan_status("gemm", problem, library_options(library));
  if (answer.status != DEEPBENCH_OK) {
    CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
    CHECK(answer.error.size() > 10);
    return;
  }
  const auto ids = candidates("gemm", problem, library_options(library));
  REQUIRE_FALSE(ids.empty());
  for (const std::string& id : ids) {
    check_candidate(gemm, problem, library_options(library, "candidate=" + id));
    // oneDNN has cached each of them at this point, and a name must still select the same one.
    const size_t colon = id.find(':');
    if (library != "onednn" || colon == std::string::npos) continue;
    if (id == "matmul:packed" || id == "matmul:add") continue;
    const Kernel again("gemm", problem, library_options(library, "candidate=" + id));
    CHECK(again.describe().text("algorithm") == id.substr(colon + 1));
  }
}

TEST_CASE("every precision, transposition and candidate of every library") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    for (const OperandTypes& kind : kKinds)
      for (const int transposition : {0, 1, 2, 3})
        check_every_candidate(library, {65, 33, 129}, kind, (transposition & 1) != 0,
                              (transposition & 2) != 0);
  }
}

TEST_CASE("odd sizes, vectors and single elements") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    for (const OperandTypes& kind : {kKinds[0], kKinds[1], kKinds[3], kKinds[4]})
      for (const Dimensions& dimensions :
           {Dimensions{1, 1, 1}, Dimensions{513, 77, 101}, Dimensions{300, 1, 257},
            Dimensions{1, 300, 64}, Dimensions{7, 5, 1}, Dimensions{1, 1, 1000}})
        for (const int transposition : {0, 3})
          check_every_candidate(library, dimensions, kind, transposition != 0, transposition != 0);
  }
}

TEST_CASE("batches: every product has its own operands, in every library and candidate") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    for (const OperandTypes& kind : {kKinds[0], kKinds[1], kKinds[3]})
      for (const int transposition : {0, 1, 2, 3})
        check_every_candidate(library, {33, 17, 65, 5}, kind, (transposition & 1) != 0,
                              (transposition & 2) != 0);
    for (const Dimensions& dimensions : {Dimensions{1, 1, 7, 3}, Dimensions{8, 1, 4, 1000}})
      check_every_candidate(library, dimensions, kKinds[0], false, true);
  }
}

TEST_CASE("batches: candidates that convert or call a library without batches are left out") {
  if (is_installed("onednn")) {
    const std::string batch = gemm_text({32, 16, 64, 4}, false, false, "float");
    const auto ids = candidates("gemm", batch, library_options("onednn"));
    for (const char* id : {"sgemm", "matmul:packed"}) {
      CHECK(std::count(ids.begin(), ids.end(), id) == 0);
      CHECK(plan_status("gemm", batch, library_options("onednn", std::string("candidate=") + id))
                .status == DEEPBENCH_INVALID);
    }
  }
  if (is_installed("mkl"))
    CHECK(plan_status("gemm", gemm_text({32, 16, 64, 4}, false, false, "int8", "u8"),
                      library_options("mkl"))
              .error == "deepbench calls MKL with batches in float only, not in int8");
}

TEST_CASE("batches: the memory holds the matrices of all products") {
  if (!is_installed("onednn")) return;
  const uint64_t one = memory_needed("gemm", gemm_text({64, 64, 64}, false, false, "float"), "");
  const uint64_t all =
      memory_needed("gemm", gemm_text({64, 64, 64, 1000}, false, false, "float"), "");
  CHECK(one >= 4 * 4 * 64 * 64);
  CHECK(all >= 1000 * 4 * 4 * 64 * 64);
}

TEST_CASE("epilogues: a bias for each row, then relu or gelu, in every candidate") {
  if (!is_installed("onednn")) return;
  for (const std::string epilogue : {"bias", "relu", "gelu"})
    for (const std::string precision : {"float", "bfloat16", "half"})
      for (const Dimensions& d : {Dimensions{65, 33, 129}, Dimensions{33, 17, 65, 5}}) {
        const std::string problem = gemm_text(d, true, false, precision) + " epilogue=" + epilogue;
        CAPTURE(problem);
        if (plan_status("gemm", problem, library_options("onednn")).status != DEEPBENCH_OK) {
          CHECK(precision != "float");
          continue;
        }
        Gemm gemm = gemm_of(d, true, false, precision);
        gemm.epilogue = epilogue_named(epilogue);
        const auto ids = candidates("gemm", problem, library_options("onednn"));
        CHECK(std::count(ids.begin(), ids.end(), "matmul:add") == 0);
        CHECK(std::count(ids.begin(), ids.end(), "sgemm") == 0);
        for (const std::string& id : ids)
          check_candidate(gemm, problem, library_options("onednn", "candidate=" + id));
      }
}

TEST_CASE("epilogues: the row has no C, and libraries without epilogues refuse them") {
  const std::string problem = gemm_text({32, 16, 64}, false, false, "float") + " epilogue=relu";
  for (const std::string library : {"openblas", "mkl"})
    if (is_installed(library))
      CHECK(plan_status("gemm", problem, library_options(library))
                .error.find("has no products with an epilogue") != std::string::npos);
  if (!is_installed("onednn")) return;
  Kernel kernel("gemm", problem, library_options("onednn"));
  const Emitted facts = kernel.describe();
  CHECK_FALSE(facts.has("in_place"));
  CHECK_FALSE(facts.has("beta"));
  CHECK_FALSE(facts.has("accumulator"));
  kernel.run(3);
  Gemm gemm = gemm_of({32, 16, 64}, false, false, "float");
  gemm.epilogue = Epilogue::kRelu;
  CHECK(NaiveGemm(gemm, facts, 5).count_wrong(kernel.read(32 * 16)) == 0);
}

TEST_CASE("513 x 77 x 1001 in full, through the backend's default library") {
  if (!is_installed("onednn") && !is_installed("openblas") && !is_installed("mkl")) return;
  const Dimensions dimensions = {513, 77, 1001};
  check_candidate(gemm_of(dimensions, false, false, "float"),
                  gemm_text(dimensions, false, false, "float"), "seed=5");
}

TEST_CASE("oneDNN supports float and reports the processor's limits for other precisions") {
  if (!is_installed("onednn")) return;
  const Dimensions d = {32, 32, 32};
  const auto reason = [&](const char* precision) {
    return plan_status("gemm", gemm_text(d, false, false, precision), library_options("onednn"))
        .error;
  };
  CHECK(
      plan_status("gemm", gemm_text(d, false, false, "float"), library_options("onednn")).status ==
      DEEPBENCH_OK);
  CHECK(reason("tf32").find("tf32") != std::string::npos);
  CHECK(reason("fp8_e4m3").find("8-bit floating-point") != std::string::npos);
  const std::string half = reason("half");
  CHECK((half.empty() || half.find("unimplemented") != std::string::npos));
}

TEST_CASE("BLAS libraries report why a precision is unsupported") {
  const Dimensions d = {32, 32, 32};
  if (is_installed("openblas")) {
    CHECK(plan_status("gemm", gemm_text(d, false, false, "bfloat16"), library_options("openblas"))
              .error.find("returns float") != std::string::npos);
    CHECK(plan_status("gemm", gemm_text(d, false, false, "int8"), library_options("openblas"))
              .status == DEEPBENCH_UNSUPPORTED);
    CHECK(plan_status("gemm", gemm_text({int64_t{1} << 31, 1, 1}, false, false, "float"),
                      library_options("openblas"))
              .error.find("32-bit") != std::string::npos);
  }
  if (is_installed("mkl")) {
    CHECK(plan_status("gemm", gemm_text(d, false, false, "int8", "s8"), library_options("mkl"))
              .error.find("b_type=u8") != std::string::npos);
    CHECK(plan_status("gemm", gemm_text(d, false, false, "fp8_e4m3"), library_options("mkl"))
              .error.find("no matrix product in fp8_e4m3") != std::string::npos);
  }
}

TEST_CASE("in place: calls accumulate, and restore resets C") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    const Dimensions d = {50, 40, 30};
    Kernel kernel("gemm", gemm_text(d, true, false, "float"), library_options(library));
    const Emitted facts = kernel.describe();
    REQUIRE(facts.text("in_place") == "1");
    const NaiveGemm naive(gemm_of(d, true, false, "float"), facts, 5);
    kernel.run(3);
    CHECK(naive.count_wrong(kernel.read(2000), 3) == 0);
    kernel.restore();
    CHECK(kernel.scan().untouched == 2000);
    kernel.run(1);
    CHECK(naive.count_wrong(kernel.read(2000)) == 0);
  }
}

TEST_CASE("in place: the range of C decides how often it must be restored") {
  cpu::GemmStorage storage;
  storage.gemm = gemm_of({100, 100, 2500}, false, false, "float");
  CHECK(storage.calls_before_overflow(cpu::Inputs::kUniform) == 1 << 20);
  storage.gemm = gemm_of({100, 100, 2500}, false, false, "half");
  CHECK(storage.calls_before_overflow(cpu::Inputs::kUniform) == 65504 / 100 - 1);
  CHECK(storage.calls_before_overflow(cpu::Inputs::kOnes) == 65504 / 2500 - 1);
  storage.gemm = gemm_of({100, 100, 1 << 20}, false, false, "half");
  CHECK(storage.calls_before_overflow(cpu::Inputs::kOnes) == 1);
  storage.gemm = gemm_of({100, 100, 2500}, false, false, "int8", "u8");
  CHECK(storage.calls_before_overflow(cpu::Inputs::kUniform) > 100);
  CHECK(storage.calls_before_overflow(cpu::Inputs::kUniform) < 10000);
}

TEST_CASE("a separate result leaves C unchanged") {
  if (!is_installed("onednn")) return;
  const Dimensions d = {50, 40, 30};
  Kernel kernel("gemm", gemm_text(d, false, true, "float"),
                library_options("onednn", "candidate=matmul:add"));
  const Emitted facts = kernel.describe();
  CHECK_FALSE(facts.has("in_place"));
  const NaiveGemm naive(gemm_of(d, false, true, "float"), facts, 5);
  kernel.run(7);
  CHECK(naive.count_wrong(kernel.read(2000)) == 0);
  kernel.poison();
  CHECK(kernel.scan().untouched == 2000);
}

TEST_CASE("int8 does not add C, and the row says so") {
  if (!is_installed("onednn")) return;
  Kernel kernel("gemm", gemm_text({20, 10, 30}, false, false, "int8"), library_options("onednn"));
  const Emitted facts = kernel.describe();
  CHECK(facts.number("beta") == 0);
  CHECK_FALSE(facts.text("note.beta").empty());
  CHECK(facts.text("accumulator") == "float");
  CHECK(facts.has("fill.a") == facts.has("note.inputs"));
}

TEST_CASE("cold: calls use every copy, and each gives the same result") {
  const auto cache = uint64_t(cpu::topology().last_level_bytes);
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    const Dimensions d = {512, 64, 512};
    const uint64_t bytes = 4 * (512 * 512 + 512 * 64 + 512 * 64);
    const std::string problem = gemm_text(d, false, false, "float");
    Kernel kernel("gemm", problem, library_options(library, "cache=cold"));
    const Emitted facts = kernel.describe();
    if (facts.text("cold") != "rotation") continue;  // The cache is too large for 1024 copies.
    const auto copies = uint64_t(facts.number("copies"));
    CHECK(copies >= 2);
    CHECK(copies * bytes >= 3 * cache);
    const uint64_t needed = memory_needed("gemm", problem, library_options(library, "cache=cold"));
    const uint64_t expected =
        copies * bytes + 4 * 512 * 64 + uint64_t(facts.number("workspace_bytes"));
    CHECK(needed >= expected);
    CHECK(needed < expected + 4096);  // A workspace takes whole cache lines or pages.

    kernel.restore();
    const NaiveGemm naive(gemm_of(d, false, false, "float"), facts, 5);
    CHECK(kernel.run(1).copies_touched == 1);
    CHECK(naive.count_wrong(kernel.read(512 * 64)) == 0);
    const std::vector<double> first = kernel.project(512, 1);
    CHECK(kernel.run(copies / 2).copies_touched == copies / 2);
    CHECK(kernel.project(512, 1) == first);  // Every copy was called once, so all are equal.
    for (uint64_t copy = 1 + copies / 2; copy < copies; ++copy) {
      kernel.run(1);
      CHECK(kernel.project(512, 1) == first);
    }
    CHECK(kernel.run(copies + 3).copies_touched == copies);
    CHECK(kernel.run(copies).launch == DEEPBENCH_LAUNCH_STREAM);
  }
}

TEST_CASE("cold: if copies do not suffice, the caches are flushed before each isolated call") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    Kernel kernel("gemm", gemm_text({8, 8, 8}, false, false, "float"),
                  library_options(library, "cache=cold copies=4"));
    const Emitted facts = kernel.describe();
    CHECK(facts.text("cold") == "flush");
    CHECK(facts.text("copies") == "1");
    kernel.restore();
    const deepbench_batch batch = kernel.run(2);
    CHECK(batch.launch == DEEPBENCH_LAUNCH_ISOLATED);
    CHECK(batch.copies_touched == 1);
    CHECK(batch.host_ns > batch.elapsed_ns);  // The elapsed time excludes the flushes.
    CHECK(NaiveGemm(gemm_of({8, 8, 8}, false, false, "float"), facts, 5)
              .count_wrong(kernel.read(64), 2) == 0);
  }
}

TEST_CASE("launches follow the request where the CPU supports it") {
  if (!is_installed("onednn")) return;
  Kernel kernel("gemm", gemm_text({64, 64, 64}, false, false, "float"), library_options("onednn"));
  CHECK(kernel.run(2, DEEPBENCH_LAUNCH_ISOLATED).launch == DEEPBENCH_LAUNCH_ISOLATED);
  CHECK(kernel.run(2, DEEPBENCH_LAUNCH_GRAPH).launch == DEEPBENCH_LAUNCH_STREAM);
  CHECK(kernel.run(2, DEEPBENCH_LAUNCH_STREAM, DEEPBENCH_REQUEST_MARKERS).count == 2);
}

TEST_CASE("the caller sets the number of threads") {
  for (const char* library : kLibraries) {
    if (!is_installed(library)) continue;
    Kernel one("gemm", gemm_text({64, 64, 64}, false, false, "float"),
               library_options(library, "threads=1"));
    CHECK(one.describe().text("threads") == "1");
    one.restore();
    one.run(1);
    CHECK(NaiveGemm(gemm_of({64, 64, 64}, false, false, "float"), one.describe(), 5)
              .count_wrong(one.read(64 * 64)) == 0);
  }
}

TEST_CASE("inputs of zeros and ones") {
  if (!is_installed("onednn")) return;
  Kernel ones("gemm", gemm_text({16, 8, 10}, false, false, "float"),
              library_options("onednn", "inputs=ones"));
  ones.run(1);
  for (const double value : ones.read(128)) CHECK(value == 11);
}

TEST_CASE("invalid requests are refused, and huge problems run out of memory") {
  const std::string problem = gemm_text({32, 32, 32}, false, false, "float");
  CHECK(plan_status("gemm", problem, "library=nosuch").status == DEEPBENCH_INVALID);
  CHECK(plan_status("gemm", problem, "library=nosuch").error.find("onednn") != std::string::npos);
  CHECK(plan_status("gemm", problem, "device=1").status == DEEPBENCH_INVALID);
  CHECK(plan_status("gemm", problem, "library=threads").status == DEEPBENCH_UNSUPPORTED);
  CHECK(plan_status("all_reduce", "elements=3 precision=float").status == DEEPBENCH_UNSUPPORTED);
  for (const char* library : kLibraries) {
    if (!is_installed(library)) {
      CHECK(plan_status("gemm", problem, library_options(library)).status == DEEPBENCH_UNSUPPORTED);
      continue;
    }
    CHECK(plan_status("gemm", problem, library_options(library, "candidate=nosuch")).status ==
          DEEPBENCH_INVALID);
    CHECK(plan_status("gemm", problem, library_options(library, "candidate=matmul:77")).status ==
          DEEPBENCH_INVALID);
    TablePlan huge(backend(), "gemm",
                   NamedValues(gemm_text({1 << 20, 1 << 20, 1 << 20}, false, false, "float")),
                   NamedValues(library_options(library)));
    CHECK(huge.prepare() == nullptr);
    CHECK(huge.status() == DEEPBENCH_OUT_OF_MEMORY);
    CHECK(huge.error().find(" TB of host memory") != std::string::npos);
  }
}

TEST_CASE("the table's functions reject invalid arguments without damage") {
  if (!is_installed("onednn")) return;
  Kernel kernel("gemm", gemm_text({4, 4, 4}, false, false, "float"), library_options("onednn"));
  const deepbench_request none = {sizeof none, 0, 0, 0};
  deepbench_batch batch = {};
  batch.struct_size = sizeof batch;
  CHECK(backend().time_batch(kernel.handle(), &none, &batch) == DEEPBENCH_INVALID);
  const uint64_t beyond = 16;
  double value = 0;
  CHECK(backend().read_output(kernel.handle(), 0, &beyond, 1, &value) == DEEPBENCH_INVALID);
  CHECK(backend().read_output(kernel.handle(), 1, &beyond, 1, &value) == DEEPBENCH_INVALID);
  CHECK(backend().project_output(kernel.handle(), 0, 5, 1, &value) == DEEPBENCH_INVALID);
  backend().destroy(nullptr);
  backend().destroy_plan(nullptr);
}

// Calls the kernel once from operands that are refilled, and returns all outputs.
std::vector<double> outputs_after_refill(Kernel& kernel, const Gemm& gemm, const char* inputs,
                                         uint64_t seed) {
  REQUIRE(backend().refill(kernel.handle(), inputs, seed) == DEEPBENCH_OK);
  kernel.poison();
  kernel.run(1);
  return kernel.read(uint64_t(gemm.m * gemm.n));
}

TEST_CASE("a refill in place gives exact sums of integers, and the first outputs again") {
  const Dimensions dimensions = {5, 3, 100001};
  for (const std::string library : kLibraries) {
    if (!is_installed(library)) continue;
    for (const std::string precision : {"float", "bfloat16", "half"}) {
      for (const std::string cache : {"cache=hot", "cache=cold copies=3"}) {
        const std::string problem = gemm_text(dimensions, true, false, precision);
        const std::string options = library_options(library, cache);
        if (plan_status("gemm", problem, options).status != DEEPBENCH_OK) continue;
        const Gemm gemm = gemm_of(dimensions, true, false, precision);
        for (const std::string& id : candidates("gemm", problem, options)) {
          CAPTURE(options);
          CAPTURE(precision);
          CAPTURE(id);
          Kernel kernel("gemm", problem, options + " candidate=" + id);
          if (kernel.describe().has("beta")) continue;  // the sums leave C out
          kernel.poison();
          kernel.run(1);
          const std::vector<double> first = kernel.read(15);
          CHECK(outputs_after_refill(kernel, gemm, "integers", 9) == exact_outputs(gemm, 9));
          CHECK(outputs_after_refill(kernel, gemm, "uniform", 9) != first);
          CHECK(outputs_after_refill(kernel, gemm, "uniform", 5) == first);
        }
      }
    }
  }
}

TEST_CASE("kernels that share their operands refuse a refill and keep their inputs") {
  for (const std::string library : kLibraries) {
    if (!is_installed(library)) continue;
    const std::string problem = gemm_text({4, 4, 4}, false, false, "float");
    Kernel kernel("gemm", problem, library_options(library));
    const Kernel other("gemm", problem, library_options(library));
    CHECK(backend().refill(kernel.handle(), "integers", 9) == DEEPBENCH_UNSUPPORTED);
    kernel.poison();
    kernel.run(1);
    const NaiveGemm naive(gemm_of({4, 4, 4}, false, false, "float"), kernel.describe(), 5);
    CHECK(naive.count_wrong(kernel.read(16)) == 0);
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
