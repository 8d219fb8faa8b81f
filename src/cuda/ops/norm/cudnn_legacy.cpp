// Batch normalization through cuDNN's legacy API, whose calls PyTorch makes too.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cudnn/data_type.hpp"
#include "cudnn/descriptor.hpp"
#include "cudnn/handle.hpp"
#include "cudnn/tensor.hpp"
#include "cudnn/unique_descriptor.hpp"
#include "implementation.hpp"
#include "ops/norm/kernels.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"
#include "routes.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

struct Mode {
  const char* name;
  cudnnBatchNormMode_t mode;
};
// The modes, the default first.
constexpr Mode kModes[] = {{"spatial", CUDNN_BATCHNORM_SPATIAL},
                           {"spatial_persistent", CUDNN_BATCHNORM_SPATIAL_PERSISTENT}};

bool has_calls() {
  const Cudnn& library = cudnn();
  return library.cudnnBatchNormalizationForwardTraining &&
         library.cudnnBatchNormalizationForwardInference && library.cudnnBatchNormalizationBackward;
}

// The columns are channels, and the rows are the places of one image.
UniqueCudnn<cudnnTensorDescriptor_t> make_tensor(deepbench_type type, int64_t rows,
                                                 int64_t columns) {
  cudnnTensorDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&made));
  UniqueCudnn<cudnnTensorDescriptor_t> owned(made);
  const int h = int(rows), c = int(columns);
  const int sizes[] = {1, c, h, 1}, strides[] = {h * c, 1, c, c};
  CUDA_CHECK(cudnn().cudnnSetTensorNdDescriptor(made, dnn::data_type(type), 4, sizes, strides));
  return owned;
}

class BatchNorm final : public LibraryCall {
 public:
  BatchNorm(const Mode& mode, NormOperands& operands, Stream& stream)
      : mode_(mode.mode),
        operands_(operands),
        stream_(stream),
        handle_(cudnn_handle(stream)),
        matrix_(make_tensor(operands.norm().precision.c, operands.norm().rows,
                            operands.norm().columns)),
        parameters_(make_tensor(DEEPBENCH_F32, 1, operands.norm().columns)) {
    BatchNorm::operands_refilled();
    require_accepted();
  }

  void enqueue(uint64_t copy) override { CUDA_CHECK_STATUS(cudnnBatchNormalization, call(copy)); }
  void operands_refilled() override { prepare_statistics(operands_, stream_); }

 private:
  cudnnStatus_t call(uint64_t copy) const {
    const auto at = [&](NormPart part) { return operands_.at(part, copy); };
    const cudnnTensorDescriptor_t matrix = matrix_.get(), parameters = parameters_.get();
    switch (operands_.norm().phase) {
      case NormPhase::kTraining:
        return cudnn().cudnnBatchNormalizationForwardTraining(
            handle_, mode_, &kOne, &kZero, matrix, at(NormPart::kX), matrix, at(NormPart::kY),
            parameters, at(NormPart::kScale), at(NormPart::kShift), 1, nullptr, nullptr,
            Norm::kEpsilon, at(NormPart::kMean), at(NormPart::kSpread));
      case NormPhase::kInference:
        return cudnn().cudnnBatchNormalizationForwardInference(
            handle_, mode_, &kOne, &kZero, matrix, at(NormPart::kX), matrix, at(NormPart::kY),
            parameters, at(NormPart::kScale), at(NormPart::kShift), at(NormPart::kMean),
            at(NormPart::kSpread), Norm::kEpsilon);
      default:
        return cudnn().cudnnBatchNormalizationBackward(
            handle_, mode_, &kOne, &kZero, &kOne, &kZero, matrix, at(NormPart::kX), matrix,
            at(NormPart::kDy), matrix, at(NormPart::kDx), parameters, at(NormPart::kScale),
            at(NormPart::kDscale), at(NormPart::kDshift), Norm::kEpsilon, at(NormPart::kMean),
            at(NormPart::kSpread));
    }
  }

  // Throws if the call is not supported, which the library detects only when it is called.
  void require_accepted() {
    const cudnnStatus_t status = call(0);
    if (is_cudnn_refusal(status))
      plugin::unsupported("cuDNN refuses this normalization: " + cudnn_reason(status));
    CUDA_CHECK_STATUS(cudnnBatchNormalization, status);
    operands_.poison_outputs();
    stream_.synchronize();
  }

  const cudnnBatchNormMode_t mode_;
  NormOperands& operands_;
  Stream& stream_;
  const cudnnHandle_t handle_;
  const UniqueCudnn<cudnnTensorDescriptor_t> matrix_, parameters_;
};

class CudnnLegacyNormPlan final : public plugin::TypedPlan<CudnnLegacyNormPlan, Norm> {
 public:
  static LibraryFacts library() { return library_facts_of<Cudnn>(); }
  static Norm parse(const plugin::Problem& problem) { return norm_problem(problem); }

  CudnnLegacyNormPlan(const Norm& norm, const plugin::Options& options,
                      const std::string& candidate)
      : TypedPlan(norm, options),
        mode_(mode_named(candidate)),
        copies_(plan_copies(uint64_t(norm.traffic()), options)) {
    require_built_in_kernels("norm");
    require_precision_support(norm.precision, options.device);
    parse_inputs(options.inputs);
    if (norm.kind != NormKind::kBatch)
      plugin::unsupported("cuDNN's legacy API normalizes kind=batch only");
    if (!has_calls())
      plugin::unsupported("cuDNN " + report<Cudnn>().version + " lacks its legacy calls");
    if (norm.elements() > std::numeric_limits<int>::max())
      plugin::unsupported("cuDNN's legacy API supports only sizes of 32 bits");
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan("cudnn " + report<Cudnn>().version, mode_.name,
                  NormOperands::needed_bytes(problem_, copies_, 0), 0, sink);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override {
    std::vector<std::string> names;
    for (const Mode& mode : kModes) names.emplace_back(mode.name);
    return names;
  }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<NormOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed, NormMemory(stream));
    auto call = std::make_unique<BatchNorm>(mode_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static const Mode& mode_named(const std::string& candidate) {
    for (const Mode& mode : kModes)
      if (candidate.empty() || candidate == mode.name) return mode;
    plugin::reject_candidate("cudnn_legacy", candidate);
  }

  const Mode mode_;
  const plugin::CopyPlan copies_;
};

}  // namespace

Implementation& cudnn_legacy_norm() { return implementation_of_plan<CudnnLegacyNormPlan>(); }

}  // namespace deepbench::cuda
