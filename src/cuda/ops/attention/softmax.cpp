// Chooses the instance of the softmax kernel and its grid.
#include "ops/attention/softmax.hpp"

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kWideVector = 8;
constexpr int64_t kKeysOfWarp = 1024;  // keys of a row that one warp reads in few steps
constexpr double kLog2E = 1.4426950408889634;

AttentionSoftmax softmax_of(const Attention& a) {
  AttentionSoftmax softmax = {};
  softmax.rows = uint64_t(a.products() * a.rows());
  softmax.queries = uint32_t(a.seq_q);
  softmax.keys = uint32_t(a.seq_kv);
  softmax.heads = uint32_t(a.heads);
  softmax.is_masked = a.mask != AttentionMask::kNone;
  softmax.diagonal = a.mask == AttentionMask::kBottomRight ? int32_t(a.seq_kv - a.seq_q) : 0;
  softmax.window = uint32_t(a.window);
  softmax.values = uint32_t(a.dim_v);
  softmax.scale = float(a.scale());
  softmax.factor = float(a.scale() * kLog2E);
  softmax.inverse_scale = float(1 / a.scale());
  return softmax;
}

}  // namespace

SoftmaxPlan::SoftmaxPlan(const Attention& attention)
    : softmax(softmax_of(attention)),
      type(attention.type()),
      vector(attention.seq_kv % kWideVector == 0 ? kWideVector : 1),
      warps(attention.seq_kv <= kKeysOfWarp ? 1 : ATTENTION_WARPS) {
  constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;
  if (softmax.rows > kMostBlocks)
    plugin::unsupported("the softmax kernel has no grid for so many queries");
}

std::string SoftmaxPlan::expression() const { return instance_of("attention_softmax"); }
std::string SoftmaxPlan::gradient_expression() const {
  return instance_of("attention_softmax_gradient");
}
std::string SoftmaxPlan::sink_expression() const {
  return "attention_sink_gradient<" + std::to_string(ATTENTION_WARPS) + ">";
}

std::string SoftmaxPlan::instance_of(const std::string& kernel) const {
  return kernel + "<" + std::to_string(int(type)) + ", " + std::to_string(vector) + ", " +
         std::to_string(warps) + ">";
}

LaunchShape SoftmaxPlan::shape() const {
  LaunchShape shape;
  shape.block_x = ATTENTION_WARP * warps;
  shape.block_y = ATTENTION_WARPS / warps;
  shape.grid_x = uint32_t((softmax.rows + shape.block_y - 1) / shape.block_y);
  return shape;
}

LaunchShape SoftmaxPlan::sink_shape() const {
  LaunchShape shape;
  shape.block_x = ATTENTION_WARP * ATTENTION_WARPS;
  shape.grid_x = softmax.heads;
  return shape;
}

}  // namespace deepbench::cuda
