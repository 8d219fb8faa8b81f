// Pooling through cudnnPoolingForward and cudnnPoolingBackward. The gradient reads x and y, from
// which the library determines the maxima again; y comes from a forward pass that is not timed.
#include "cudnn/handle.hpp"
#include "cudnn/legacy_image_plan.hpp"
#include "cudnn/tensor.hpp"
#include "deepbench/ops/pool/pool.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using PoolPlan = ImageCallPlan<nvidia::cudnnPoolingDescriptor_t>;

constexpr size_t kDy = 0, kX = 1;  // inputs of a gradient

// A later major version may lack some or all of these functions.
bool has_pooling() {
  const nvidia::Cudnn& library = cudnn();
  return library.cudnnCreatePoolingDescriptor && library.cudnnDestroyPoolingDescriptor &&
         library.cudnnSetPooling2dDescriptor && library.cudnnPoolingForward &&
         library.cudnnPoolingBackward;
}

UniqueCudnn<nvidia::cudnnPoolingDescriptor_t> make_pooling(const Pool& pool) {
  if (!has_pooling())
    plugin::unsupported("this version of cuDNN has no cudnnPoolingForward and related functions");
  nvidia::cudnnPoolingDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreatePoolingDescriptor(&made));
  UniqueCudnn<nvidia::cudnnPoolingDescriptor_t> owned(made);
  const auto mode = pool.is_average ? nvidia::CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                                    : nvidia::CUDNN_POOLING_MAX;
  const nvidia::cudnnStatus_t status = cudnn().cudnnSetPooling2dDescriptor(
      made, mode, nvidia::CUDNN_NOT_PROPAGATE_NAN, int(pool.r), int(pool.s), int(pool.pad_h),
      int(pool.pad_w), int(pool.stride_h), int(pool.stride_w));
  if (is_cudnn_refusal(status))
    plugin::unsupported("cuDNN's legacy API rejects the window: " + cudnn_reason(status));
  CUDA_CHECK_STATUS(cudnnSetPooling2dDescriptor, status);
  return owned;
}

class PoolCall final : public LibraryCall {
 public:
  PoolCall(const Pool& pool, std::shared_ptr<const PoolPlan> plan, const ImageOperands& operands,
           Stream& stream)
      : plan_(std::move(plan)), operands_(operands), handle_(cudnn_handle(stream)) {
    if (!pool.is_backward) return;
    y_ = Copies(plan_->inputs[kDy].bytes(), operands.copies());
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      forward(plan_->output, operands.input(kX, copy), plan_->inputs[kDy], y_.at(copy));
    stream.synchronize();
  }

  void enqueue(uint64_t copy) override {
    if (y_.count() == 0)
      return forward(plan_->inputs[0], operands_.input(0, copy), plan_->output,
                     operands_.result(copy));
    const Images &y = plan_->inputs[kDy], &x = plan_->output;
    check_image_call(cudnn().cudnnPoolingBackward(
        handle_, plan_->descriptor.get(), &kOne, y.descriptor.get(), y_.at(copy),
        y.descriptor.get(), operands_.input(kDy, copy), x.descriptor.get(),
        operands_.input(kX, copy), &kZero, x.descriptor.get(), operands_.result(copy)));
  }

 private:
  void forward(const Images& x, const void* x_data, const Images& y, void* y_data) const {
    check_image_call(cudnn().cudnnPoolingForward(handle_, plan_->descriptor.get(), &kOne,
                                                 x.descriptor.get(), x_data, &kZero,
                                                 y.descriptor.get(), y_data));
  }

  const std::shared_ptr<const PoolPlan> plan_;
  const ImageOperands& operands_;
  const nvidia::cudnnHandle_t handle_;
  Copies y_;  // y, for a gradient only
};

struct PoolTraits {
  static constexpr const char* kOperation = "pool";
  static constexpr const char* kAlgorithm = "cudnnPooling";
  using Problem = Pool;
  using Descriptor = nvidia::cudnnPoolingDescriptor_t;
  using Call = PoolCall;

  static Pool parse(const plugin::Problem& problem) { return pool_problem(problem); }
  static std::vector<std::string> layouts() { return {"nchw", "nhwc"}; }

  static PoolPlan make(const Pool& pool, const std::string& layout) {
    const ImageSizes x_sizes = {pool.n, pool.c, pool.h, pool.w},
                     y_sizes = {pool.n, pool.c, pool.p(), pool.q()};
    const auto x = [&] { return images_of(x_sizes, pool.type(), layout, Pool::kStreamX); };
    const auto y = [&] { return images_of(y_sizes, pool.type(), layout, Pool::kStreamDy); };
    PoolPlan made;
    made.layout = layout;
    made.descriptor = make_pooling(pool);
    made.inputs.push_back(pool.is_backward ? y() : x());
    if (pool.is_backward) made.inputs.push_back(x());
    made.output = pool.is_backward ? x() : y();
    return made;
  }

  // The size of y, which the gradient reads.
  static uint64_t extra_bytes(const PoolPlan& plan, const plugin::CopyPlan& copies) {
    return plan.inputs.size() > 1 ? Copies::needed_bytes(plan.inputs[kDy].bytes(), copies.copies)
                                  : 0;
  }
};

}  // namespace

Implementation& cudnn_legacy_pool() { return implementation_of_plan<CudnnImagePlan<PoolTraits>>(); }

}  // namespace deepbench::cuda
