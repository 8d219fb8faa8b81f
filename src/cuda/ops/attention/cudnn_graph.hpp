// Attention in cuDNN's graph API: two products, the scale, the masks and the softmax, or the five
// products of its gradients and the operations between them. The library recognizes these single
// operations as a whole and computes them with a fused engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "deepbench/ops/attention/attention.hpp"

namespace deepbench::cuda {

// The operations with their tensors: the part of the description that needs no device.
class AttentionOperations {
 public:
  // Whether the forward pass stores what its gradients start from.
  enum class Statistics { kDiscarded, kStored };

  // Gradients read the statistics, whatever `statistics` says. Throws plugin::Error (unsupported)
  // if the library rejects the description.
  AttentionOperations(const Attention& attention, Statistics statistics);
  AttentionOperations(const AttentionOperations&) =
      delete;  // the variant pack refers to the values
  AttentionOperations& operator=(const AttentionOperations&) = delete;

  const std::vector<CudnnDescriptor>& descriptors() const { return operations_; }
  // The data that a call reads and writes. `statistics` has statistics_bytes(): the logarithm of
  // the sum of the powers of each query. It is null if the forward pass discards it.
  struct Pointers {
    void *q, *k, *v, *o, *statistics, *workspace;
    // Only for gradients. `row_sums` has row_sum_bytes(), and `query_sums` has query_sum_bytes().
    void *d_o = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
    void *row_sums = nullptr, *query_sums = nullptr;
  };
  CudnnDescriptor make_variant_pack(const Pointers& pointers) const;
  static uint64_t statistics_bytes(const Attention& attention) {
    return uint64_t(attention.products() * attention.rows()) * sizeof(float);
  }
  static uint64_t row_sum_bytes(const Attention& attention) { return statistics_bytes(attention); }
  static uint64_t query_sum_bytes(const Attention& attention) {
    return uint64_t(attention.elements(AttentionPart::kQ)) * sizeof(float);
  }

 private:
  struct Layout {
    std::vector<int64_t> sizes, strides;
  };
  using Tensor = const CudnnDescriptor&;
  struct Input {
    int64_t id;
    union {
      float real;
      int32_t integer;
    };
  };

  void describe_output(Statistics statistics);
  void describe_gradients();
  void add_key_gradient(Tensor pairs, Tensor factor, int64_t id, int64_t dim);
  void add_query_gradient(Tensor ds, Tensor k_transposed);

  Layout rows(int64_t heads, int64_t length, int64_t dim) const;
  Layout of_queries(int64_t dim) const;  // with `dim` numbers for each query
  Layout of_keys(int64_t dim) const;
  static Layout transposed(Layout layout);

  Tensor add_tensor(int64_t id, nvidia::cudnnDataType_t type, const Layout& layout, bool is_virtual,
                    bool is_by_value);
  Tensor add_operand(int64_t id, const Layout& layout);
  Tensor add_stored(int64_t id, const Layout& layout);
  Tensor add_virtual(nvidia::cudnnDataType_t type, const Layout& layout);
  Tensor add_value(float value);
  Tensor add_value(int32_t value);

  void add_product(Tensor a, Tensor b, Tensor c);
  Tensor add_scores(Tensor rows, Tensor keys_transposed);
  // The inputs are x, b and the predicate t, as many of them as the mode has. The result is `y`, or
  // a virtual tensor with a number for each score.
  Tensor add_pointwise(nvidia::cudnnPointwiseMode_t mode, nvidia::cudnnDataType_t arithmetic,
                       nvidia::cudnnDataType_t result,
                       const std::vector<const CudnnDescriptor*>& in, int64_t axis = -1);
  Tensor add_arithmetic(nvidia::cudnnPointwiseMode_t mode,
                        const std::vector<const CudnnDescriptor*>& in);
  void add_pointwise_into(Tensor y, nvidia::cudnnPointwiseMode_t mode,
                          nvidia::cudnnDataType_t arithmetic,
                          const std::vector<const CudnnDescriptor*>& in, int64_t axis = -1);
  void add_statistics(Tensor largest, Tensor sum, Tensor statistics);
  Tensor add_reduction(nvidia::cudnnReduceTensorOp_t mode, Tensor x);
  void add_reduction_into(Tensor y, nvidia::cudnnReduceTensorOp_t mode, Tensor x);
  void add_reshape(Tensor x, Tensor y);

  Tensor add_masks(Tensor scores);
  Tensor add_index(Tensor scores, int64_t axis);
  Tensor add_upper_mask(Tensor scores);
  Tensor add_window_mask(Tensor scores);
  Tensor add_selection(Tensor scores, Tensor is_seen);

  const Attention attention_;
  std::vector<std::unique_ptr<CudnnDescriptor>> tensors_;
  std::vector<std::unique_ptr<Input>> values_;  // on the host, read by each call
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace deepbench::cuda
