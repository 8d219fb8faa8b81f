// A matrix product as cuBLASLt plans it: descriptors, what the library's heuristics answer, and the
// algorithm that a candidate's id stands for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "libraries.hpp"
#include "ops/gemm/cublaslt_algorithm.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "ops/gemm/layout.hpp"
#include "ops/gemm/types.hpp"

namespace deepbench::cuda::lt {

struct Destroy {
  void operator()(nvidia::cublasLtMatmulDesc_t object) const {
    cublaslt().cublasLtMatmulDescDestroy(object);
  }
  void operator()(nvidia::cublasLtMatrixLayout_t object) const {
    cublaslt().cublasLtMatrixLayoutDestroy(object);
  }
  void operator()(nvidia::cublasLtMatmulPreference_t object) const {
    cublaslt().cublasLtMatmulPreferenceDestroy(object);
  }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;
using MatmulDesc = Owned<nvidia::cublasLtMatmulDesc_t>;
using MatrixLayout = Owned<nvidia::cublasLtMatrixLayout_t>;
using Preference = Owned<nvidia::cublasLtMatmulPreference_t>;

// Reduction schemes of split-k that keep sums in 32 bits.
uint32_t allowed_reductions(const PrecisionInfo& precision);

// What is multiplied, without the algorithm.
struct Descriptors {
  explicit Descriptors(const Gemm& run);
  MatmulDesc operation;
  MatrixLayout a, b, c;
};

using Result = nvidia::cublasLtMatmulHeuristicResult_t;

// What the library's heuristics answer for a layout on a device, best first.
struct HeuristicsResult {
  std::vector<Result> results;
  double query_ns = 0;  // descriptors and query
};

// What is asked for: all that the library's choice depends on.
struct Query {
  const GemmLayout& layout;
  int device;
  uint64_t workspace_bytes;  // the limit
};

constexpr int kOneResult = 1, kManyResults = 32;  // results asked for

// Answers are kept: planning, checking and preparing ask the same.
std::shared_ptr<const HeuristicsResult> query_heuristics(const Query& query, int results);

// The settings of a configured algorithm.
Algorithm settings_of(const nvidia::cublasLtMatmulAlgo_t& algo);

// The algorithm with its settings; nothing if the library does not know it for these types.
std::optional<nvidia::cublasLtMatmulAlgo_t> configure_algorithm(const Algorithm& algorithm,
                                                                const PrecisionInfo& precision,
                                                                int device);

// As above, if it can run what is described within the workspace and with the reductions allowed.
std::optional<Result> check_algorithm(const Algorithm& algorithm, const Query& query,
                                      const Descriptors& descriptors);

nvidia::cublasLtHandle_t handle(int device);  // one for each device, made on first use
std::string version();

struct Plan {
  GemmLayout layout;
  Candidate candidate;
  Algorithm algorithm;
  nvidia::cublasLtMatmulAlgo_t algo{};
  uint64_t workspace_bytes = 0;  // that the algorithm needs
  double planning_ns = 0;
};

// Throws plugin::Error: unsupported with the reason, or invalid for an unknown candidate.
Plan plan_gemm(const Gemm& gemm, const plugin::Options& options);

// The planned product of these operands.
std::unique_ptr<GemmCall> make_call(Plan plan, const GemmOperands& operands, Stream& stream);

// Ids that plan_gemm takes for this problem, the library's default first, then by promise.
std::vector<std::string> gemm_candidates(const Gemm& gemm, const plugin::Options& options);

}  // namespace deepbench::cuda::lt
