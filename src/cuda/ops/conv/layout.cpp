// The layouts, padding and sizes of a convolution's tensors.
#include "ops/conv/layout.hpp"

#include "buffer.hpp"

namespace deepbench::cuda {
namespace {

using Sizes = std::vector<int64_t>;

int64_t round_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

bool is_of(const Conv& conv, Precision precision) { return conv.precision.precision == precision; }

// The 32-bit sums of 8-bit integers are returned as float, which is exact up to 2^24.
deepbench_type output_type(const Conv& conv) {
  return conv.precision.c == DEEPBENCH_S32 ? DEEPBENCH_F32 : conv.precision.c;
}

// Tensor cores require numbers of channels that are multiples of the returned value.
int64_t channel_multiple(const Conv& conv) {
  switch (conv.precision.precision) {
    case Precision::kHalf:
    case Precision::kBfloat16:
      return 8;
    case Precision::kFp8E4m3:
    case Precision::kFp8E5m2:
      return 16;
    case Precision::kInt8:
      return 32;
    default:
      return 1;
  }
}

// The multiple with which other engines can be faster: 8-bit products without tensor cores take
// four channels, and for 16 bits the library may pad the channels itself.
int64_t least_channel_multiple(const Conv& conv) {
  if (is_of(conv, Precision::kInt8)) return 4;
  const bool has_16_bits = is_of(conv, Precision::kHalf) || is_of(conv, Precision::kBfloat16);
  return has_16_bits ? 1 : channel_multiple(conv);
}

std::string padding_rule_text(const Conv& conv, int64_t multiple) {
  const std::string number = std::to_string(multiple);
  return std::string(conv.precision.name) + ": channels are multiples of " + number +
         ", as tensor cores require";
}

// Pads only problems with one group, because padding would shift the boundaries of groups. Pads
// input and output channels together, as the original benchmark does.
void pad_channels(ConvLayout& layout, int64_t multiple) {
  const Conv& problem = layout.problem;
  if (problem.groups > 1 || (problem.c % multiple == 0 && problem.k % multiple == 0)) return;
  layout.executed.c = round_up(problem.c, multiple);
  layout.executed.k = round_up(problem.k, multiple);
  layout.padding_rule = padding_rule_text(problem, multiple);
}

Sizes spatial_sizes(const Conv& conv, int64_t depth, int64_t height, int64_t width) {
  return conv.is_3d() ? Sizes{depth, height, width} : Sizes{height, width};
}

ConvTensor make_tensor(const char* operand, uint32_t stream, deepbench_type type, int64_t first,
                       int64_t second, const Sizes& stored, const Sizes& spatial) {
  ConvTensor tensor;
  tensor.operand = operand, tensor.stream = stream, tensor.type = type;
  tensor.first = first, tensor.second = second;
  tensor.sizes = stored;
  tensor.sizes.insert(tensor.sizes.end(), spatial.begin(), spatial.end());
  for (const int64_t size : spatial) tensor.rest *= size;
  return tensor;
}

void make_tensors(ConvLayout& layout) {
  const Conv &a = layout.problem, &r = layout.executed;
  const deepbench_type out = output_type(a);
  const bool data = a.phase == ConvPhase::kBackwardData;
  const bool filter = a.phase == ConvPhase::kBackwardFilter;
  layout.x = make_tensor(data ? "dx" : "x", Conv::kStreamX, data ? out : a.x_type, a.n, a.c,
                         {r.n, r.c}, spatial_sizes(a, a.d, a.h, a.w));
  layout.w = make_tensor(filter ? "dw" : "w", Conv::kStreamW, filter ? out : a.precision.b, a.k,
                         a.group_c(), {r.k, r.group_c()}, spatial_sizes(a, a.t, a.r, a.s));
  const bool forward = a.phase == ConvPhase::kForward;
  layout.y = make_tensor(forward ? "y" : "dy", Conv::kStreamDy, forward ? out : a.precision.a, a.n,
                         a.k, {r.n, r.k}, spatial_sizes(a, a.o(), a.p(), a.q()));
  for (ConvTensor* tensor : {&layout.x, &layout.w, &layout.y})
    tensor->channels_last = layout.channels_last;
}

ConvLayout make_layout(const Conv& problem, bool channels_last, int64_t multiple) {
  ConvLayout layout;
  layout.name = channels_last ? "nhwc" : "nchw";
  layout.problem = layout.executed = problem;
  layout.channels_last = channels_last;
  pad_channels(layout, multiple);
  make_tensors(layout);
  return layout;
}

}  // namespace

uint64_t ConvTensor::elements() const {
  uint64_t count = 1;
  for (const int64_t size : sizes) count = saturating_multiply(count, uint64_t(size));
  return count;
}

uint64_t ConvTensor::bytes() const {
  return saturating_multiply(elements(), uint64_t(size_of(type)));
}

bool ConvTensor::is_padded() const { return sizes[0] != first || sizes[1] != second; }

std::vector<int64_t> ConvTensor::strides() const {
  std::vector<int64_t> all(sizes.size());
  int64_t next = 1;
  if (channels_last) all[1] = 1, next = sizes[1];
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 1 && channels_last) continue;
    all[i] = next;
    next *= sizes[i];
  }
  return all;
}

