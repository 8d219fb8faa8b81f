// Products of 16-bit types with few columns by built-in kernels: their division and refusals
// without a device; on a device, every number of columns, candidate and transposition compared with
// three loops.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "built_in_gemm.hpp"
#include "gpu.hpp"
#include "kernels/compile.hpp"
#include "kernels/sources.hpp"
#include "ops/gemm/skinny_layout.hpp"
#include "ops/gemm/skinny_mma_plan.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::skinny_mma_plans;
using cuda::SkinnyMmaPlan;
using cuda::SkinnyMmaProblem;
using plugin::Conversion;
using plugin::GemmLayout;

SkinnyMmaProblem make_problem(uint32_t m, uint32_t n, uint32_t k, bool transposed,
                              bool has_clusters = true) {
  return {DEEPBENCH_F16, transposed, m, n, k, 132, has_clusters};
}

// Checks that every row, column and step is covered exactly once and that the kernel instance
// exists.
void check_plan(const SkinnyMmaPlan& plan, const SkinnyMmaProblem& of) {
  const SkinnyMmaShape& shape = plan.shape;
  CHECK((plan.type == of.type && plan.transposed == of.transposed));
  CHECK((8 * shape.columns >= of.n && 8 * (shape.columns - 1) < of.n));
  CHECK((shape.rows == 2 || (shape.rows == 1 && of.transposed)));
  CHECK((shape.split >= 1 && shape.split <= 8 && plan.blocks % shape.split == 0));
  const uint64_t rows = uint64_t(plan.blocks) / shape.split * 16 * shape.rows;
  CHECK((rows >= of.m && rows - 16 * shape.rows < of.m));
  const uint64_t steps = (uint64_t(of.k) + SKINNY_MMA_STEP - 1) / SKINNY_MMA_STEP;
  CHECK(uint64_t(plan.part_steps) * skinny_mma_parts(shape) >= steps);
  CHECK(uint64_t(plan.part_steps - 1) * skinny_mma_parts(shape) < steps);
  const cuda::LaunchShape launch = plan.launch();
  CHECK((launch.grid_x == plan.blocks && launch.grid_y == 1));
  CHECK(launch.block_x == 32 * shape.warps);
  CHECK(launch.shared_bytes <= 48 << 10);
}

TEST_CASE("skinny_mma: plans cover every row, column and step exactly once") {
  for (const bool transposed : {false, true})
    for (const uint32_t m : {8u, 16u, 40u, 512u, 1760u, 8448u, 2147483640u})
      for (const uint32_t n : {1u, 8u, 9u, 16u, 24u, 31u, 32u})
        for (const uint32_t k : {8u, 32u, 40u, 1760u, 500000u, 2147483640u}) {
          const SkinnyMmaProblem of = make_problem(m, n, k, transposed);
          std::set<std::string> names;
          const auto plans = skinny_mma_plans(of);
          const size_t always = transposed ? 6 : 4;
          CHECK((plans.size() == always || plans.size() == always + 1));
          for (const SkinnyMmaPlan& plan : plans) {
            INFO(m, " x ", n, " x ", k, ": ", plan.name());
            check_plan(plan, of);
            CHECK(names.insert(plan.name()).second);
          }
        }
}

TEST_CASE("skinny_mma: the default fills the device") {
  const auto default_plan = [](uint32_t m, uint32_t n, uint32_t k, bool transposed) {
    return skinny_mma_plans(make_problem(m, n, k, transposed)).front();
  };
  CHECK(default_plan(1760, 16, 1760, true).name() == "rows=16,warps=16,split=1");
  CHECK(default_plan(1760, 16, 1760, true).blocks == 110);
  CHECK(default_plan(2560, 32, 2560, true).name() == "rows=32,warps=4,split=4");
  CHECK(default_plan(2560, 32, 2560, false).expression() ==
        "skinny_mma<" + std::to_string(DEEPBENCH_F16) + ", false, 4, 2, 4, 4, true>");
  CHECK(default_plan(6144, 16, 2048, true).name() == "rows=32,warps=4,split=2");
  // A block has two tiles with sixteen partial sums each.
  CHECK(default_plan(1760, 16, 1760, true).launch().shared_bytes == 2 * 16 * 512);
  CHECK(default_plan(2560, 32, 2560, true).launch().shared_bytes == 2 * 16 * 512);
}

