// What the libraries for matrix products need no device for: the notation of cuBLASLt's candidates,
// types, descriptors and refusals.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/problem.hpp"
#include "gemm_harness.hpp"
#include "implementation.hpp"
#include "ops/gemm/cublaslt_algorithm.hpp"
#include "ops/gemm/cublaslt_plan.hpp"
#include "ops/gemm/types.hpp"
#include "routes.hpp"

namespace deepbench::cuda_test {
namespace {

using plugin::gemm_layouts;
using plugin::GemmLayout;

TEST_CASE("cublaslt: candidates' ids describe algorithms completely") {
  cuda::lt::Candidate candidate;
  candidate.layout = "tn";
  candidate.algorithm.id = 66;
  candidate.algorithm.tile = 23;
  candidate.algorithm.split_k = 4;
  candidate.algorithm.reduction = 2;
  candidate.algorithm.cluster = 3;
  CHECK(candidate.str() == "tn:id=66,tile=23,splitk=4,reduction=2,cluster=3");
  CHECK(candidate.algorithm.text() ==
        "algorithm 66, tile 128x256, cluster 2x1, split-k 4, reduction 2");
  candidate.algorithm.stages = 35, candidate.algorithm.swizzle = 1;
  candidate.algorithm.custom = 7, candidate.algorithm.inner = 4;

  cuda::lt::Candidate read;
  REQUIRE(cuda::lt::parse_candidate(candidate.str(), &read));
  CHECK(read.str() == candidate.str());
  CHECK(read.heuristic == -1);
  CHECK(read.algorithm.split_k == 4);
  read = {};
  REQUIRE(cuda::lt::parse_candidate("plain:heuristic=3", &read));
  CHECK(read.heuristic == 3);
  CHECK(read.str() == "plain:heuristic=3");
  read = {};
  REQUIRE(cuda::lt::parse_candidate("plain:id=0", &read));
  CHECK(read.algorithm.split_k == 1);
}

TEST_CASE("cublaslt: malformed ids are rejected") {
  for (const char* text :
       {"", "plain", "plain:", ":id=3", "plain:tile=3", "plain:id=", "plain:id=x", "plain:id=-1",
        "plain:id=3,", "plain:id=3,tile", "plain:id=3,tile=", "plain:id=3,tile=1,tile=2",
        "plain:id=3,stages=1,tile=2", "plain:id=3,color=2", "plain:id=99999999999",
        "plain:heuristic=", "plain:heuristic=-1", "plain:heuristic=3,id=2"}) {
    CAPTURE(text);
    cuda::lt::Candidate candidate;
    // A trailing comma is accepted, because it does not change the meaning.
    CHECK(cuda::lt::parse_candidate(text, &candidate) == (std::string(text) == "plain:id=3,"));
  }
}

TEST_CASE("cublaslt: tiles, stages and clusters have names") {
  CHECK(cuda::lt::tile_name(1) == "8x8");
  CHECK(cuda::lt::tile_name(20) == "128x128");
  CHECK(cuda::lt::tile_name(312) == "64x16");
  CHECK(cuda::lt::tile_name(645) == "256x1");
  CHECK(cuda::lt::tile_name(646) == "#646");
  CHECK(cuda::lt::tile_size(23).rows == 128);
  CHECK(cuda::lt::tile_size(23).columns == 256);
  CHECK(cuda::lt::tile_size(9999).rows == 0);
  CHECK(cuda::lt::tile_size(0).rows == 0);
  CHECK(cuda::lt::stages_name(36) == "128xauto");
  CHECK(cuda::lt::stages_name(29) == "#29");
  CHECK(cuda::lt::cluster_name(3) == "2x1");
  CHECK(cuda::lt::cluster_name(1) == "#1");
}

TEST_CASE("cublaslt: sums of split-k algorithms stay in 32 bits") {
  const auto allowed = [](const char* name) {
    return cuda::lt::allowed_reductions(precision_info(name));
  };
  for (const char* name : {"half", "bfloat16", "fp8_e4m3", "fp8_e5m2"})
    CHECK(allowed(name) == nvidia::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  for (const char* name : {"float", "tf32", "int8"})
    CHECK(allowed(name) == nvidia::CUBLASLT_REDUCTION_SCHEME_MASK);
}

TEST_CASE("cublaslt: arithmetic has the problem's precision") {
  CHECK(cuda::gemm_types(precision_info("float")).compute == nvidia::CUBLAS_COMPUTE_32F);
  CHECK(cuda::gemm_types(precision_info("tf32")).compute == nvidia::CUBLAS_COMPUTE_32F_FAST_TF32);
  CHECK(cuda::gemm_types(precision_info("half")).compute == nvidia::CUBLAS_COMPUTE_32F);
  CHECK(cuda::gemm_types(precision_info("half")).scale == nvidia::CUDA_R_32F);
  CHECK(cuda::gemm_types(precision_info("fp8_e5m2")).b == nvidia::CUDA_R_8F_E4M3);
  CHECK(cuda::gemm_types(precision_info("fp8_e5m2")).c == nvidia::CUDA_R_16BF);
  CHECK(cuda::gemm_types(precision_info("int8")).scale == nvidia::CUDA_R_32I);
}

TEST_CASE("gemm: alpha and beta are one in the type that the precision requires") {
  for (const PrecisionInfo& precision : kPrecisions) {
    CAPTURE(precision.name);
    const cuda::One one(cuda::gemm_types(precision).scale);
    if (precision.precision == Precision::kInt8)
      CHECK(one.integer == 1);
    else
      CHECK(one.real == 1);
  }
}

// The reason why a library refuses a problem of this precision, or an empty string.
template <class Question>
std::string refusal_message(const std::string& precision, Question question) {
  const GemmRequest request(gemm_text({64, 64, 64}, false, false, precision), "");
  const deepbench_problem raw = request.problem();
  try {
    question(plugin::Problem(raw), plugin::Options(request.named.get()));
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
    return error.what();
  }
  return "";
}

TEST_CASE("cublas: an unsupported problem has no plan") {
  for (const char* precision : {"fp8_e4m3", "fp8_e5m2"})
    CHECK(refusal_message(precision, [](const auto& problem, const auto& options) {
            cuda::cublas_gemm().plan(problem, options);
          }) == "cublasGemmEx does not support 8-bit floating-point types; use library cublaslt");
}

TEST_CASE("gemm: without NVRTC, a refusal names it as the reason") {
  const cuda::LibraryReport& nvrtc = cuda::report<nvidia::Nvrtc>();
  if (nvrtc.usable()) return;
  for (cuda::Implementation* library : {&cuda::cublas_gemm(), &cuda::cublaslt_gemm()})
    CHECK(refusal_message("half", [&](const auto& problem,
                                      const auto& options) { library->plan(problem, options); })
              .find("NVRTC to compile the built-in kernels that fill its operands: " +
                    nvrtc.reason) != std::string::npos);
}

TEST_CASE("gemm: 14-bit partial sums widen the error bounds slightly") {
  const Problem problem = Problem::parse("gemm m=16 n=16 k=4096 precision=fp8_e4m3");
  KernelConditions conditions;
  const ExpectedOutput in_32_bits = problem.operation().expected_output(problem, conditions);
  conditions.accumulator = "fp22";
  const ExpectedOutput in_14_bits = problem.operation().expected_output(problem, conditions);
  REQUIRE(in_14_bits.bounds.size() == 256);
  for (size_t i = 0; i < 256; ++i) {
    CHECK(in_14_bits.bounds[i] > in_32_bits.bounds[i]);
    const double little = 0.15 + 0.02 * std::abs(in_14_bits.values[i]);  // sums are about 20
    CHECK(in_14_bits.bounds[i] < in_32_bits.bounds[i] + little);
  }
}

TEST_CASE("cublaslt: an algorithm's settings are read back unchanged") {
  if (!cuda::report<nvidia::CublasLt>().usable()) return;
  nvidia::cublasLtMatmulAlgo_t algo{};
  const auto set = [&](nvidia::cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
    CHECK(cuda::cublaslt().cublasLtMatmulAlgoConfigSetAttribute(
              &algo, attribute, &value, sizeof value) == nvidia::CUBLAS_STATUS_SUCCESS);
  };
  set(nvidia::CUBLASLT_ALGO_CONFIG_TILE_ID, uint32_t{20});
  set(nvidia::CUBLASLT_ALGO_CONFIG_STAGES_ID, uint32_t{35});
  set(nvidia::CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{4});
  set(nvidia::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, uint32_t{2});
  set(nvidia::CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, uint32_t{1});
  set(nvidia::CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, uint32_t{5});
  set(nvidia::CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, uint16_t{3});
  set(nvidia::CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, uint16_t{6});
  CHECK(cuda::lt::settings_of(algo).str() ==
        "id=0,tile=20,stages=35,splitk=4,reduction=2,swizzle=1,custom=5,inner=3,cluster=6");
}

TEST_CASE("cublaslt: products can be described without a device") {
  const cuda::LibraryReport& library = cuda::report<nvidia::CublasLt>();
  if (!library.usable()) {
    MESSAGE("nothing tested: " << library.reason);
    return;
  }
  for (const PrecisionInfo& precision : kPrecisions)
    for (const int transposition : {0, 1, 2, 3}) {
      Gemm gemm = gemm_of({35, 701, 2049}, (transposition & 1) != 0, (transposition & 2) != 0,
                          std::string(precision.name));
      CAPTURE(precision.name);
      for (const GemmLayout& layout : gemm_layouts(gemm, plugin::Options(), false)) {
        const cuda::lt::Descriptors described(layout.executed);
        CHECK(described.operation);
        CHECK(described.a);
        CHECK(described.b);
        CHECK(described.c);
      }
    }
}

}  // namespace
}  // namespace deepbench::cuda_test
