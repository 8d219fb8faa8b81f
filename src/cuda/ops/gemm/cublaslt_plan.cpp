// Implements descriptors, heuristics and algorithms of cuBLASLt.
#include "ops/gemm/cublaslt_plan.hpp"

#include <algorithm>

#include "deepbench/backend/host_timer.hpp"
#include "deepbench/backend/per_device.hpp"
#include "device.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "status_check.hpp"

namespace deepbench::cuda::lt {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

template <class Value>
void set(const MatmulDesc& descriptor, cublasLtMatmulDescAttributes_t attribute, Value value) {
  CUDA_CHECK(
      cublaslt().cublasLtMatmulDescSetAttribute(descriptor.get(), attribute, &value, sizeof value));
}

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         Value value) {
  CUDA_CHECK(cublaslt().cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value,
                                                             sizeof value));
}

template <class Value>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
  CUDA_CHECK(
      cublaslt().cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value));
}

// Whether this status means that the library does not support what is described.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

// An older library does not know the modes, or knows them but finds no algorithm.
void set_scale_mode(const MatmulDesc& descriptor, cublasLtMatmulDescAttributes_t attribute,
                    cublasLtMatmulMatrixScale_t mode) {
  const auto value = int32_t(mode);
  const cublasStatus_t status =
      cublaslt().cublasLtMatmulDescSetAttribute(descriptor.get(), attribute, &value, sizeof value);
  if (is_refusal(status))
    plugin::unsupported("scaling=block128: cuBLASLt " + version() +
                        " has no scales of blocks; it needs 12.9");
  CUDA_CHECK_STATUS(cublasLtMatmulDescSetAttribute, status);
}

// Describes `batch` matrices that are stored without gaps.
MatrixLayout make_matrix_layout(cudaDataType type, int64_t rows, int64_t columns, int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  const cublasStatus_t status =
      cublaslt().cublasLtMatrixLayoutCreate(&made, type, uint64_t(rows), uint64_t(columns), rows);
  if (is_refusal(status))
    plugin::unsupported("cuBLASLt does not support a matrix of " + std::to_string(rows) + " x " +
                        std::to_string(columns));
  CUDA_CHECK_STATUS(cublasLtMatrixLayoutCreate, status);
  MatrixLayout layout(made);
  if (batch > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(batch));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, rows * columns);
  }
  return layout;
}

Preference preference_for(const Query& query) {
  cublasLtMatmulPreference_t made = nullptr;
  CUDA_CHECK(cublaslt().cublasLtMatmulPreferenceCreate(&made));
  Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, query.workspace_bytes);
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      allowed_reductions(query.layout.executed.precision));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, query.alignment.a);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, query.alignment.b);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, query.alignment.c);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, query.alignment.c);
  return preference;
}

std::vector<Result> query_library(const Query& query, int max_results) {
  const Descriptors described(query.layout.executed);
  const Preference preference = preference_for(query);
  std::vector<Result> results(static_cast<size_t>(max_results));
  int returned = 0;
  const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
      handle(query.device), described.operation.get(), described.a.get(), described.b.get(),
      described.c.get(), described.c.get(), preference.get(), max_results, results.data(),
      &returned);
  if (is_refusal(status)) return {};
  CUDA_CHECK_STATUS(cublasLtMatmulAlgoGetHeuristic, status);
  results.resize(static_cast<size_t>(returned));
  const auto unusable = [&](const Result& result) {
    return result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > query.workspace_bytes;
  };
  results.erase(std::remove_if(results.begin(), results.end(), unusable), results.end());
  return results;
}

cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::kRelu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Epilogue::kGelu:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::kNone:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

template <class Value>
uint32_t get_setting(const cublasLtMatmulAlgo_t& algo,
                     cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value = 0;
  size_t written = 0;
  const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoConfigGetAttribute(
      &algo, attribute, &value, sizeof value, &written);
  // Older libraries lack some attributes.
  return status == CUBLAS_STATUS_SUCCESS ? uint32_t(value) : 0;
}