TEST_CASE("skinny_mma: few rows with a long k fill the device by splitting k") {
  const auto default_plan = [](uint32_t m, uint32_t k, bool transposed, int multiprocessors) {
    SkinnyMmaProblem of = make_problem(m, 8, k, transposed);
    of.multiprocessors = multiprocessors;
    return skinny_mma_plans(of).front();
  };
  CHECK(default_plan(512, 500000, true, 132).name() == "rows=16,warps=16,split=4");
  CHECK(default_plan(512, 500000, true, 132).blocks == 128);
  CHECK(default_plan(512, 500000, false, 132).name() == "rows=32,warps=8,split=8");
  CHECK(default_plan(512, 500000, false, 132).blocks == 128);
  CHECK(default_plan(512, 500000, false, 131).blocks == 128);
  // The split follows the number of multiprocessors.
  CHECK(default_plan(512, 500000, true, 127).name() == "rows=16,warps=16,split=2");
  CHECK(default_plan(512, 500000, true, 256).name() == "rows=16,warps=8,split=8");
  CHECK(default_plan(512, 500000, false, 127).name() == "rows=32,warps=8,split=4");
  CHECK(default_plan(8, 500000, true, 132).name() == "rows=16,warps=8,split=8");
  // Parts are no shorter than it takes to hide the sums of the others.
  CHECK(default_plan(512, 64 * 12 * 32, true, 132).shape.split == 4);
  CHECK(default_plan(512, 64 * 11 * 32, true, 132).shape.split == 2);
  CHECK(default_plan(512, 2048, true, 132).shape.split == 1);
}

TEST_CASE("skinny_mma: without clusters, k is not split") {
  for (const bool transposed : {false, true}) {
    const auto plans = skinny_mma_plans(make_problem(6144, 16, 2048, transposed, false));
    REQUIRE_FALSE(plans.empty());
    CHECK(plans.front().name() == "rows=32,warps=8,split=1");
    for (const SkinnyMmaPlan& plan : plans) CHECK(plan.shape.split == 1);
  }
}

TEST_CASE("skinny_mma: m and k are padded, and B is contiguous along k") {
  const auto layout = [](const Dimensions& d, bool trans_a, bool trans_b, const char* options) {
    const NamedValues named(options);
    return cuda::skinny_mma_layout(gemm_of(d, trans_a, trans_b, "half"),
                                   plugin::Options(named.get()));
  };
  const GemmLayout odd = layout({35, 3, 2049}, true, true, "constant=b");
  CHECK((odd.executed.m == 40 && odd.executed.n == 3 && odd.executed.k == 2056));
  CHECK((odd.executed.trans_a && !odd.executed.trans_b && !odd.in_place));
  CHECK((odd.a == Conversion::kNone && odd.b == Conversion::kBeforehand));
  CHECK(odd.padding_rule.find("multiples of 8") != std::string::npos);
  const GemmLayout even = layout({40, 3, 2048}, false, false, "");
  CHECK_FALSE(even.is_padded());
  CHECK((!even.executed.trans_a && even.padding_rule.empty()));
  CHECK((even.a == Conversion::kNone && even.b == Conversion::kNone));
  CHECK(layout({40, 3, 2048}, false, true, "").b == Conversion::kInCall);
  CHECK(layout({35, 3, 2049}, false, false, "pad=0").executed.m == 35);
}

TEST_CASE("skinny_mma: unsupported problems are refused, also without a device") {
  const auto refuses = [](const std::string& problem, const std::string& why,
                          const std::string& options = "") {
    CAPTURE(problem);
    CHECK(refusal_of(cuda::skinny_mma_gemm(), problem, options).find(why) != std::string::npos);
  };
  for (const char* precision : {"float", "tf32", "int8", "fp8_e4m3", "fp8_e5m2"})
    refuses(gemm_text({64, 4, 64}, false, false, precision), "only half and bfloat16");
  refuses(gemm_text({64, 33, 64}, false, false, "half"), "at most 32 columns, but n is 33");
  refuses(gemm_text({int64_t{1} << 31, 1, 8}, false, false, "half"), "below 2^31");
  refuses(gemm_text({8, 1, (int64_t{1} << 31) - 1}, false, false, "bfloat16"), "below 2^31");
  refuses(gemm_text({60, 4, 64}, false, false, "half"), "multiples of 8", "pad=0");
  refuses(gemm_text({64, 4, 60}, true, false, "bfloat16"), "multiples of 8", "pad=0");
  if (const cuda::LibraryReport& nvrtc = cuda::report<nvidia::Nvrtc>(); !nvrtc.usable())
    refuses(gemm_text({64, 4, 64}, false, false, "half"), "NVRTC");
}

