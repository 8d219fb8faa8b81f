// Products of 8-bit integers with few columns by built-in kernels: their division and refusals
// without a device; on a device, every shape, candidate and transposition compared with three
// loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "built_in_gemm.hpp"
#include "gpu.hpp"
#include "kernels/compile.hpp"
#include "kernels/sources.hpp"
#include "ops/gemm/skinny_layout.hpp"
#include "ops/gemm/skinny_plan.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::skinny_plans;
using cuda::SkinnyPlan;
using cuda::SkinnyProblem;
using plugin::Conversion;
using plugin::GemmLayout;

constexpr uint32_t kMultiprocessors = 132;
constexpr uint64_t kWorkspace = 32 << 20;

SkinnyProblem make_problem(uint32_t m, uint32_t n, uint32_t k, uint64_t workspace = kWorkspace) {
  return {m, n, (k + 15) / 16, kMultiprocessors, workspace};
}

uint32_t rows_of_block(const SkinnyPlan& plan) {
  return plan.threads / uint32_t(plan.lanes) * uint32_t(plan.rows);
}

// Checks that every row and every part is covered exactly once and that the kernel instance exists.
void check_plan(const SkinnyPlan& plan, const SkinnyProblem& of) {
  CHECK(plan.columns == int(of.columns));
  CHECK((plan.lanes == 8 || plan.lanes == 16 || plan.lanes == 32));
  CHECK((plan.rows == 1 || plan.rows == 2 || plan.rows == 4));
  CHECK((plan.depth >= 1 && plan.depth * plan.rows <= 16));
  CHECK((plan.depth == 1 || plan.depth * plan.columns <= SKINNY_MAX_COLUMNS));
  CHECK((plan.threads >= 32 && plan.threads <= SKINNY_THREADS && plan.threads % 32 == 0));
  CHECK(uint64_t(plan.blocks) * rows_of_block(plan) >= of.m);
  CHECK(uint64_t(plan.blocks - 1) * rows_of_block(plan) < of.m);
  CHECK(uint64_t(plan.split) * plan.part_vectors >= of.vectors);
  CHECK(uint64_t(plan.split - 1) * plan.part_vectors < of.vectors);
  CHECK(plan.split <= 65535);
  CHECK(plan.workspace_bytes() <= of.workspace_bytes);
  const cuda::LaunchShape shape = plan.launch();
  CHECK((shape.grid_x == plan.blocks && shape.grid_y == plan.split));
  CHECK((shape.block_x == plan.threads && shape.shared_bytes == 0));
}

TEST_CASE("skinny: plans cover every row and part exactly once") {
  for (const uint32_t m : {1u, 2u, 3u, 35u, 512u, 1023u, 6144u, 100000u, 2147483647u})
    for (const uint32_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u})
      for (const uint32_t k : {1u, 16u, 513u, 2048u, 2816u, 65537u, 500000u}) {
        const SkinnyProblem of = make_problem(m, n, k);
        std::set<std::string> names;
        const auto plans = skinny_plans(of);
        CHECK((!plans.empty() && plans.size() <= 7));
        for (const SkinnyPlan& plan : plans) {
          INFO(m, " x ", n, " x ", k, ": ", plan.name());
          check_plan(plan, of);
          CHECK(names.insert(plan.name()).second);
        }
      }
}

TEST_CASE("skinny: the default fills the device") {
  // One wave of blocks with equal numbers of warps, and all vectors in flight at once.
  const SkinnyPlan even = skinny_plans(make_problem(6144, 1, 2048)).front();
  CHECK(even.name() == "lanes=32,rows=4,split=1");
  CHECK(even.expression() == "skinny<1, 4, 4, 32, false>");
  CHECK((even.blocks == 128 && even.threads == 384));
  // Small problems are spread: each warp has one row.
  const SkinnyPlan small = skinny_plans(make_problem(512, 4, 512)).front();
  CHECK(small.name() == "lanes=32,rows=1,split=1");
  CHECK((small.blocks == 128 && small.threads == 128));
  // Long rows are split such that the blocks form one wave.
  const SkinnyPlan split = skinny_plans(make_problem(512, 4, 500000)).front();
  CHECK(split.name() == "lanes=32,rows=4,split=16");
  CHECK(split.expression() == "skinny<4, 4, 2, 32, true>");
  CHECK(split.blocks * split.split <= kMultiprocessors);
  CHECK(split.workspace_bytes() == 4 * (4 * 512 + split.blocks));
  CHECK(skinny_plans(make_problem(512, 4, 500000))[1].split > split.split);
}

TEST_CASE("skinny: without a workspace, k is not split") {
  for (const SkinnyPlan& plan : skinny_plans(make_problem(512, 4, 500000, 0)))
    CHECK(plan.split == 1);
}