// Skips attributes that already have the requested value, because older libraries cannot set all
// attributes.
template <class Value>
bool set_setting(cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                 uint32_t requested) {
  const auto value = static_cast<Value>(requested);
  if (get_setting<Value>(algo, attribute) == uint32_t(value) && uint32_t(value) == requested)
    return true;
  return uint32_t(value) == requested &&
         cublaslt().cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof value) ==
             CUBLAS_STATUS_SUCCESS;
}

std::string transposition(const Gemm& gemm) {
  return std::string(gemm.trans_a ? "t" : "n") + (gemm.trans_b ? "t" : "n");
}

[[noreturn]] void refuse(const Gemm& gemm, const plugin::Options& options) {
  std::string reason = "cuBLASLt " + version() + " has no algorithm for " +
                       std::string(gemm.precision.name) + " " + transposition(gemm) +
                       (gemm.scales_blocks ? " with scaling=block128" : "") +
                       " of these dimensions on this device";
  if (!options.pad) reason += " without padding";
  plugin::unsupported(reason);
}

Plan plan_of(const Query& query, const Result& result, const Candidate& candidate) {
  Plan plan;
  plan.layout = query.layout;
  plan.candidate = candidate;
  plan.algo = result.algo;
  plan.algorithm = settings_of(result.algo);
  plan.workspace_bytes = result.workspaceSize;
  return plan;
}

// A query for one result may return an algorithm that differs from the first result of a query for
// many. Candidate 0 denotes the former; the positions of the list count from 1.
std::optional<Plan> plan_heuristic(const Query& query, const Candidate& candidate,
                                   Heuristics& heuristics) {
  const bool is_default = candidate.heuristic == 0;
  const HeuristicsResult& answer = heuristics.query(query, is_default ? kOneResult : kManyResults);
  const auto index = static_cast<size_t>(is_default ? 0 : candidate.heuristic - 1);
  if (index >= answer.results.size()) return {};
  Plan plan = plan_of(query, answer.results[index], candidate);
  plan.planning_ns = answer.query_ns;
  return plan;
}

std::optional<Plan> plan_algorithm(const Query& query, const Candidate& candidate) {
  const plugin::HostTimer timer;
  const auto result =
      check_algorithm(candidate.algorithm, query, Descriptors(query.layout.executed));
  if (!result) return {};
  Plan plan = plan_of(query, *result, candidate);
  plan.planning_ns = timer.elapsed_ns();
  return plan;
}

}  // namespace

