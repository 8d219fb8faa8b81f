// Describes attention to cuDNN, whose engines recognize the operations in this form alone, and
// builds the plan of an engine.
#include "ops/attention/cudnn_graph.hpp"

#include <algorithm>
#include <limits>

#include "cudnn/handle.hpp"
#include "deepbench/plugin.hpp"
#include "ops/conv/cudnn_graph.hpp"
#include "ops/conv/engine.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr int64_t kAlignment = 16;  // of every operand in bytes; allocations have a stricter one
constexpr int64_t kQ = 'q', kK = 'k', kV = 'v', kO = 'o', kStatistics = 's';
constexpr int64_t kFirstValue = 1000, kFirstVirtual = 2000;  // ids of tensors
constexpr int64_t kQueryAxis = 2, kKeyAxis = 3;
constexpr size_t kMaxConfigs = 64, kMaxKnobs = 64;

dnn::Engine engine_of(const CudnnDescriptor& config) {
  dnn::Engine engine;
  const auto engines =
      config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engines.empty()) return engine;
  engine.index = engines[0].number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  for (const CudnnDescriptor& knob : config.descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMaxKnobs)) {
    const auto types = knob.get_all<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1);
    if (!types.empty())
      engine.knobs.emplace_back(types[0], knob.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return engine;
}

}  // namespace

// ---- operations ---------------------------------------------------------------------------------

AttentionOperations::AttentionOperations(const Attention& attention) : attention_(attention) {
  const Attention& a = attention_;
  const cudnnDataType_t type = dnn::data_type(a.type());
  const auto rows = [](int64_t heads, int64_t length, int64_t dim) {
    return Sizes{heads * length * dim, length * dim, dim, 1};
  };
  Tensor q = add_operand(kQ, {a.batch, a.heads, a.seq_q, a.dim}, rows(a.heads, a.seq_q, a.dim));
  Tensor k_transposed = add_operand(kK, {a.batch, a.kv_heads, a.dim, a.seq_kv},
                                    {a.kv_heads * a.seq_kv * a.dim, a.seq_kv * a.dim, 1, a.dim});
  Tensor v = add_operand(kV, {a.batch, a.kv_heads, a.seq_kv, a.dim_v},
                         rows(a.kv_heads, a.seq_kv, a.dim_v));
  Tensor o = add_operand(kO, {a.batch, a.heads, a.seq_q, a.dim_v}, rows(a.heads, a.seq_q, a.dim_v));

  Tensor products = add_virtual(CUDNN_DATA_FLOAT, a.seq_kv);
  add_product(q, k_transposed, products);
  const CudnnDescriptor* scores =
      &add_pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                     {&products, &add_value(float(a.scale()))});
  if (a.mask != AttentionMask::kNone) scores = &add_upper_mask(*scores);
  if (a.window > 0) scores = &add_window_mask(*scores);

  Tensor largest = add_reduction(CUDNN_REDUCE_TENSOR_MAX, *scores);
  Tensor distances =
      add_pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, {scores, &largest});
  Tensor powers =
      add_pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, {&distances});
  Tensor sum = add_reduction(CUDNN_REDUCE_TENSOR_ADD, powers);
  add_statistics(largest, sum);
  Tensor weights = add_pointwise(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, type, {&powers, &sum});
  add_product(weights, v, o);
}

AttentionOperations::Tensor AttentionOperations::add_tensor(int64_t id, cudnnDataType_t type,
                                                            const Sizes& sizes,
                                                            const Sizes& strides, bool is_virtual,
                                                            bool is_by_value) {
  tensors_.push_back(std::make_unique<CudnnDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  CudnnDescriptor& made = *tensors_.back();
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, is_by_value);
  made.finalize();
  return made;
}

AttentionOperations::Tensor AttentionOperations::add_operand(int64_t id, const Sizes& sizes,
                                                             const Sizes& strides) {
  return add_tensor(id, dnn::data_type(attention_.type()), sizes, strides, false, false);
}

// Lies in registers of the fused kernel: the scores, or one number for each query.
AttentionOperations::Tensor AttentionOperations::add_virtual(cudnnDataType_t type,
                                                             int64_t last_size) {
  const Attention& a = attention_;
  return add_tensor(
      kFirstVirtual + int64_t(tensors_.size()), type, {a.batch, a.heads, a.seq_q, last_size},
      {a.heads * a.seq_q * last_size, a.seq_q * last_size, last_size, 1}, true, false);
}