TEST_CASE("skinny: only k is padded, and A is contiguous along k") {
  const auto layout = [](const Dimensions& d, bool trans_a, bool trans_b, const char* options) {
    const NamedValues named(options);
    return cuda::skinny_layout(gemm_of(d, trans_a, trans_b, "int8"), plugin::Options(named.get()));
  };
  const GemmLayout odd = layout({35, 3, 2049}, false, false, "constant=a");
  CHECK((odd.executed.m == 35 && odd.executed.n == 3 && odd.executed.k == 2064));
  CHECK((odd.executed.trans_a && !odd.executed.trans_b && !odd.in_place));
  CHECK((odd.a == Conversion::kBeforehand && odd.b == Conversion::kNone));
  CHECK(odd.padding_rule.find("multiples of 16") != std::string::npos);
  const GemmLayout even = layout({35, 3, 2048}, true, true, "");
  CHECK_FALSE(even.is_padded());
  CHECK(even.padding_rule.empty());
  CHECK((even.a == Conversion::kNone && even.b == Conversion::kInCall));
  CHECK(layout({35, 3, 2049}, false, false, "pad=0").executed.k == 2049);
}

TEST_CASE("skinny: unsupported problems are refused, also without a device") {
  const auto refuses = [](const std::string& problem, const std::string& why,
                          const std::string& options = "") {
    CAPTURE(problem);
    CHECK(refusal_of(cuda::skinny_gemm(), problem, options).find(why) != std::string::npos);
  };
  for (const char* precision : {"float", "tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2"})
    refuses(gemm_text({64, 4, 64}, false, false, precision), "only 8-bit integers");
  refuses(gemm_text({64, 9, 64}, false, false, "int8"), "at most 8 columns, but n is 9");
  refuses(gemm_text({64, 4, 64}, false, false, "int8", "u8"), "b_type=s8");
  refuses(gemm_text({int64_t{1} << 31, 1, 1}, false, false, "int8"), "below 2^31");
  refuses(gemm_text({1, 1, (int64_t{1} << 31) - 1}, false, false, "int8"), "below 2^31");
  refuses(gemm_text({64, 4, 65}, false, false, "int8"), "multiple of 16", "pad=0");
  if (const cuda::LibraryReport& nvrtc = cuda::report<nvidia::Nvrtc>(); !nvrtc.usable())
    refuses(gemm_text({64, 4, 64}, false, false, "int8"), "NVRTC");
}

TEST_CASE("skinny: the kernel instances that the host names compile") {
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing tested: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::read_kernel_source("skinny");
  for (const SkinnyProblem& of :
       {make_problem(6144, 1, 2048), make_problem(512, 4, 500000), make_problem(300, 8, 100)}) {
    const std::string expression = skinny_plans(of).front().expression();
    CAPTURE(expression);
    CHECK_FALSE(cuda::compile(source, expression, 90).code.empty());
  }
}

// ---- on a device --------------------------------------------------------------------------------

BuiltInGemmCase product_of(const Dimensions& d, bool trans_a = false, bool trans_b = false) {
  return {"skinny", d, trans_a, trans_b, "int8"};
}

TEST_CASE("gpu: skinny: all candidates are correct for every number of columns") {
  REQUIRE_GPU();
  for (int64_t n = 1; n <= 8; ++n)
    for (const Dimensions& d : {Dimensions{1, n, 1}, Dimensions{300, n, 257},
                                Dimensions{513, n, 2816}, Dimensions{37, n, 40001}})
      check_candidates(product_of(d), "constant=a");
}

TEST_CASE("gpu: skinny: every transposition is correct, constant or not") {
  REQUIRE_GPU();
  for (const int transposition : {0, 1, 2, 3})
    for (const Dimensions& d : {Dimensions{64, 4, 512}, Dimensions{65, 3, 129},
                                Dimensions{1, 1, 1000}, Dimensions{7, 5, 30000}})
      for (const char* options : {"", "constant=a", "constant=a,b"})
        check_candidates(product_of(d, (transposition & 1) != 0, (transposition & 2) != 0),
                         options);
}

TEST_CASE("gpu: skinny: products that fill the device are correct") {
  REQUIRE_GPU();
  check_candidates(product_of({3072, 1, 1024}), "constant=a");
  check_candidates(product_of({4608, 2, 1536}), "constant=a");
  check_candidates(product_of({48, 4, 65536}), "constant=a");
}

TEST_CASE("gpu: skinny: consecutive calls are correct, in a graph and on the stream") {
  REQUIRE_GPU();
  check_interleaved_calls(product_of({40, 4, 65536}, true));
  check_interleaved_calls(product_of({512, 4, 512}, true));
}

TEST_CASE("gpu: skinny: cold calls rotate through the copies, and each copy gets the result") {
  REQUIRE_GPU();
  check_cold_calls(product_of({40, 2, 65552}, true));
}

TEST_CASE(
    "gpu: skinny: an unknown candidate is invalid, and without a workspace no candidate splits k") {
  REQUIRE_GPU();
  const std::string problem = gemm_text({512, 4, 500000}, true, false, "int8");
  CHECK(GemmRequest(problem, "library=skinny candidate=lanes=3").plan_status() ==
        DEEPBENCH_INVALID);
  CHECK(std::string(table().last_error()).find("lanes=3") != std::string::npos);
  for (const std::string& id : GemmRequest(problem, "library=skinny workspace=0").candidates())
    CHECK(id.find("split=1") == id.size() - 7);
}

TEST_CASE("gpu: skinny: it competes with cublaslt, which remains the default") {
  REQUIRE_GPU();
  check_competes(product_of({512, 4, 512}), "constant=a");
  for (const std::string& id :
       GemmRequest(gemm_text({64, 64, 64}, false, false, "int8"), "").candidates())
    CHECK(id.rfind("cublaslt:", 0) == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
