// Describes attention and its gradients to cuDNN, whose engines recognize the operations only in
// this form.
#include "ops/attention/cudnn_graph.hpp"

#include <limits>
#include <utility>

#include "cudnn/data_type.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/graph_tensor.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

// The ids of tensors.
constexpr int64_t kQ = 1, kK = 2, kV = 3, kO = 4, kStatistics = 5;
constexpr int64_t kDo = 6, kDq = 7, kDk = 8, kDv = 9, kRowSums = 10, kQuerySums = 11;
constexpr int64_t kFirstValue = 1000, kFirstVirtual = 2000;
constexpr int64_t kQueryAxis = 2, kKeyAxis = 3;

}  // namespace

AttentionOperations::AttentionOperations(const Attention& attention, Statistics statistics)
    : attention_(attention) {
  if (attention.is_backward)
    describe_gradients();
  else
    describe_output(statistics);
}

void AttentionOperations::describe_output(Statistics statistics) {
  const Attention& a = attention_;
  Tensor q = add_operand(kQ, of_queries(a.dim));
  Tensor k_transposed = add_operand(kK, transposed(of_keys(a.dim)));
  Tensor v = add_operand(kV, of_keys(a.dim_v));
  Tensor o = add_operand(kO, of_queries(a.dim_v));

  Tensor scores = add_masks(add_arithmetic(
      CUDNN_POINTWISE_MUL, {&add_scores(q, k_transposed), &add_value(float(a.scale()))}));
  Tensor largest = add_reduction(CUDNN_REDUCE_TENSOR_MAX, scores);
  Tensor distances = add_arithmetic(CUDNN_POINTWISE_SUB, {&scores, &largest});
  Tensor powers = add_arithmetic(CUDNN_POINTWISE_EXP, {&distances});
  Tensor sum = add_reduction(CUDNN_REDUCE_TENSOR_ADD, powers);
  // The library recognizes the operations only with the statistics, of which nothing need be
  // stored.
  add_statistics(largest, sum,
                 statistics == Statistics::kStored ? add_stored(kStatistics, of_queries(1))
                                                   : add_virtual(CUDNN_DATA_FLOAT, of_queries(1)));
  Tensor weights = add_pointwise(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, dnn::data_type(a.type()),
                                 {&powers, &sum});
  add_product(weights, v, o);
}

// The weights P are powers of the scores less the statistics; D is the sum of the elements of dO O
// of each query.
void AttentionOperations::describe_gradients() {
  const Attention& a = attention_;
  Tensor q = add_operand(kQ, of_queries(a.dim));
  Tensor k_transposed = add_operand(kK, transposed(of_keys(a.dim)));
  Tensor v_transposed = add_operand(kV, transposed(of_keys(a.dim_v)));
  Tensor o = add_operand(kO, of_queries(a.dim_v));
  Tensor d_o = add_operand(kDo, of_queries(a.dim_v));
  Tensor statistics = add_stored(kStatistics, of_queries(1));
  Tensor scale = add_value(float(a.scale()));

  Tensor terms = add_virtual(CUDNN_DATA_FLOAT, of_queries(a.dim_v));
  add_pointwise_into(terms, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, {&d_o, &o});
  Tensor row_sums = add_stored(kRowSums, of_queries(1));
  add_pointwise_into(row_sums, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT,
                     {&add_reduction(CUDNN_REDUCE_TENSOR_ADD, terms), &add_value(1.0f)});

  Tensor scores = add_arithmetic(CUDNN_POINTWISE_MUL, {&add_scores(q, k_transposed), &scale});
  Tensor distances = add_masks(add_arithmetic(CUDNN_POINTWISE_SUB, {&scores, &statistics}));
  Tensor weights = add_arithmetic(CUDNN_POINTWISE_EXP, {&distances});
  add_key_gradient(weights, d_o, kDv, a.dim_v);

  Tensor differences =
      add_arithmetic(CUDNN_POINTWISE_SUB, {&add_scores(d_o, v_transposed), &row_sums});
  Tensor weighted = add_arithmetic(CUDNN_POINTWISE_MUL, {&differences, &weights});
  Tensor ds = add_arithmetic(CUDNN_POINTWISE_MUL, {&weighted, &scale});
  add_key_gradient(ds, q, kDk, a.dim);
  add_query_gradient(ds, k_transposed);
}