TEST_CASE("skinny_mma: the kernel instances that the host names compile") {
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing tested: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::read_kernel_source("skinny_mma");
  const auto compiles = [&](SkinnyMmaProblem of, int32_t type, int architecture) {
    of.type = type;
    const std::string expression = skinny_mma_plans(of).front().expression();
    CAPTURE(expression);
    CHECK_FALSE(cuda::compile(source, expression, architecture).code.empty());
  };
  compiles(make_problem(1760, 16, 1760, true), DEEPBENCH_F16, 90);
  compiles(make_problem(2560, 32, 2560, false), DEEPBENCH_BF16, 90);
  compiles(make_problem(512, 32, 500000, true), DEEPBENCH_F16, 90);
  compiles(make_problem(512, 32, 500000, false), DEEPBENCH_F16, 90);
  compiles(make_problem(2560, 8, 2560, false, /*has_clusters=*/false), DEEPBENCH_BF16, 80);
}

// ---- on a device --------------------------------------------------------------------------------

BuiltInGemmCase product_of(const Dimensions& d, bool trans_a = false, bool trans_b = false,
                           const std::string& precision = "half") {
  return {"skinny_mma", d, trans_a, trans_b, precision};
}

TEST_CASE("gpu: skinny_mma: all candidates are correct for every number of columns") {
  REQUIRE_GPU();
  for (int64_t n = 1; n <= 32; ++n)
    for (const bool trans_a : {false, true}) {
      check_candidates(product_of({72, n, 264}, trans_a));
      check_candidates(product_of({24, n, 40}, trans_a, false, "bfloat16"));
    }
}

TEST_CASE("gpu: skinny_mma: every transposition is correct, padded or not, constant or not") {
  REQUIRE_GPU();
  for (const int transposition : {0, 1, 2, 3})
    for (const Dimensions& d : {Dimensions{64, 16, 512}, Dimensions{65, 3, 129},
                                Dimensions{1, 1, 1}, Dimensions{1000, 27, 70}})
      for (const char* precision : {"half", "bfloat16"})
        for (const char* options : {"", "constant=a,b"})
          check_candidates(
              product_of(d, (transposition & 1) != 0, (transposition & 2) != 0, precision),
              options);
}

TEST_CASE("gpu: skinny_mma: large m and large k are correct") {
  REQUIRE_GPU();
  for (const bool trans_a : {false, true}) {
    check_candidates(product_of({1760, 16, 1760}, trans_a));
    check_candidates(product_of({8448, 4, 264}, trans_a));
    check_candidates(product_of({8, 32, 40008}, trans_a));
    check_candidates(product_of({512, 8, 40008}, trans_a));  // wide clusters
    check_candidates(product_of({1000, 16, 40008}, trans_a));
  }
}

TEST_CASE("gpu: skinny_mma: consecutive calls are correct, in a graph and on the stream") {
  REQUIRE_GPU();
  check_interleaved_calls(product_of({2560, 16, 512}, true));
  check_interleaved_calls(product_of({512, 4, 512}));
}

TEST_CASE("gpu: skinny_mma: cold calls rotate through the copies, and each copy gets the result") {
  REQUIRE_GPU();
  check_cold_calls(product_of({40, 2, 65552}, true));
}

TEST_CASE("gpu: skinny_mma: an unknown candidate is invalid") {
  REQUIRE_GPU();
  const std::string problem = product_of({512, 4, 512}).text();
  CHECK(GemmRequest(problem, "library=skinny_mma candidate=rows=3").plan_status() ==
        DEEPBENCH_INVALID);
  CHECK(std::string(table().last_error()).find("rows=3") != std::string::npos);
}

TEST_CASE("gpu: skinny_mma: it competes with cublaslt, which remains the default") {
  REQUIRE_GPU();
  check_competes(product_of({512, 16, 512}));
  check_competes(product_of({512, 16, 512}, true, false, "bfloat16"));
  for (const std::string& id :
       GemmRequest(gemm_text({64, 64, 64}, false, false, "half"), "").candidates())
    CHECK(id.rfind("cublaslt:", 0) == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