// In-place reductions and reductions in the output's type round partial sums to the output's type.
uint32_t allowed_reductions(const PrecisionInfo& precision) {
  return size_of(precision.c) == 4 ? CUBLASLT_REDUCTION_SCHEME_MASK
                                   : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

Descriptors::Descriptors(const Gemm& run) {
  const GemmTypes types = gemm_types(run.precision);
  cublasLtMatmulDesc_t made = nullptr;
  CUDA_CHECK(cublaslt().cublasLtMatmulDescCreate(&made, types.compute, types.scale));
  operation.reset(made);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, int32_t(run.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, int32_t(run.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  if (run.has_epilogue())
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(library_epilogue(run.epilogue)));
  if (types.c == CUDA_R_16BF && size_of(run.precision.a) == 1)
    set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{0});
  if (run.scales_blocks) {
    set_scale_mode(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                   CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
    set_scale_mode(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                   CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
    // A query of the heuristics does not read the scales, but may require pointers to them.
    alignas(256) static const float any = 1;
    set_scales(&any, &any);
  }
  a = make_matrix_layout(types.a, run.rows_a(), run.columns_a(), run.batch);
  b = make_matrix_layout(types.b, run.rows_b(), run.columns_b(), run.batch);
  c = make_matrix_layout(types.c, run.m, run.n, run.batch);
}

void Descriptors::set_bias(const void* bias) const {
  set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
}

void Descriptors::set_scales(const void* of_a, const void* of_b) const {
  set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_a);
  set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_b);
}

cublasLtHandle_t handle(int device) {
  return plugin::get_or_create_per_device(Stream::of(device), [] {
    cublasLtHandle_t made = nullptr;
    CUDA_CHECK(cublaslt().cublasLtCreate(&made));
    return made;
  });
}

std::string version() { return report<CublasLt>().version; }

const HeuristicsResult& Heuristics::query(const Query& query, int results) {
  const auto [answer, is_new] = answers_.try_emplace({query.layout.name, results});
  if (!is_new) return answer->second;
  handle(query.device);  // creates the handle outside the planning time
  const plugin::HostTimer timer;
  answer->second.results = query_library(query, results);
  answer->second.query_ns = timer.elapsed_ns();
  return answer->second;
}

Algorithm settings_of(const cublasLtMatmulAlgo_t& algo) {
  Algorithm algorithm;
  algorithm.id = get_setting<int32_t>(algo, CUBLASLT_ALGO_CONFIG_ID);
  algorithm.tile = get_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_TILE_ID);
  algorithm.stages = get_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  algorithm.split_k = get_setting<int32_t>(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  algorithm.reduction = get_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  algorithm.swizzle = get_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  algorithm.custom = get_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  algorithm.inner = get_setting<uint16_t>(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  algorithm.cluster = get_setting<uint16_t>(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  return algorithm;
}

std::optional<cublasLtMatmulAlgo_t> configure_algorithm(const Algorithm& algorithm,
                                                        const PrecisionInfo& precision,
                                                        int device) {
  const GemmTypes t = gemm_types(precision);
  cublasLtMatmulAlgo_t algo{};
  if (cublaslt().cublasLtMatmulAlgoInit(handle(device), t.compute, t.scale, t.a, t.b, t.c, t.c,
                                        int(algorithm.id), &algo) != CUBLAS_STATUS_SUCCESS)
    return {};
  const bool done =
      set_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, algorithm.tile) &&
      set_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, algorithm.stages) &&
      set_setting<int32_t>(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, algorithm.split_k) &&
      set_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, algorithm.reduction) &&
      set_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, algorithm.swizzle) &&
      set_setting<uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, algorithm.custom) &&
      set_setting<uint16_t>(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, algorithm.inner) &&
      set_setting<uint16_t>(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, algorithm.cluster);
  return done ? std::optional<cublasLtMatmulAlgo_t>(algo) : std::nullopt;
}

std::optional<Result> check_algorithm(const Algorithm& algorithm, const Query& query,
                                      const Descriptors& descriptors) {
  const PrecisionInfo& precision = query.layout.executed.precision;
  if (algorithm.reduction & ~allowed_reductions(precision)) return {};
  const auto algo = configure_algorithm(algorithm, precision, query.device);
  if (!algo) return {};
  Result result{};
  const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoCheck(
      handle(query.device), descriptors.operation.get(), descriptors.a.get(), descriptors.b.get(),
      descriptors.c.get(), descriptors.c.get(), &*algo, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > query.workspace_bytes) return {};
  result.algo = *algo;  // cublasLtMatmulAlgoCheck does not set it
  return result;
}

std::optional<Plan> plan_first_choice(const Query& query, Heuristics& heuristics) {
  Candidate candidate;
  candidate.layout = query.layout.name, candidate.heuristic = 0;
  return plan_heuristic(query, candidate, heuristics);
}

Plan plan_gemm(const Gemm& gemm, const plugin::Options& options, const std::string& id,
               Heuristics& heuristics) {
  if (gemm.scales_blocks && device_facts(options.device).major != 9)
    plugin::unsupported(
        "scaling=block128: cuBLASLt scales blocks of 128 elements only on devices of compute "
        "capability 9.0");
  require_gemm_on_device(gemm, options.device);
  const uint64_t workspace = uint64_t(std::max<int64_t>(0, options.workspace));
  Candidate candidate;
  candidate.heuristic = 0;
  const bool named = !id.empty();
  if (named) {
    candidate = {};
    if (!parse_candidate(id, &candidate)) reject_candidate("cublaslt", id);
  }
  for (const GemmLayout& layout : plugin::gemm_layouts(gemm, options, /*in_place=*/false)) {
    if (named && layout.name != candidate.layout) continue;
    candidate.layout = layout.name;
    const Query query{layout, options.device, workspace};
    auto plan = candidate.heuristic >= 0 ? plan_heuristic(query, candidate, heuristics)
                                         : plan_algorithm(query, candidate);
    if (plan) return std::move(*plan);
  }
  if (named) reject_candidate("cublaslt", id);
  refuse(gemm, options);
}

}  // namespace deepbench::cuda::lt
