// A normalization in cuDNN's graph API: one operation, forward or backward. The sets of layer and
// rms are rows of the matrix, and those of batch are columns.
#pragma once

#include <cstdint>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "deepbench/ops/norm/norm.hpp"

namespace deepbench::cuda {

// The operation with its tensors: the part of the description that needs no device.
class NormOperation {
 public:
  // Throws plugin::Error (unsupported) if the library has no such normalization or rejects the
  // description.
  explicit NormOperation(const Norm& norm);
  NormOperation(const NormOperation&) = delete;  // variant packs refer to the epsilon
  NormOperation& operator=(const NormOperation&) = delete;

  const std::vector<CudnnDescriptor>& descriptors() const { return operations_; }
  // `pointers` has the data of each part that the problem has, indexed by NormPart.
  CudnnDescriptor make_variant_pack(const std::vector<void*>& pointers, void* workspace) const;

 private:
  CudnnDescriptor forward() const;
  CudnnDescriptor backward() const;
  // Sets the attribute to the part's tensor if the problem has this part.
  void set_part(CudnnDescriptor& operation, nvidia::cudnnBackendAttributeName_t name,
                NormPart part) const;
  CudnnDescriptor tensor(NormPart part) const;

  const Norm norm_;
  float epsilon_ = float(Norm::kEpsilon);
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace deepbench::cuda
