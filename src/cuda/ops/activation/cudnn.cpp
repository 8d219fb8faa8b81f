// Activations and their gradients through cuDNN's older calls.
#include <optional>

#include "array_map_plan.hpp"
#include "cudnn/handle.hpp"
#include "cudnn/tensor.hpp"
#include "deepbench/ops/activation/activation.hpp"
#include "routes.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr double kNoCoefficient = 0, kSwishBeta = 1;
constexpr const char* kActivation = "activation";

std::optional<cudnnActivationMode_t> mode_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return CUDNN_ACTIVATION_RELU;
    case ActivationKind::kSilu:
      return CUDNN_ACTIVATION_SWISH;
    case ActivationKind::kSigmoid:
      return CUDNN_ACTIVATION_SIGMOID;
    case ActivationKind::kTanh:
      return CUDNN_ACTIVATION_TANH;
    case ActivationKind::kGelu:
      break;
  }
  return {};
}

UniqueCudnn<cudnnActivationDescriptor_t> make_activation(ActivationKind kind) {
  cudnnActivationDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateActivationDescriptor(&made));
  UniqueCudnn<cudnnActivationDescriptor_t> owned(made);
  CUDA_CHECK(cudnn().cudnnSetActivationDescriptor(made, *mode_of(kind), CUDNN_PROPAGATE_NAN,
                                                  kNoCoefficient));
  if (kind == ActivationKind::kSilu)
    CUDA_CHECK(cudnn().cudnnSetActivationDescriptorSwishBeta(made, kSwishBeta));
  return owned;
}

UniqueCudnn<cudnnTensorDescriptor_t> tensor_of(const Activation& activation) {
  return make_packed_tensor(activation.type(), {1, 1, 1, int64_t(activation.elements)});
}

class CudnnActivationCall final : public LibraryCall {
 public:
  CudnnActivationCall(const Activation& activation, const std::string&,
                      const DeviceArrays& operands, Stream& stream)
      : is_forward_(activation.is_forward),
        operands_(operands),
        handle_(cudnn_handle(stream)),
        activation_(make_activation(activation.kind)),
        tensor_(tensor_of(activation)) {
    enqueue(0);  // an unsupported problem is detected when it is called
    stream.synchronize();
  }

  void enqueue(uint64_t copy) override {
    require_accepted_call(call(copy),
                          is_forward_ ? "cudnnActivationForward" : "cudnnActivationBackward");
  }

 private:
  cudnnStatus_t call(uint64_t copy) const {
    const cudnnTensorDescriptor_t tensor = tensor_.get();
    const void* const saved = operands_.input(0, copy);
    if (is_forward_)
      return cudnn().cudnnActivationForward(handle_, activation_.get(), &kOne, tensor, saved,
                                            &kZero, tensor, operands_.result(copy));
    // The gradients of sigmoid and tanh follow from y, that of silu from x, and that of relu from
    // the sign of either: the array that the problem has is passed in place of both.
    return cudnn().cudnnActivationBackward(handle_, activation_.get(), &kOne, tensor, saved, tensor,
                                           operands_.input(1, copy), tensor, saved, &kZero, tensor,
                                           operands_.result(copy));
  }

  const bool is_forward_;
  const DeviceArrays& operands_;
  const cudnnHandle_t handle_;
  const UniqueCudnn<cudnnActivationDescriptor_t> activation_;
  const UniqueCudnn<cudnnTensorDescriptor_t> tensor_;
};

bool has_activations() {
  return cudnn().cudnnCreateActivationDescriptor && cudnn().cudnnDestroyActivationDescriptor &&
         cudnn().cudnnSetActivationDescriptor && cudnn().cudnnSetActivationDescriptorSwishBeta &&
         cudnn().cudnnActivationForward && cudnn().cudnnActivationBackward;
}

struct CudnnActivation {
  static constexpr const char* kOperation = "activation";
  static constexpr const char* kLibrary = "cudnn";
  using Problem = Activation;
  using Call = CudnnActivationCall;

  static Activation parse(const plugin::Problem& problem) { return activation_problem(problem); }
  static uint64_t outputs(const Activation& activation) { return activation.elements; }
  static LibraryFacts library() { return library_facts_of<Cudnn>(); }
  static std::string library_text() { return "cudnn " + report<Cudnn>().version; }
  static std::vector<std::string> candidates(const Activation& activation) {
    if (!has_activations())
      plugin::unsupported("this version of cuDNN has no cudnnActivationForward and -Backward");
    if (!mode_of(activation.kind)) plugin::unsupported("cuDNN's older calls have no gelu");
    tensor_of(activation);
    return {kActivation};
  }
};

}  // namespace

Implementation& cudnn_activation() {
  return implementation_of_plan<ArrayMapPlan<CudnnActivation>>();
}

}  // namespace deepbench::cuda
