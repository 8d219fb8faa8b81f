// Binds images to the arguments of primitives.
#include "onednn/image_plan.hpp"

namespace deepbench::cpu::onednn {

ImageCall::ImageCall(std::shared_ptr<const ImagePrimitive> primitive, const ImageOperands& operands,
                     int threads)
    : PrimitiveCall(primitive->timed.get(), operands.copies(), threads),
      primitive_(std::move(primitive)) {
  const bool is_gradient = primitive_->forward != nullptr;
  const int input = is_gradient ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC;
  const int output = is_gradient ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST;
  for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
    set_argument(copy, input, primitive_->inputs[0].stored.get(), operands.input(0, copy));
    set_argument(copy, output, primitive_->output.stored.get(), operands.result(copy));
  }
}

void ImageCall::describe(plugin::Sink& sink) const {
  PrimitiveCall::describe(sink);
  describe_emulation(primitive_->output.type, sink);
}

}  // namespace deepbench::cpu::onednn
