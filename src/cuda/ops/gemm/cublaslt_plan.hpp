// The plan of a matrix product in cuBLASLt: descriptors, the results of the library's heuristics,
// and the algorithm that a candidate's id denotes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libraries.hpp"
#include "ops/gemm/cublaslt_algorithm.hpp"
#include "ops/gemm/gemm_call.hpp"
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

// The split-k reduction schemes that keep partial sums in 32 bits.
uint32_t allowed_reductions(const PrecisionInfo& precision);

// The descriptors of a product, which do not depend on the algorithm.
struct Descriptors {
  explicit Descriptors(const Gemm& run);
  void set_bias(const void* bias) const;
  // Sets the addresses of the scales of blocks in the device's memory.
  void set_scales(const void* of_a, const void* of_b) const;
  MatmulDesc operation;
  MatrixLayout a, b, c;
};

using Result = nvidia::cublasLtMatmulHeuristicResult_t;

// The results of the library's heuristics for a layout on a device, best first.
struct HeuristicsResult {
  std::vector<Result> results;
  double query_ns = 0;  // includes the creation of descriptors
};

// The powers of two of which the addresses of the operands are multiples, in bytes.
struct Alignment {
  uint32_t a = 256, b = 256, c = 256;  // the library's assumption; D is aligned like C
};

// The input of a heuristics query: everything that the library's choice depends on.
struct Query {
  const GemmLayout& layout;
  int device;
  uint64_t workspace_bytes;  // upper limit
  Alignment alignment{};
};

constexpr int kOneResult = 1, kManyResults = 32;  // requested numbers of results

// The answers of the library's heuristics about one product on one device, which all plans of the
// product share: each query is sent once.
class Heuristics {
 public:
  const HeuristicsResult& query(const Query& query, int results);

 private:
  std::map<std::pair<std::string, int>, HeuristicsResult> answers_;  // by layout and `results`
};

// The settings of a configured algorithm.
Algorithm settings_of(const nvidia::cublasLtMatmulAlgo_t& algo);

// The algorithm with its settings, or nothing if the library does not know it for these types.
std::optional<nvidia::cublasLtMatmulAlgo_t> configure_algorithm(const Algorithm& algorithm,
                                                                const PrecisionInfo& precision,
                                                                int device);

// Like configure_algorithm(), but only if the algorithm supports the described product within the
// workspace limit and with the allowed reductions.
std::optional<Result> check_algorithm(const Algorithm& algorithm, const Query& query,
                                      const Descriptors& descriptors);

nvidia::cublasLtHandle_t handle(int device);  // one for each device, created on first use
std::string version();

struct Plan {
  GemmLayout layout;
  Candidate candidate;
  Algorithm algorithm;
  nvidia::cublasLtMatmulAlgo_t algo{};
  uint64_t workspace_bytes = 0;  // required by the algorithm
  double planning_ns = 0;
};

// Plans the candidate, or the library's first choice if it is "". Throws plugin::Error: unsupported
// with the reason, or invalid for an unknown candidate.
Plan plan_gemm(const Gemm& gemm, const plugin::Options& options, const std::string& candidate,
               Heuristics& heuristics);

// The library's first choice for a layout, or nothing if it has none.
std::optional<Plan> plan_first_choice(const Query& query, Heuristics& heuristics);

// Creates the call of a planned product on these operands.
std::unique_ptr<GemmCall> make_call(Plan plan, const GemmOperands& operands, Stream& stream);

// The ids that plan_gemm accepts for this problem: the library's default first, then the most
// promising; at most `limit` (0: all).
std::vector<std::string> gemm_candidates(const Gemm& gemm, const plugin::Options& options,
                                         int64_t limit, Heuristics& heuristics);

}  // namespace deepbench::cuda::lt
