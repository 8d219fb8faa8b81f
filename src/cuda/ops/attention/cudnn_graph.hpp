// Attention in cuDNN's graph API: two products, the scale, the masks and the softmax as single
// operations, which the library recognizes as one and computes with a fused engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "deepbench/ops/attention/attention.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// The operations with their tensors: the part of the description that needs no device.
class AttentionOperations {
 public:
  // Throws plugin::Error (unsupported) if the library rejects the description.
  explicit AttentionOperations(const Attention& attention);
  AttentionOperations(const AttentionOperations&) =
      delete;  // the variant pack refers to the values
  AttentionOperations& operator=(const AttentionOperations&) = delete;

  const std::vector<CudnnDescriptor>& descriptors() const { return operations_; }
  // What a call reads and writes. `statistics` takes statistics_bytes(): the logarithm of the sum
  // of the powers of each query, without which the library does not recognize the operations.
  struct Pointers {
    void *q, *k, *v, *o, *statistics, *workspace;
  };
  CudnnDescriptor make_variant_pack(const Pointers& pointers) const;
  static uint64_t statistics_bytes(const Attention& attention) {
    return uint64_t(attention.products() * attention.rows()) * sizeof(float);
  }

 private:
  using Sizes = std::vector<int64_t>;
  using Tensor = const CudnnDescriptor&;
  struct Input {
    int64_t id;
    union {
      float real;
      int32_t integer;
    };
  };

  Tensor add_tensor(int64_t id, nvidia::cudnnDataType_t type, const Sizes& sizes,
                    const Sizes& strides, bool is_virtual, bool is_by_value);
  Tensor add_operand(int64_t id, const Sizes& sizes, const Sizes& strides);
  Tensor add_virtual(nvidia::cudnnDataType_t type, int64_t last_size);
  Tensor add_value(float value);
  Tensor add_value(int32_t value);

  void add_product(Tensor a, Tensor b, Tensor c);
  // The inputs are x, b and the predicate t, as many as the mode has. The result is virtual, with a
  // number for each score, or `y`.
  Tensor add_pointwise(nvidia::cudnnPointwiseMode_t mode, nvidia::cudnnDataType_t arithmetic,
                       nvidia::cudnnDataType_t result,
                       const std::vector<const CudnnDescriptor*>& in, int64_t axis = -1);
  void add_pointwise_into(Tensor y, nvidia::cudnnPointwiseMode_t mode,
                          nvidia::cudnnDataType_t arithmetic,
                          const std::vector<const CudnnDescriptor*>& in, int64_t axis = -1);
  void add_statistics(Tensor largest, Tensor sum);
  Tensor add_reduction(nvidia::cudnnReduceTensorOp_t mode, Tensor x);
  Tensor add_index(Tensor scores, int64_t axis);
  Tensor add_upper_mask(Tensor scores);
  Tensor add_window_mask(Tensor scores);
  Tensor add_selection(Tensor scores, Tensor is_seen);

  const Attention attention_;
  std::vector<std::unique_ptr<CudnnDescriptor>> tensors_;
  std::vector<std::unique_ptr<Input>> values_;  // on the host, read by each call
  std::vector<CudnnDescriptor> operations_;
};

// A fused engine for the operations, ready to be executed.
class AttentionExecution {
 public:
  // `engine` names one of engines(); "": the first that the library can build. Throws plugin::Error
  // (unsupported) if there is none.
  AttentionExecution(const Attention& attention, const std::string& engine, const Stream& stream);

  const std::string& engine() const { return engine_; }
  std::vector<std::string> engines() const;  // as the heuristics order them
  uint64_t workspace_bytes() const { return workspace_bytes_; }

  CudnnDescriptor make_variant_pack(const AttentionOperations::Pointers& pointers) const {
    return operations_.make_variant_pack(pointers);
  }
  nvidia::cudnnStatus_t execute(nvidia::cudnnHandle_t handle, const CudnnDescriptor& pack) const;

 private:
  void query_configs();
  bool try_build(const CudnnDescriptor& config, nvidia::cudnnHandle_t handle);

  const AttentionOperations operations_;
  CudnnDescriptor graph_;
  std::vector<CudnnDescriptor> configs_;
  CudnnDescriptor plan_;
  std::string engine_, refusal_;
  uint64_t workspace_bytes_ = 0;
};

}  // namespace deepbench::cuda
