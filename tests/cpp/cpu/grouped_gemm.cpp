// Products of groups through oneDNN: every output against the definition, empty groups, refusals,
// memory, and refills.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "deepbench/backend/grouped_gemm_operands.hpp"
#include "harness.hpp"
#include "host_memory.hpp"
#include "naive_grouped_gemm.hpp"

namespace deepbench::cpu_test {
namespace {

using testing::NaiveGroupedGemm;
using testing::parse_grouped_gemm;

TEST_CASE("grouped_gemm: every output of every split, with empty groups") {
  if (!is_installed("onednn")) return;
  for (const std::string precision : {"float", "bfloat16", "half"})
    for (const std::string split : {"uniform", "multinomial", "zipf"}) {
      const std::string problem =
          "groups=30 rows=40 n=33 k=65 split=" + split + " precision=" + precision;
      CAPTURE(problem);
      if (const SupportResult answer = plan_status("grouped_gemm", problem, "seed=5");
          answer.status != DEEPBENCH_OK) {
        CHECK(precision != "float");
        CHECK(answer.error.find("no matrix product in " + precision) != std::string::npos);
        continue;
      }
      Kernel kernel("grouped_gemm", problem, "seed=5");
      const Emitted facts = kernel.describe();
      CHECK(facts.text("algorithm").find("loop over ") == 0);
      CHECK_FALSE(facts.has("in_place"));
      kernel.poison();
      CHECK(kernel.scan().untouched == 40 * 33);
      kernel.run(2);
      CHECK(kernel.scan().untouched == 0);
      CHECK(NaiveGroupedGemm(parse_grouped_gemm(problem), 5).count_wrong(kernel.read(40 * 33)) ==
            0);
    }
  const std::string mostly_empty = "groups=50 rows=9 n=4 k=4 split=zipf precision=float";
  const int64_t count = parse_grouped_gemm(mostly_empty).groups_with_rows();
  CHECK(count < 10);
  const Kernel few("grouped_gemm", mostly_empty, "seed=5");
  CHECK(few.describe().text("algorithm").find("loop over " + std::to_string(count) + " groups:") ==
        0);
}

TEST_CASE("grouped_gemm: single rows, columns and elements") {
  if (!is_installed("onednn")) return;
  for (const std::string sizes :
       {"groups=1 rows=1 n=1 k=1", "groups=3 rows=3 n=1 k=129", "groups=200 rows=7 n=5 k=3"}) {
    CAPTURE(sizes);
    const std::string problem = sizes + " split=multinomial precision=float";
    Kernel kernel("grouped_gemm", problem, "seed=5");
    kernel.run(1);
    const GroupedGemm of = parse_grouped_gemm(problem);
    CHECK(NaiveGroupedGemm(of, 5).count_wrong(kernel.read(uint64_t(of.rows * of.n))) == 0);
  }
}

TEST_CASE("grouped_gemm: each of the copies for cold caches gets the results") {
  if (!is_installed("onednn")) return;
  const std::string problem = "groups=4 rows=64 n=256 k=512 split=zipf precision=float";
  Kernel kernel("grouped_gemm", problem, "seed=5 cache=cold");
  if (kernel.describe().text("cold") != "rotation") return;
  const auto copies = uint64_t(kernel.describe().number("copies"));
  kernel.run(1);
  const std::vector<double> first = kernel.project(256, 1);
  for (uint64_t copy = 1; copy < std::min<uint64_t>(copies, 4); ++copy) {
    kernel.run(1);
    CHECK(kernel.project(256, 1) == first);
  }
}

TEST_CASE("grouped_gemm: a refill gives exact sums of integers") {
  if (!is_installed("onednn")) return;
  const std::string problem = "groups=5 rows=20 n=9 k=200 split=multinomial precision=float";
  Kernel kernel("grouped_gemm", problem, "seed=5");
  REQUIRE(backend().refill(kernel.handle(), "integers", 9) == DEEPBENCH_OK);
  kernel.poison();
  kernel.run(1);
  const GroupedGemm of = parse_grouped_gemm(problem);
  CHECK(NaiveGroupedGemm(of, 9, /*integers=*/true).count_wrong(kernel.read(180)) == 0);
}

TEST_CASE("grouped_gemm: the matrices of empty groups are not filled") {
  const GroupedGemm problem =
      parse_grouped_gemm("groups=40 rows=12 n=8 k=6 split=zipf precision=float");
  for (const std::string refill : {"", "ones", "integers"}) {
    CAPTURE(refill);
    plugin::GroupedGemmOperands<cpu::HostMemory> operands(problem, {}, plugin::Inputs::kUniform, 5);
    if (!refill.empty()) operands.refill(refill, 5);
    int64_t zeros = 0;
    for (int64_t group = 0; group < problem.groups; ++group) {
      const auto* const matrix = reinterpret_cast<const float*>(operands.b(0, group));
      const bool is_zero = std::all_of(matrix, matrix + 48, [](float b) { return b == 0; });
      zeros += is_zero;
      CHECK(is_zero == (problem.rows_of(group) == 0));
    }
    CHECK(zeros == problem.groups - problem.groups_with_rows());
  }
}

TEST_CASE("grouped_gemm: refusals have reasons, and the memory counts the matrices of all groups") {
  if (!is_installed("onednn")) return;
  const std::string sizes = "groups=100 rows=10 n=64 k=64 split=multinomial precision=";
  const auto error = [&](const std::string& precision) {
    return plan_status("grouped_gemm", sizes + precision).error;
  };
  CHECK(error("tf32").find("tf32") != std::string::npos);
  CHECK(plan_status("grouped_gemm", sizes + "float", "candidate=nosuch").status ==
        DEEPBENCH_INVALID);
  CHECK(memory_needed("grouped_gemm", sizes + "float") >= 100 * 64 * 64 * 4);
  TablePlan huge(backend(), "grouped_gemm",
                 NamedValues("groups=60000 rows=10 n=100000 k=100000 split=zipf precision=float"),
                 NamedValues(""));
  CHECK(huge.prepare() == nullptr);
  CHECK(huge.status() == DEEPBENCH_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace deepbench::cpu_test
