// Local response normalization across channels through oneDNN, which divides alpha by the size as
// the problem's definition does.
#include "deepbench/ops/lrn/lrn.hpp"
#include "implementation.hpp"
#include "onednn/image_plan.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

struct LrnTraits {
  using Problem = Lrn;
  using Call = ImageCall;
  static Lrn parse(const plugin::Problem& problem) { return lrn_problem(problem); }
  static double work(const Lrn& lrn) { return double(lrn.elements()) * double(lrn.size); }

  static ImagePrimitive make(const Lrn& lrn, const std::string& layout) {
    const Api& api = Api::instance();
    const ImageSizes sizes = {lrn.n, lrn.c, lrn.h, lrn.w};
    const Attributes attributes = strict_attributes();
    ImagePrimitive made;
    made.inputs.push_back(images_of(sizes, lrn.type(), layout, Lrn::kStreamX));
    made.output = images_of(sizes, lrn.type(), layout);
    dnnl_primitive_desc_t description = nullptr;
    const dnnl_status_t status = api.lrn_forward_primitive_desc_create_f(
        &description, api.engine(), dnnl_forward_inference, dnnl_lrn_across_channels,
        made.inputs[0].stored.get(), made.output.stored.get(), lrn.size, float(Lrn::kAlpha),
        float(Lrn::kBeta), float(Lrn::kK), attributes.get());
    require_primitive(status, "such normalization", lrn.precision);
    made.timed = PrimitiveDesc(description);
    return made;
  }
  static uint64_t extra_bytes(const ImagePrimitive&, const CopyPlan&) { return 0; }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_lrn() {
  return plugin::implementation_of_plan<onednn::ImagePlan<onednn::LrnTraits>>();
}

}  // namespace deepbench::cpu
