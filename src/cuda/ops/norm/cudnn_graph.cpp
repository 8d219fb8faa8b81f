// Describes normalizations to cuDNN.
#include "ops/norm/cudnn_graph.hpp"

#include <utility>

#include "cudnn/data_type.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/graph_tensor.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr int64_t kFirstId = 1, kEpsilonId = kFirstId + kNormParts;

int64_t id_of(NormPart part) { return kFirstId + int64_t(part); }

cudnnBackendNormMode_t mode_of(const Norm& norm) {
  switch (norm.kind) {
    case NormKind::kLayer:
      return CUDNN_LAYER_NORM;
    case NormKind::kRms:
      return CUDNN_RMS_NORM;
    case NormKind::kBatch:
      return CUDNN_BATCH_NORM;
    case NormKind::kGroup:
      break;
  }
  plugin::unsupported("cuDNN's graph API does not normalize kind=group");
}

// A matrix of one image for each row and a channel for each column, of one pixel.
GraphTensor images(int64_t id, deepbench_type type, int64_t rows, int64_t columns) {
  return {id, dnn::data_type(type), {rows, columns, 1, 1}, {columns, 1, columns, columns}};
}

}  // namespace

NormOperation::NormOperation(const Norm& norm) : norm_(norm) {
  if (norm.has_running_statistics())
    plugin::unsupported("cuDNN's graph API does not normalize kind=batch phase=inference");
  CudnnDescriptor operation = norm.is_backward() ? backward() : forward();
  operation.finalize();
  operations_.push_back(std::move(operation));
}

CudnnDescriptor NormOperation::forward() const {
  CudnnDescriptor made(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  const bool is_training = norm_.phase == NormPhase::kTraining;
  made.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, mode_of(norm_));
  made.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE,
           is_training ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, NormPart::kX);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, NormPart::kScale);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, NormPart::kShift);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, NormPart::kMean);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, NormPart::kSpread);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, NormPart::kY);
  GraphTensor epsilon = images(kEpsilonId, DEEPBENCH_F32, 1, 1);
  epsilon.is_by_value = true;
  made.set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon.describe());
  return made;
}

CudnnDescriptor NormOperation::backward() const {
  CudnnDescriptor made(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, mode_of(norm_));
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, NormPart::kX);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, NormPart::kMean);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, NormPart::kSpread);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, NormPart::kDy);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, NormPart::kScale);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, NormPart::kDscale);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, NormPart::kDshift);
  set_part(made, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, NormPart::kDx);
  return made;
}

void NormOperation::set_part(CudnnDescriptor& operation, cudnnBackendAttributeName_t name,
                             NormPart part) const {
  if (norm_.part_elements(part) > 0) operation.set(name, tensor(part));
}

CudnnDescriptor NormOperation::tensor(NormPart part) const {
  switch (part) {
    case NormPart::kX:
    case NormPart::kDy:
    case NormPart::kY:
    case NormPart::kDx:
      return images(id_of(part), norm_.precision.c, norm_.rows, norm_.columns).describe();
    case NormPart::kMean:
    case NormPart::kSpread:
      if (norm_.kind != NormKind::kBatch)
        return images(id_of(part), DEEPBENCH_F32, norm_.rows, 1).describe();
      [[fallthrough]];
    default:
      return images(id_of(part), DEEPBENCH_F32, 1, norm_.columns).describe();
  }
}

CudnnDescriptor NormOperation::make_variant_pack(const std::vector<void*>& pointers,
                                                 void* workspace) const {
  GraphData data;
  data.workspace = workspace;
  for (int part = 0; part < kNormParts; ++part)
    if (norm_.part_elements(NormPart(part)) > 0)
      data.add(id_of(NormPart(part)), pointers[size_t(part)]);
  if (!norm_.is_backward()) data.add(kEpsilonId, const_cast<float*>(&epsilon_));
  return data.describe();
}

}  // namespace deepbench::cuda