// Describes dK or dV: a sum over the queries of each head, then over the heads that share a key
// head.
void AttentionOperations::add_key_gradient(Tensor pairs, Tensor factor, int64_t id, int64_t dim) {
  const Attention& a = attention_;
  const cudnnDataType_t type = dnn::data_type(a.type());
  Tensor pairs_transposed = add_virtual(type, transposed(of_queries(a.seq_kv)));
  add_reshape(pairs, pairs_transposed);
  Tensor gradient = add_operand(id, of_keys(dim));
  if (a.group() == 1) return add_product(pairs_transposed, factor, gradient);
  Tensor of_heads = add_virtual(type, rows(a.heads, a.seq_kv, dim));
  add_product(pairs_transposed, factor, of_heads);
  add_reduction_into(gradient, CUDNN_REDUCE_TENSOR_ADD, of_heads);
}

void AttentionOperations::add_query_gradient(Tensor ds, Tensor k_transposed) {
  const Attention& a = attention_;
  Tensor k = add_virtual(CUDNN_DATA_FLOAT, of_keys(a.dim));
  add_reshape(k_transposed, k);
  Tensor query_sums = add_stored(kQuerySums, of_queries(a.dim));
  add_product(ds, k, query_sums);
  add_pointwise_into(add_operand(kDq, of_queries(a.dim)), CUDNN_POINTWISE_IDENTITY,
                     CUDNN_DATA_FLOAT, {&query_sums});
}

// ---- tensors ------------------------------------------------------------------------------------

AttentionOperations::Layout AttentionOperations::rows(int64_t heads, int64_t length,
                                                      int64_t dim) const {
  return {{attention_.batch, heads, length, dim}, {heads * length * dim, length * dim, dim, 1}};
}
AttentionOperations::Layout AttentionOperations::of_queries(int64_t dim) const {
  return rows(attention_.heads, attention_.seq_q, dim);
}
AttentionOperations::Layout AttentionOperations::of_keys(int64_t dim) const {
  return rows(attention_.kv_heads, attention_.seq_kv, dim);
}
AttentionOperations::Layout AttentionOperations::transposed(Layout layout) {
  std::swap(layout.sizes[2], layout.sizes[3]);
  std::swap(layout.strides[2], layout.strides[3]);
  return layout;
}

AttentionOperations::Tensor AttentionOperations::add_tensor(int64_t id, cudnnDataType_t type,
                                                            const Layout& layout, bool is_virtual,
                                                            bool is_by_value) {
  tensors_.push_back(std::make_unique<CudnnDescriptor>(
      GraphTensor{id, type, layout.sizes, layout.strides, is_virtual, is_by_value}.describe()));
  return *tensors_.back();
}

AttentionOperations::Tensor AttentionOperations::add_operand(int64_t id, const Layout& layout) {
  return add_tensor(id, dnn::data_type(attention_.type()), layout, false, false);
}

// Adds a tensor in memory, in float.
AttentionOperations::Tensor AttentionOperations::add_stored(int64_t id, const Layout& layout) {
  return add_tensor(id, CUDNN_DATA_FLOAT, layout, false, false);
}

// Adds a tensor in registers of the fused kernel.
AttentionOperations::Tensor AttentionOperations::add_virtual(cudnnDataType_t type,
                                                             const Layout& layout) {
  return add_tensor(kFirstVirtual + int64_t(tensors_.size()), type, layout, true, false);
}

AttentionOperations::Tensor AttentionOperations::add_value(float value) {
  const int64_t id = kFirstValue + int64_t(values_.size());
  values_.push_back(std::make_unique<Input>());
  values_.back()->id = id, values_.back()->real = value;
  return add_tensor(id, CUDNN_DATA_FLOAT, {{1, 1, 1, 1}, {1, 1, 1, 1}}, false, true);
}

AttentionOperations::Tensor AttentionOperations::add_value(int32_t value) {
  const int64_t id = kFirstValue + int64_t(values_.size());
  values_.push_back(std::make_unique<Input>());
  values_.back()->id = id, values_.back()->integer = value;
  return add_tensor(id, CUDNN_DATA_INT32, {{1, 1, 1, 1}, {1, 1, 1, 1}}, false, true);
}

// ---- operations ---------------------------------------------------------------------------------

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

// Adds a tensor with a number for each pair of a query and a key.
AttentionOperations::Tensor AttentionOperations::add_scores(Tensor rows, Tensor keys_transposed) {
  Tensor scores = add_virtual(CUDNN_DATA_FLOAT, of_queries(attention_.seq_kv));
  add_product(rows, keys_transposed, scores);
  return scores;
}

AttentionOperations::Tensor AttentionOperations::add_pointwise(
    cudnnPointwiseMode_t mode, cudnnDataType_t arithmetic, cudnnDataType_t result,
    const std::vector<const CudnnDescriptor*>& in, int64_t axis) {
  Tensor y = add_virtual(result, of_queries(attention_.seq_kv));
  add_pointwise_into(y, mode, arithmetic, in, axis);
  return y;
}