Matrix ConvTensor::logical_view(void* data) const {
  const std::vector<int64_t> apart = strides();
  Matrix matrix;
  matrix.data = data, matrix.type = type;
  matrix.rows = uint64_t(rest), matrix.row_stride = uint64_t(apart.back());
  matrix.columns = uint64_t(second), matrix.column_stride = uint64_t(apart[1]);
  matrix.planes = uint64_t(first), matrix.plane_stride = uint64_t(apart[0]);
  return matrix;
}

Matrix ConvTensor::output_view(const ConvOutput& output, void* data) const {
  Matrix matrix = logical_view(data);
  if (output.second_is_slowest) {
    std::swap(matrix.columns, matrix.planes);
    std::swap(matrix.column_stride, matrix.plane_stride);
  }
  return matrix;
}

const ConvTensor& ConvLayout::output() const {
  switch (problem.phase) {
    case ConvPhase::kForward:
      return y;
    case ConvPhase::kBackwardData:
      return x;
    default:
      return w;
  }
}

std::vector<const ConvTensor*> ConvLayout::inputs() const {
  std::vector<const ConvTensor*> all;
  for (const ConvTensor* tensor : {&x, &w, &y})
    if (tensor != &output()) all.push_back(tensor);
  return all;
}

uint64_t ConvLayout::touched_bytes() const {
  return saturating_add(saturating_add(x.bytes(), w.bytes()), y.bytes());
}

uint64_t ConvLayout::needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes) const {
  uint64_t bytes = saturating_add(workspace_bytes, plan.flush_bytes);
  for (const ConvTensor* tensor : {&x, &w, &y})
    bytes = saturating_add(bytes, Copies::needed_bytes(tensor->bytes(), plan.copies));
  return bytes;
}

std::vector<ConvLayout> conv_layouts(const Conv& problem, const std::string& layout, bool pad) {
  const int64_t multiple = pad ? channel_multiple(problem) : 1;
  const auto make = [&](bool channels_last) {
    return make_layout(problem, channels_last, multiple);
  };
  if (layout == "nchw") return {make(false)};
  if (layout == "nhwc") return {make(true)};
  const bool last_first = !is_of(problem, Precision::kFloat);
  std::vector<ConvLayout> layouts = {make(last_first)};
  if (const int64_t fewer = least_channel_multiple(problem); pad && fewer < multiple) {
    ConvLayout one = make_layout(problem, true, fewer);
    if (one.executed.c != layouts[0].executed.c || one.executed.k != layouts[0].executed.k) {
      one.name += std::to_string(fewer);
      if (!one.padding_rule.empty()) one.padding_rule = "int8: channels are multiples of 4";
      layouts.push_back(std::move(one));
    }
  }
  layouts.push_back(make(!last_first));
  return layouts;
}

}  // namespace deepbench::cuda
