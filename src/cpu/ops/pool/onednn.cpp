// Pooling through oneDNN. The gradient of a maximum needs a result of the forward pass: the index
// of each maximum in its window, which oneDNN calls the workspace. The forward pass is not timed.
#include "deepbench/ops/pool/pool.hpp"
#include "implementation.hpp"
#include "onednn/image_plan.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

dnnl_alg_kind_t algorithm_of(const Pool& pool) {
  return pool.is_average ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_max;
}

const_dnnl_memory_desc_t workspace_of(const ImagePrimitive& primitive) {
  return Api::instance().primitive_desc_query_md_f(primitive.timed.get(), dnnl_query_workspace_md,
                                                   0);
}

uint64_t workspace_bytes(const ImagePrimitive& primitive) {
  return Api::instance().memory_desc_get_size_f(workspace_of(primitive));
}

// The primitives of a problem with images x and y in one layout.
class PoolRequest {
 public:
  PoolRequest(const Pool& pool, const Images& x, const Images& y)
      : pool_(pool),
        x_(x),
        y_(y),
        strides_{pool.stride_h, pool.stride_w},
        window_{pool.r, pool.s},
        padding_{pool.pad_h, pool.pad_w} {}

  PrimitiveDesc forward(dnnl_prop_kind_t kind) const {
    const Api& api = Api::instance();
    dnnl_primitive_desc_t made = nullptr;
    require(api.pooling_forward_primitive_desc_create_f(
        &made, api.engine(), kind, algorithm_of(pool_), x_.stored.get(), y_.stored.get(), strides_,
        window_, kNoDilation, padding_, padding_, attributes_.get()));
    return PrimitiveDesc(made);
  }

  PrimitiveDesc backward(const_dnnl_primitive_desc_t forward) const {
    const Api& api = Api::instance();
    dnnl_primitive_desc_t made = nullptr;
    require(api.pooling_backward_primitive_desc_create_f(
        &made, api.engine(), algorithm_of(pool_), x_.stored.get(), y_.stored.get(), strides_,
        window_, kNoDilation, padding_, padding_, forward, attributes_.get()));
    return PrimitiveDesc(made);
  }

 private:
  static constexpr dnnl_dims_t kNoDilation = {0, 0};

  void require(dnnl_status_t status) const {
    require_primitive(status, "such pooling", pool_.precision);
  }

  const Pool& pool_;
  const Images &x_, &y_;
  const Attributes attributes_ = strict_attributes();
  const dnnl_dims_t strides_, window_, padding_;
};

constexpr size_t kDy = 0, kX = 1;  // inputs of a gradient

// Computes the workspace of x.
class ForwardPass final : public PrimitiveCall {
 public:
  ForwardPass(const ImagePrimitive& primitive, const ImageOperands& operands, void* workspace,
              int threads)
      : PrimitiveCall(primitive.forward.get(), 1, threads),
        y_(primitive.inputs[kDy].stored_bytes()) {
    set_argument(0, DNNL_ARG_SRC, primitive.inputs[kX].stored.get(), operands.input(kX, 0));
    set_argument(0, DNNL_ARG_DST, primitive.inputs[kDy].stored.get(), y_.data());
    set_argument(0, DNNL_ARG_WORKSPACE, workspace_of(primitive), workspace);
  }

  void execute() {
    const Api& api = Api::instance();
    api.check(dnnl_status_t(run(0)), "the forward pass of pooling");
    api.check(api.stream_wait_f(api.stream()), "the forward pass of pooling");
  }

 private:
  const Buffer y_;
};

class PoolCall final : public ImageCall {
 public:
  PoolCall(const std::shared_ptr<const ImagePrimitive>& primitive, const ImageOperands& operands,
           int threads)
      : ImageCall(primitive, operands, threads) {
    if (!primitive->forward) return;
    const uint64_t bytes = workspace_bytes(*primitive);
    if (bytes == 0) return;
    workspace_ = Copies(bytes, operands.copies());
    ForwardPass(*primitive, operands, workspace_.at(0), threads).execute();
    workspace_.replicate();
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      set_argument(copy, DNNL_ARG_WORKSPACE, workspace_of(*primitive), workspace_.at(copy));
  }

 private:
  Copies workspace_;  // only for the gradient of maxima
};

struct PoolTraits {
  using Problem = Pool;
  using Call = PoolCall;
  static Pool parse(const plugin::Problem& problem) { return pool_problem(problem); }
  static double work(const Pool& pool) {
    return double(pool.y_size()) * double(pool.r) * double(pool.s);
  }

  static ImagePrimitive make(const Pool& pool, const std::string& layout) {
    const ImageSizes x_sizes = {pool.n, pool.c, pool.h, pool.w},
                     y_sizes = {pool.n, pool.c, pool.p(), pool.q()};
    const auto x = [&] { return images_of(x_sizes, pool.type(), layout, Pool::kStreamX); };
    const auto y = [&] { return images_of(y_sizes, pool.type(), layout, Pool::kStreamDy); };
    ImagePrimitive made;
    if (!pool.is_backward) {
      made.inputs.push_back(x()), made.output = y();
      made.timed = PoolRequest(pool, made.inputs[0], made.output).forward(dnnl_forward_inference);
      return made;
    }
    made.inputs.push_back(y()), made.output = x();
    if (!pool.is_average) made.inputs.push_back(x());
    const PoolRequest request(pool, made.output, made.inputs[0]);
    made.forward = request.forward(dnnl_forward_training);
    made.timed = request.backward(made.forward.get());
    return made;
  }

  // The size of the workspace, and of y while the forward pass runs.
  static uint64_t extra_bytes(const ImagePrimitive& primitive, const CopyPlan& copies) {
    if (!primitive.forward) return 0;
    return saturating_add(Copies::needed_bytes(workspace_bytes(primitive), copies.copies),
                          primitive.inputs[0].stored_bytes());
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_pool() {
  return plugin::implementation_of_plan<onednn::ImagePlan<onednn::PoolTraits>>();
}

}  // namespace deepbench::cpu
