// Local response normalization across channels through cudnnLRNCrossChannelForward, which divides
// alpha by the size as the problem's definition does.
#include "cudnn/handle.hpp"
#include "cudnn/legacy_image_plan.hpp"
#include "cudnn/tensor.hpp"
#include "deepbench/ops/lrn/lrn.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using LrnPlan = ImageCallPlan<nvidia::cudnnLRNDescriptor_t>;

UniqueCudnn<nvidia::cudnnLRNDescriptor_t> make_normalization(const Lrn& lrn) {
  const nvidia::Cudnn& library = cudnn();
  if (!library.cudnnCreateLRNDescriptor || !library.cudnnDestroyLRNDescriptor ||
      !library.cudnnSetLRNDescriptor || !library.cudnnLRNCrossChannelForward)
    plugin::unsupported("this version of cuDNN has no cudnnLRNCrossChannelForward");
  nvidia::cudnnLRNDescriptor_t made = nullptr;
  CUDA_CHECK(library.cudnnCreateLRNDescriptor(&made));
  UniqueCudnn<nvidia::cudnnLRNDescriptor_t> owned(made);
  const nvidia::cudnnStatus_t status =
      library.cudnnSetLRNDescriptor(made, unsigned(lrn.size), Lrn::kAlpha, Lrn::kBeta, Lrn::kK);
  if (is_cudnn_refusal(status))
    plugin::unsupported("cuDNN's legacy API rejects the normalization: " + cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnnSetLRNDescriptor, status);
  return owned;
}

class LrnCall final : public LibraryCall {
 public:
  LrnCall(const Lrn&, std::shared_ptr<const LrnPlan> plan, const ImageOperands& operands,
          Stream& stream)
      : plan_(std::move(plan)), operands_(operands), handle_(cudnn_handle(stream)) {}

  void enqueue(uint64_t copy) override {
    const Images &x = plan_->inputs[0], &y = plan_->output;
    check_image_call(cudnn().cudnnLRNCrossChannelForward(
        handle_, plan_->descriptor.get(), nvidia::CUDNN_LRN_CROSS_CHANNEL_DIM1, &kOne,
        x.descriptor.get(), operands_.input(0, copy), &kZero, y.descriptor.get(),
        operands_.result(copy)));
  }

 private:
  const std::shared_ptr<const LrnPlan> plan_;
  const ImageOperands& operands_;
  const nvidia::cudnnHandle_t handle_;
};

struct LrnTraits {
  static constexpr const char* kOperation = "lrn";
  static constexpr const char* kAlgorithm = "cudnnLRNCrossChannel";
  using Problem = Lrn;
  using Descriptor = nvidia::cudnnLRNDescriptor_t;
  using Call = LrnCall;

  static Lrn parse(const plugin::Problem& problem) { return lrn_problem(problem); }
  static std::vector<std::string> layouts() { return {"nchw"}; }

  static LrnPlan make(const Lrn& lrn, const std::string& layout) {
    if (lrn.precision.precision == Precision::kBfloat16)
      plugin::unsupported("cuDNN does not support lrn in bfloat16");
    const ImageSizes sizes = {lrn.n, lrn.c, lrn.h, lrn.w};
    LrnPlan made;
    made.layout = layout;
    made.descriptor = make_normalization(lrn);
    made.inputs.push_back(images_of(sizes, lrn.type(), layout, Lrn::kStreamX));
    made.output = images_of(sizes, lrn.type(), layout);
    return made;
  }
  static uint64_t extra_bytes(const LrnPlan&, const plugin::CopyPlan&) { return 0; }
};

}  // namespace

Implementation& cudnn_legacy_lrn() { return implementation_of_plan<CudnnImagePlan<LrnTraits>>(); }

}  // namespace deepbench::cuda