AttentionOperations::Tensor AttentionOperations::add_value(float value) {
  const int64_t id = kFirstValue + int64_t(values_.size());
  values_.push_back(std::make_unique<Input>());
  values_.back()->id = id, values_.back()->real = value;
  return add_tensor(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

AttentionOperations::Tensor AttentionOperations::add_value(int32_t value) {
  const int64_t id = kFirstValue + int64_t(values_.size());
  values_.push_back(std::make_unique<Input>());
  values_.back()->id = id, values_.back()->integer = value;
  return add_tensor(id, CUDNN_DATA_INT32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

void AttentionOperations::add_product(Tensor a, Tensor b, Tensor c) {
  CudnnDescriptor product(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  product.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

AttentionOperations::Tensor AttentionOperations::add_pointwise(
    cudnnPointwiseMode_t mode, cudnnDataType_t arithmetic, cudnnDataType_t result,
    const std::vector<const CudnnDescriptor*>& in, int64_t axis) {
  Tensor y = add_virtual(result, attention_.seq_kv);
  add_pointwise_into(y, mode, arithmetic, in, axis);
  return y;
}

void AttentionOperations::add_pointwise_into(Tensor y, cudnnPointwiseMode_t mode,
                                             cudnnDataType_t arithmetic,
                                             const std::vector<const CudnnDescriptor*>& in,
                                             int64_t axis) {
  CudnnDescriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  pointwise.set(CUDNN_ATTR_POINTWISE_MATH_PREC, arithmetic);
  if (axis >= 0) pointwise.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  pointwise.finalize();
  constexpr cudnnBackendAttributeName_t kInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                     CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                     CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
  for (size_t i = 0; i < in.size(); ++i) operation.set(kInputs[i], *in[i]);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void AttentionOperations::add_statistics(Tensor largest, Tensor sum) {
  const Attention& a = attention_;
  Tensor logarithm = add_virtual(CUDNN_DATA_FLOAT, 1);
  add_pointwise_into(logarithm, CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, {&sum});
  Tensor statistics = add_tensor(kStatistics, CUDNN_DATA_FLOAT, {a.batch, a.heads, a.seq_q, 1},
                                 {a.heads * a.seq_q, a.seq_q, 1, 1}, false, false);
  add_pointwise_into(statistics, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, {&largest, &logarithm});
}

AttentionOperations::Tensor AttentionOperations::add_reduction(cudnnReduceTensorOp_t mode,
                                                               Tensor x) {
  CudnnDescriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, mode);
  reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  reduction.finalize();
  Tensor y = add_virtual(CUDNN_DATA_FLOAT, 1);
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  operation.finalize();
  operations_.push_back(std::move(operation));
  return y;
}

AttentionOperations::Tensor AttentionOperations::add_index(Tensor scores, int64_t axis) {
  return add_pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, CUDNN_DATA_INT32, {&scores},
                       axis);
}

// Keys after a query's own are not seen.
AttentionOperations::Tensor AttentionOperations::add_upper_mask(Tensor scores) {
  const CudnnDescriptor* own = &add_index(scores, kQueryAxis);
  Tensor key = add_index(scores, kKeyAxis);
  if (attention_.mask == AttentionMask::kBottomRight) {
    own = &add_pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_INT32, CUDNN_DATA_INT32,
                         {own, &add_value(int32_t(attention_.seq_kv))});
    own = &add_pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_INT32, CUDNN_DATA_INT32,
                         {own, &add_value(int32_t(attention_.seq_q))});
  }
  return add_selection(scores, add_pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN,
                                             CUDNN_DATA_BOOLEAN, {own, &key}));
}

// Keys from a window's length before a query's own on are seen.
AttentionOperations::Tensor AttentionOperations::add_window_mask(Tensor scores) {
  const Attention& a = attention_;
  const int64_t diagonal = a.mask == AttentionMask::kBottomRight ? a.seq_kv - a.seq_q : 0;
  Tensor query = add_index(scores, kQueryAxis);
  Tensor key = add_index(scores, kKeyAxis);
  Tensor last = add_pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                              {&key, &add_value(float(a.window - diagonal))});
  return add_selection(scores, add_pointwise(CUDNN_POINTWISE_CMP_GT, CUDNN_DATA_BOOLEAN,
                                             CUDNN_DATA_BOOLEAN, {&last, &query}));
}

AttentionOperations::Tensor AttentionOperations::add_selection(Tensor scores, Tensor is_seen) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return add_pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                       {&scores, &add_value(kLowest), &is_seen});
}

CudnnDescriptor AttentionOperations::make_variant_pack(const Pointers& to) const {
  std::vector<int64_t> ids = {kQ, kK, kV, kO, kStatistics};
  std::vector<void*> pointers = {to.q, to.k, to.v, to.o, to.statistics};
  for (const std::unique_ptr<Input>& value : values_) {
    ids.push_back(value->id);
    pointers.push_back(&value->real);
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{to.workspace});
  pack.finalize();
  return pack;
}

// ---- engines ------------------------------------------------------------------------------------

AttentionExecution::AttentionExecution(const Attention& attention, const std::string& engine,
                                       const Stream& stream)
    : operations_(attention), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const cudnnHandle_t handle = cudnn_handle(stream);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_.descriptors());
  graph_.finalize();
  query_configs();
  for (const CudnnDescriptor& config : configs_)
    if ((engine.empty() || engine_of(config).text() == engine) && try_build(config, handle)) return;
  plugin::unsupported("cuDNN has no fused attention engine for this problem on this device" +
                      (refusal_.empty() ? "" : ": " + refusal_));
}

void AttentionExecution::query_configs() {
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    CudnnDescriptor query(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    query.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    query.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (const cudnnStatus_t status = query.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      refusal_ = cudnn_reason(status);
      continue;
    }
    for (CudnnDescriptor& config : query.descriptors(
             CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxConfigs))
      configs_.push_back(std::move(config));
  }
}

bool AttentionExecution::try_build(const CudnnDescriptor& config, cudnnHandle_t handle) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (const cudnnStatus_t status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    refusal_ = cudnn_reason(status);
    return false;
  }
  workspace_bytes_ =
      uint64_t(std::max<int64_t>(0, plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
  plan_ = std::move(plan);
  engine_ = engine_of(config).text();
  return true;
}

std::vector<std::string> AttentionExecution::engines() const {
  std::vector<std::string> names;
  for (const CudnnDescriptor& config : configs_) {
    const std::string name = engine_of(config).text();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

cudnnStatus_t AttentionExecution::execute(cudnnHandle_t handle, const CudnnDescriptor& pack) const {
  return cudnn().cudnnBackendExecute(handle, plan_.get(), pack.get());
}

}  // namespace deepbench::cuda
