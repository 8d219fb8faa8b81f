// Owning wrappers of the descriptors of cuDNN's graph API and their attributes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libraries.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

// The type identifier that cuDNN expects for an attribute's values.
template <class Value>
struct CudnnType;
#define DEEPBENCH_CUDNN_TYPE(Value, name)                              \
  template <>                                                          \
  struct CudnnType<Value> {                                            \
    static constexpr nvidia::cudnnBackendAttributeType_t value = name; \
  };
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnHandle_t, nvidia::CUDNN_TYPE_HANDLE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnDataType_t, nvidia::CUDNN_TYPE_DATA_TYPE)
DEEPBENCH_CUDNN_TYPE(int64_t, nvidia::CUDNN_TYPE_INT64)
DEEPBENCH_CUDNN_TYPE(float, nvidia::CUDNN_TYPE_FLOAT)
DEEPBENCH_CUDNN_TYPE(bool, nvidia::CUDNN_TYPE_BOOLEAN)
DEEPBENCH_CUDNN_TYPE(char, nvidia::CUDNN_TYPE_CHAR)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnPointwiseMode_t, nvidia::CUDNN_TYPE_POINTWISE_MODE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnReduceTensorOp_t, nvidia::CUDNN_TYPE_REDUCTION_OPERATOR_TYPE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnBackendNormMode_t, nvidia::CUDNN_TYPE_NORM_MODE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnBackendNormFwdPhase_t, nvidia::CUDNN_TYPE_NORM_FWD_PHASE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnConvolutionMode_t, nvidia::CUDNN_TYPE_CONVOLUTION_MODE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnBackendHeurMode_t, nvidia::CUDNN_TYPE_HEUR_MODE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnBackendKnobType_t, nvidia::CUDNN_TYPE_KNOB_TYPE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnBackendNumericalNote_t, nvidia::CUDNN_TYPE_NUMERICAL_NOTE)
DEEPBENCH_CUDNN_TYPE(nvidia::cudnnBackendBehaviorNote_t, nvidia::CUDNN_TYPE_BEHAVIOR_NOTE)
#undef DEEPBENCH_CUDNN_TYPE

class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(nvidia::cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept { std::swap(raw_, other.raw_); }
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  nvidia::cudnnBackendDescriptor_t get() const { return raw_; }

  template <class Value>
  void set(nvidia::cudnnBackendAttributeName_t name, const std::vector<Value>& values) {
    set_raw(name, CudnnType<Value>::value, int64_t(values.size()), values.data());
  }
  template <class Value>
  void set(nvidia::cudnnBackendAttributeName_t name, const Value& value) {
    set_raw(name, CudnnType<Value>::value, 1, &value);
  }
  void set(nvidia::cudnnBackendAttributeName_t name, const CudnnDescriptor& descriptor) {
    set_raw(name, nvidia::CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor.raw_);
  }
  void set(nvidia::cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& all);
  void set(nvidia::cudnnBackendAttributeName_t name, const std::vector<void*>& pointers) {
    set_raw(name, nvidia::CUDNN_TYPE_VOID_PTR, int64_t(pointers.size()), pointers.data());
  }

  // Throws on failure. try_finalize() returns the status instead.
  void finalize();
  nvidia::cudnnStatus_t try_finalize();

  // Returns up to `max_count` values of an attribute, or none if the library does not know it.
  template <class Value>
  std::vector<Value> get_all(nvidia::cudnnBackendAttributeName_t name, size_t max_count) const {
    std::vector<Value> values(max_count);
    values.resize(get_raw(name, CudnnType<Value>::value, max_count, values.data()));
    return values;
  }
  int64_t number(nvidia::cudnnBackendAttributeName_t name) const;
  // Like get_all(), for descriptors, which the library fills in.
  std::vector<CudnnDescriptor> descriptors(nvidia::cudnnBackendAttributeName_t name,
                                           nvidia::cudnnBackendDescriptorType_t type,
                                           size_t max_count) const;

 private:
  void set_raw(nvidia::cudnnBackendAttributeName_t name, nvidia::cudnnBackendAttributeType_t type,
               int64_t count, const void* values);
  size_t get_raw(nvidia::cudnnBackendAttributeName_t name, nvidia::cudnnBackendAttributeType_t type,
                 size_t max_count, void* values) const;
  nvidia::cudnnBackendDescriptor_t raw_ = nullptr;
};

// Whether this status means that cuDNN does not support what is described.
bool is_cudnn_refusal(nvidia::cudnnStatus_t status);
// The status' name and, if the library provides it, its last error text.
std::string cudnn_reason(nvidia::cudnnStatus_t status);

}  // namespace deepbench::cuda
