// Creates descriptors, and sets and gets their attributes.
#include "cudnn/descriptor.hpp"

#include <algorithm>
#include <cstring>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

CudnnDescriptor::CudnnDescriptor(nvidia::cudnnBackendDescriptorType_t type) {
  CUDA_CHECK(cudnn().cudnnBackendCreateDescriptor(type, &raw_));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_) cudnn().cudnnBackendDestroyDescriptor(raw_);
}

void CudnnDescriptor::set(nvidia::cudnnBackendAttributeName_t name,
                          const std::vector<CudnnDescriptor>& all) {
  std::vector<nvidia::cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& one : all) raw.push_back(one.raw_);
  set_raw(name, nvidia::CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(raw.size()), raw.data());
}

void CudnnDescriptor::set_raw(nvidia::cudnnBackendAttributeName_t name,
                              nvidia::cudnnBackendAttributeType_t type, int64_t count,
                              const void* values) {
  const nvidia::cudnnStatus_t status =
      cudnn().cudnnBackendSetAttribute(raw_, name, type, count, values);
  if (is_cudnn_refusal(status))
    plugin::unsupported("cuDNN rejects attribute " + std::to_string(int(name)) + ": " +
                        cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnnBackendSetAttribute, status);
}

size_t CudnnDescriptor::get_raw(nvidia::cudnnBackendAttributeName_t name,
                                nvidia::cudnnBackendAttributeType_t type, size_t max_count,
                                void* values) const {
  int64_t count = 0;
  const nvidia::cudnnStatus_t status =
      cudnn().cudnnBackendGetAttribute(raw_, name, type, int64_t(max_count), &count, values);
  if (status != nvidia::CUDNN_STATUS_SUCCESS || count < 0) return 0;
  return std::min(max_count, size_t(count));
}

void CudnnDescriptor::finalize() {
  const nvidia::cudnnStatus_t status = try_finalize();
  if (is_cudnn_refusal(status)) plugin::unsupported("cuDNN: " + cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnnBackendFinalize, status);
}

nvidia::cudnnStatus_t CudnnDescriptor::try_finalize() { return cudnn().cudnnBackendFinalize(raw_); }

int64_t CudnnDescriptor::number(nvidia::cudnnBackendAttributeName_t name) const {
  const std::vector<int64_t> values = get_all<int64_t>(name, 1);
  return values.empty() ? 0 : values[0];
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(nvidia::cudnnBackendAttributeName_t name,
                                                          nvidia::cudnnBackendDescriptorType_t type,
                                                          size_t max_count) const {
  std::vector<CudnnDescriptor> all;
  std::vector<nvidia::cudnnBackendDescriptor_t> raw;
  for (size_t i = 0; i < max_count; ++i) {
    all.emplace_back(type);
    raw.push_back(all.back().raw_);
  }
  const size_t count = get_raw(name, nvidia::CUDNN_TYPE_BACKEND_DESCRIPTOR, max_count, raw.data());
  all.resize(count);
  return all;
}

bool is_cudnn_refusal(nvidia::cudnnStatus_t status) {
  const int kind = int(status) / 1000;
  return kind == 2 || kind == 3;
}

std::string cudnn_reason(nvidia::cudnnStatus_t status) {
  std::string reason = cudnn().cudnnGetErrorString(status);
  if (!cudnn().cudnnGetLastErrorString) return reason;
  char text[512] = "";
  cudnn().cudnnGetLastErrorString(text, sizeof text);
  text[sizeof text - 1] = 0;
  text[std::strcspn(text, "\n")] = 0;
  if (*text) reason += std::string(" (") + text + ")";
  return reason;
}

}  // namespace deepbench::cuda
