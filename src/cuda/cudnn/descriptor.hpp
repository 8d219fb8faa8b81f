// Descriptors of cuDNN's graph interface, owned, and their attributes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libraries.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {

// Which type an attribute's values are said to have.
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

  // Throws; try_finalize() tells.
  void finalize();
  nvidia::cudnnStatus_t try_finalize();

  // The values of an attribute, at most `most`; none where the library does not know it.
  template <class Value>
  std::vector<Value> get_all(nvidia::cudnnBackendAttributeName_t name, size_t most) const {
    std::vector<Value> values(most);
    values.resize(get_raw(name, CudnnType<Value>::value, most, values.data()));
    return values;
  }
  int64_t number(nvidia::cudnnBackendAttributeName_t name) const;
  // As above of descriptors, which the library fills in.
  std::vector<CudnnDescriptor> descriptors(nvidia::cudnnBackendAttributeName_t name,
                                           nvidia::cudnnBackendDescriptorType_t type,
                                           size_t most) const;

 private:
  void set_raw(nvidia::cudnnBackendAttributeName_t name, nvidia::cudnnBackendAttributeType_t type,
               int64_t count, const void* values);
  size_t get_raw(nvidia::cudnnBackendAttributeName_t name, nvidia::cudnnBackendAttributeType_t type,
                 size_t most, void* values) const;
  nvidia::cudnnBackendDescriptor_t raw_ = nullptr;
};

// Statuses by which cuDNN says that it cannot do what is described.
bool is_cudnn_refusal(nvidia::cudnnStatus_t status);
// The status' name and, where the library tells, its last words.
std::string cudnn_reason(nvidia::cudnnStatus_t status);

}  // namespace deepbench::cuda
