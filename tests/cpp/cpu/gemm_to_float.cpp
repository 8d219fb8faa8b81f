// Products of half and bfloat16 matrices whose C is in float, through MKL if it is installed.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "harness.hpp"
#include "naive_gemm.hpp"
#include "ops/gemm/operands.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

constexpr const char* kPrecisions[] = {"bfloat16", "half"};
constexpr const char* kOptions = "library=mkl seed=5";

// Whether MKL is installed and its version supports the precision.
bool is_precision_supported(const char* precision) {
  return is_installed("mkl") &&
         plan_status("gemm", gemm_text({8, 8, 8}, false, false, precision), kOptions).status ==
             DEEPBENCH_OK;
}

// The expected C to within float's rounding: rounding to the precision would hide how C was filled.
NaiveGemm exact_product(const Dimensions& d, bool trans_a, bool trans_b, const char* precision,
                        const Emitted& facts) {
  Gemm gemm = gemm_of(d, trans_a, trans_b, precision);
  gemm.precision.output_roundoff = kRoundoffFloat;
  return {gemm, facts, 5};
}

TEST_CASE("16 bits to float: every transposition, odd sizes and vectors, to float's precision") {
  for (const char* precision : kPrecisions) {
    if (!is_precision_supported(precision)) continue;
    for (const Dimensions& d :
         {Dimensions{65, 33, 129}, Dimensions{513, 77, 101}, Dimensions{300, 1, 257},
          Dimensions{1, 300, 64}, Dimensions{7, 5, 1}, Dimensions{1, 1, 1}, Dimensions{3, 2, 4099}})
      for (const int transposition : {0, 1, 2, 3}) {
        const bool trans_a = (transposition & 1) != 0, trans_b = (transposition & 2) != 0;
        const std::string problem = gemm_text(d, trans_a, trans_b, precision);
        CAPTURE(problem);
        Kernel kernel("gemm", problem, kOptions);
        const Emitted facts = kernel.describe();
        const auto outputs = uint64_t(d.m * d.n);
        const NaiveGemm naive = exact_product(d, trans_a, trans_b, precision, facts);
        kernel.poison();
        CHECK(kernel.scan().untouched == outputs);
        kernel.run(1);
        CHECK(kernel.scan().untouched <= outputs / 50);
        CHECK(kernel.scan().non_finite == 0);
        CHECK(naive.count_wrong(kernel.read(outputs)) == 0);
        kernel.run(2);
        CHECK(naive.count_wrong(kernel.read(outputs), 3) == 0);
      }
  }
}

TEST_CASE("16 bits to float: C begins with the precision's values, and the row has a note") {
  for (const char* precision : kPrecisions) {
    if (!is_precision_supported(precision)) continue;
    const Dimensions d = {50, 40, 30};
    Kernel kernel("gemm", gemm_text(d, true, false, precision), kOptions);
    const Emitted facts = kernel.describe();
    CHECK(facts.text("note.c").find("C in float") != std::string::npos);
    CHECK(facts.text("in_place") == "1");
    CHECK(facts.number("restore_every") == 1 << 20);  // The range of float applies, also for half.
    kernel.run(1);
    kernel.restore();
    CHECK(kernel.scan().untouched == 2000);
    const std::vector<double> first = kernel.read(2000);
    const deepbench_type type = precision_info(precision).c;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 2000; ++i)
      wrong += first[i] != deepbench_element(type, 5, Gemm::kStreamC, i);
    CHECK(wrong == 0);
  }
}

TEST_CASE("16 bits to float: cold calls use every copy, and each gives the same result") {
  const auto cache = uint64_t(cpu::topology().last_level_bytes);
  for (const char* precision : kPrecisions) {
    if (!is_precision_supported(precision)) continue;
    const Dimensions d = {512, 64, 512};
    const uint64_t c_bytes = 4 * 512 * 64, bytes = 2 * (512 * 512 + 512 * 64) + c_bytes;
    const std::string problem = gemm_text(d, false, false, precision);
    const std::string options = std::string(kOptions) + " cache=cold";
    Kernel kernel("gemm", problem, options);
    const Emitted facts = kernel.describe();
    if (facts.text("cold") != "rotation") continue;  // The cache is too large for 1024 copies.
    const auto copies = uint64_t(facts.number("copies"));
    CHECK(copies * bytes >= 3 * cache);
    const uint64_t needed = memory_needed("gemm", problem, options);
    CHECK(needed >= copies * bytes + c_bytes);
    CHECK(needed < copies * bytes + c_bytes + 4096);

    kernel.restore();
    kernel.run(1);
    CHECK(exact_product(d, false, false, precision, facts).count_wrong(kernel.read(512 * 64)) == 0);
    const std::vector<double> first = kernel.project(512, 1);
    for (uint64_t copy = 1; copy < copies; ++copy) {
      kernel.run(1);
      CHECK(kernel.project(512, 1) == first);
    }
  }
}

TEST_CASE("16 bits to float: only library=mkl selects it") {
  for (const char* precision : kPrecisions) {
    const std::string problem = gemm_text({32, 32, 32}, false, false, precision);
    // No other library supports it.
    if (plan_status("gemm", problem).status != DEEPBENCH_OK) continue;
    CHECK(Kernel("gemm", problem).describe().text("library").find("mkl") == std::string::npos);
  }
}

TEST_CASE("16 bits to float: C has the size and range of float") {
  cpu::GemmStorage storage;
  storage.gemm = gemm_of({100, 30, 20}, false, false, "half");
  CHECK(storage.c_bytes() == 2 * 3000);
  CHECK(storage.calls_before_overflow(cpu::Inputs::kOnes) == 65504 / 20 - 1);
  storage.float_c = true;
  CHECK(storage.c_bytes() == 4 * 3000);
  CHECK(storage.calls_before_overflow(cpu::Inputs::kOnes) == 1 << 20);
}

}  // namespace
}  // namespace deepbench::cpu_test
