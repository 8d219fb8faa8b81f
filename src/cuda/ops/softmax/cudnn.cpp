// Softmax and its gradient through cuDNN's older calls.
#include "array_map_plan.hpp"
#include "cudnn/handle.hpp"
#include "cudnn/tensor.hpp"
#include "deepbench/ops/softmax/softmax.hpp"
#include "routes.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

// A row is passed as an image. cuDNN computes the softmax over all of its elements (INSTANCE), or
// over its channels (CHANNEL).
constexpr const char* kInstance = "instance";
constexpr const char* kChannel = "channel";

class CudnnSoftmaxCall final : public LibraryCall {
 public:
  CudnnSoftmaxCall(const Softmax& softmax, const std::string& candidate,
                   const DeviceArrays& operands, Stream& stream)
      : is_forward_(softmax.is_forward),
        rounds_exponentials_(softmax.may_round_exponentials()),
        mode_(candidate == kChannel ? CUDNN_SOFTMAX_MODE_CHANNEL : CUDNN_SOFTMAX_MODE_INSTANCE),
        operands_(operands),
        handle_(cudnn_handle(stream)),
        tensor_(make_packed_tensor(softmax.type(), {softmax.rows, softmax.columns, 1, 1})) {
    enqueue(0);  // an unsupported problem is detected when it is called
    stream.synchronize();
  }

  // Except in short rows, cuDNN stores the exponentials in the output's type before it divides
  // them.
  void describe(plugin::Sink& sink) const override {
    if (rounds_exponentials_) sink.text("accumulator", Softmax::kRoundedExponentials);
  }

  void enqueue(uint64_t copy) override {
    require_accepted_call(call(copy), is_forward_ ? "cudnnSoftmaxForward" : "cudnnSoftmaxBackward");
  }

 private:
  // ACCURATE subtracts the maximum; FAST does not, and overflows.
  cudnnStatus_t call(uint64_t copy) const {
    const cudnnTensorDescriptor_t tensor = tensor_.get();
    if (is_forward_)
      return cudnn().cudnnSoftmaxForward(handle_, CUDNN_SOFTMAX_ACCURATE, mode_, &kOne, tensor,
                                         operands_.input(0, copy), &kZero, tensor,
                                         operands_.result(copy));
    return cudnn().cudnnSoftmaxBackward(handle_, CUDNN_SOFTMAX_ACCURATE, mode_, &kOne, tensor,
                                        operands_.input(0, copy), tensor, operands_.input(1, copy),
                                        &kZero, tensor, operands_.result(copy));
  }

  const bool is_forward_, rounds_exponentials_;
  const cudnnSoftmaxMode_t mode_;
  const DeviceArrays& operands_;
  const cudnnHandle_t handle_;
  const UniqueCudnn<cudnnTensorDescriptor_t> tensor_;
};

struct CudnnSoftmax {
  static constexpr const char* kOperation = "softmax";
  static constexpr const char* kLibrary = "cudnn";
  using Problem = Softmax;
  using Call = CudnnSoftmaxCall;

  static Softmax parse(const plugin::Problem& problem) { return softmax_problem(problem); }
  static uint64_t outputs(const Softmax& softmax) { return softmax.elements(); }
  static LibraryFacts library() { return library_facts_of<Cudnn>(); }
  static std::string library_text() { return "cudnn " + report<Cudnn>().version; }
  static std::vector<std::string> candidates(const Softmax& softmax) {
    if (!cudnn().cudnnSoftmaxForward || !cudnn().cudnnSoftmaxBackward)
      plugin::unsupported("this version of cuDNN has no cudnnSoftmaxForward and -Backward");
    make_packed_tensor(softmax.type(), {softmax.rows, softmax.columns, 1, 1});
    return {kInstance, kChannel};
  }
};

}  // namespace

Implementation& cudnn_softmax() { return implementation_of_plan<ArrayMapPlan<CudnnSoftmax>>(); }

}  // namespace deepbench::cuda