AttentionOperations::Tensor AttentionOperations::add_arithmetic(
    cudnnPointwiseMode_t mode, const std::vector<const CudnnDescriptor*>& in) {
  return add_pointwise(mode, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, in);
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

void AttentionOperations::add_statistics(Tensor largest, Tensor sum, Tensor statistics) {
  Tensor logarithm = add_virtual(CUDNN_DATA_FLOAT, of_queries(1));
  add_pointwise_into(logarithm, CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, {&sum});
  add_pointwise_into(statistics, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, {&largest, &logarithm});
}

AttentionOperations::Tensor AttentionOperations::add_reduction(cudnnReduceTensorOp_t mode,
                                                               Tensor x) {
  Tensor y = add_virtual(CUDNN_DATA_FLOAT, of_queries(1));
  add_reduction_into(y, mode, x);
  return y;
}

void AttentionOperations::add_reduction_into(Tensor y, cudnnReduceTensorOp_t mode, Tensor x) {
  CudnnDescriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, mode);
  reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  reduction.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void AttentionOperations::add_reshape(Tensor x, Tensor y) {
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

// ---- masks --------------------------------------------------------------------------------------

// A mask that hides nothing is left out: only without one does the library divide the keys of one
// query among blocks.
AttentionOperations::Tensor AttentionOperations::add_masks(Tensor scores) {
  if (!attention_.hides_keys()) return scores;
  const CudnnDescriptor* masked = &scores;
  if (attention_.mask != AttentionMask::kNone) masked = &add_upper_mask(*masked);
  if (attention_.window > 0) masked = &add_window_mask(*masked);
  return *masked;
}

AttentionOperations::Tensor AttentionOperations::add_index(Tensor scores, int64_t axis) {
  return add_pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, CUDNN_DATA_INT32, {&scores},
                       axis);
}

// Masks keys after a query's own. As many queries as keys need no shift of the diagonal, whose two
// operations cost 3 % of the time of heads of 64.
AttentionOperations::Tensor AttentionOperations::add_upper_mask(Tensor scores) {
  const CudnnDescriptor* own = &add_index(scores, kQueryAxis);
  Tensor key = add_index(scores, kKeyAxis);
  const bool is_shifted =
      attention_.mask == AttentionMask::kBottomRight && attention_.seq_q != attention_.seq_kv;
  if (is_shifted) {
    own = &add_pointwise(CUDNN_POINTWISE_ADD, CUDNN_DATA_INT32, CUDNN_DATA_INT32,
                         {own, &add_value(int32_t(attention_.seq_kv))});
    own = &add_pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_INT32, CUDNN_DATA_INT32,
                         {own, &add_value(int32_t(attention_.seq_q))});
  }
  return add_selection(scores, add_pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN,
                                             CUDNN_DATA_BOOLEAN, {own, &key}));
}

// Masks keys that precede a query's own by a window's length or more.
AttentionOperations::Tensor AttentionOperations::add_window_mask(Tensor scores) {
  const Attention& a = attention_;
  const int64_t diagonal = a.mask == AttentionMask::kBottomRight ? a.seq_kv - a.seq_q : 0;
  Tensor query = add_index(scores, kQueryAxis);
  Tensor key = add_index(scores, kKeyAxis);
  Tensor last = add_arithmetic(CUDNN_POINTWISE_ADD, {&key, &add_value(float(a.window - diagonal))});
  return add_selection(scores, add_pointwise(CUDNN_POINTWISE_CMP_GT, CUDNN_DATA_BOOLEAN,
                                             CUDNN_DATA_BOOLEAN, {&last, &query}));
}

AttentionOperations::Tensor AttentionOperations::add_selection(Tensor scores, Tensor is_seen) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return add_arithmetic(CUDNN_POINTWISE_BINARY_SELECT, {&scores, &add_value(kLowest), &is_seen});
}

CudnnDescriptor AttentionOperations::make_variant_pack(const Pointers& to) const {
  GraphData data = {{kQ, kK, kV, kO}, {to.q, to.k, to.v, to.o}, to.workspace};
  if (to.statistics) data.add(kStatistics, to.statistics);
  if (attention_.is_backward) {
    data.add(kDo, to.d_o);
    data.add(kDq, to.dq);
    data.add(kDk, to.dk);
    data.add(kDv, to.dv);
    data.add(kRowSums, to.row_sums);
    data.add(kQuerySums, to.query_sums);
  }
  for (const std::unique_ptr<Input>& value : values_) data.add(value->id, &value->real);
  return data.describe();
}

}  // namespace deepbench::cuda
