// Selects candidates, layouts and primitives of oneDNN's convolutions.
#include "ops/conv/onednn_plan.hpp"

#include <cstdlib>

#include "deepbench/plugin.hpp"
#include "onednn/primitive_call.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::onednn {
namespace {

using Dims = std::vector<int64_t>;

constexpr const char* kLayoutNames[] = {"library", "nchw", "nhwc"};

// How many times slower oneDNN's reference convolution is than its other reference implementations.
constexpr double kReferenceSlowness = 10;

const char* name_of(ConvLayout layout) { return kLayoutNames[int(layout)]; }

bool is_int8(const Conv& conv) { return conv.precision.precision == Precision::kInt8; }

// The layouts that the problem's layout permits. The first one is the default.
std::vector<ConvLayout> layouts_of(const std::string& layout) {
  if (layout == "nchw") return {ConvLayout::kNchw};
  if (layout == "nhwc") return {ConvLayout::kNhwc};
  return {ConvLayout::kLibrary, ConvLayout::kNhwc, ConvLayout::kNchw};
}

std::string candidate_id(const ConvCandidate& candidate) {
  if (candidate.winograd) return "wino";
  const std::string name = name_of(candidate.layout);
  return candidate.implementation.empty() ? name : name + ":" + candidate.implementation;
}

ConvCandidate parse_candidate(const std::string& id, const std::string& layout) {
  ConvCandidate candidate;
  candidate.layout = layouts_of(layout).front();
  if (id.empty()) return candidate;
  candidate.winograd = id == "wino";
  const size_t colon = id.find(':');
  for (const ConvLayout one : layouts_of(layout))
    if (id.substr(0, colon) == name_of(one)) candidate.layout = one;
  if (colon != std::string::npos) candidate.implementation = id.substr(colon + 1);
  if (candidate_id(candidate) != id) reject_candidate("onednn", id);
  return candidate;
}

// ---- shapes -------------------------------------------------------------------------------------

// Height and width, preceded by depth in three dimensions.
Dims spatial_dims(const Conv& conv, int64_t depth, int64_t height, int64_t width) {
  return conv.is_3d() ? Dims{depth, height, width} : Dims{height, width};
}

Dims concatenate(Dims front, const Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

Dims x_dims(const Conv& c) { return concatenate({c.n, c.c}, spatial_dims(c, c.d, c.h, c.w)); }
Dims y_dims(const Conv& c) { return concatenate({c.n, c.k}, spatial_dims(c, c.o(), c.p(), c.q())); }
Dims w_dims(const Conv& c) {
  const Dims front = c.groups > 1 ? Dims{c.groups, c.group_k(), c.group_c()} : Dims{c.k, c.c};
  return concatenate(front, spatial_dims(c, c.t, c.r, c.s));
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return strides;
}

// The strides of ConvOutput's order. Filters with groups split k into two dimensions: the groups
// come first.
Dims ordered_strides(const Conv& conv, const Dims& dims) {
  Dims strides = row_major_strides(dims);
  const ConvOutput output = conv.output();
  if (!output.second_is_slowest || output.first == 1) return strides;
  const size_t second = dims.size() - spatial_dims(conv, 1, 1, 1).size() - 1;
  for (size_t i = 0; i < second; ++i) strides[i] /= output.second;
  strides[second] = output.first * output.rest;
  return strides;
}

MemoryDesc strided_desc(const Dims& dims, const Dims& strides, deepbench_type type) {
  const Api& api = Api::instance();
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_strides_f(&made, int(dims.size()), dims.data(),
                                                  data_type(type), strides.data()),
            "describing a tensor");
  return MemoryDesc(made);
}

MemoryDesc tagged_desc(const Dims& dims, deepbench_type type, dnnl_format_tag_t tag) {
  const Api& api = Api::instance();
  dnnl_memory_desc_t made = nullptr;
  api.check(
      api.memory_desc_create_with_tag_f(&made, int(dims.size()), dims.data(), data_type(type), tag),
      "describing a tensor");
  return MemoryDesc(made);
}

dnnl_format_tag_t tag_of(ConvLayout layout, bool is_3d) {
  switch (layout) {
    case ConvLayout::kNchw:
      return is_3d ? dnnl_ncdhw : dnnl_nchw;
    case ConvLayout::kNhwc:
      return is_3d ? dnnl_ndhwc : dnnl_nhwc;
    default:
      return dnnl_format_tag_any;
  }
}

// ---- primitives ---------------------------------------------------------------------------------

ConvTensor make_tensor(const char* operand, int argument, uint32_t stream, deepbench_type type,
                       const Dims& dims) {
  ConvTensor made;
  made.operand = operand, made.argument = argument, made.stream = stream, made.type = type;
  made.elements = 1;
  for (const int64_t size : dims) made.elements *= uint64_t(size);
  made.plain = strided_desc(dims, row_major_strides(dims), type);
  return made;
}

void set_tensors(ConvPlan& plan) {
  const Conv& c = plan.conv;
  const PrecisionInfo& precision = c.precision;
  const deepbench_type w_type =
      is_int8(c) && !Api::instance().has_exact_int8() ? DEEPBENCH_S7 : precision.b;
  const auto x = [&](int argument, deepbench_type type) {
    return make_tensor("x", argument, Conv::kStreamX, type, x_dims(c));
  };
  const auto w = [&](int argument, deepbench_type type) {
    return make_tensor("w", argument, Conv::kStreamW, type, w_dims(c));
  };
  const auto y = [&](int argument, deepbench_type type) {
    return make_tensor("dy", argument, Conv::kStreamDy, type, y_dims(c));
  };
  Dims output;
  switch (c.phase) {
    case ConvPhase::kForward:
      plan.inputs = {x(DNNL_ARG_SRC, c.x_type), w(DNNL_ARG_WEIGHTS, w_type)};
      plan.output = y(DNNL_ARG_DST, precision.c), output = y_dims(c);
      break;
    case ConvPhase::kBackwardData:
      plan.inputs = {y(DNNL_ARG_DIFF_DST, precision.a), w(DNNL_ARG_WEIGHTS, w_type)};
      plan.output = x(DNNL_ARG_DIFF_SRC, precision.c), output = x_dims(c);
      break;
    default:
      plan.inputs = {x(DNNL_ARG_SRC, c.x_type), y(DNNL_ARG_DIFF_DST, precision.a)};
      plan.output = w(DNNL_ARG_DIFF_WEIGHTS, precision.c), output = w_dims(c);
  }
  plan.ordered = strided_desc(output, ordered_strides(c, output), plan.output.type);
  plan.scale = strided_desc({1}, {1}, DEEPBENCH_F32);
}

// Holds the arguments of the primitive and assigns each tensor's description to its role.
class ConvRequest {
 public:
  ConvRequest(const Conv& conv, const ConvCandidate& candidate, const ConvPlan& plan)
      : c_(conv),
        algorithm_(candidate.winograd ? dnnl_convolution_winograd
                   : is_int8(conv)    ? dnnl_convolution_direct  // Winograd is not exact
                                      : dnnl_convolution_auto),
        attributes_(strict_attributes()),
        strides_(spatial_dims(conv, conv.stride_d, conv.stride_h, conv.stride_w)),
        dilations_(
            spatial_dims(conv, conv.dilation_d - 1, conv.dilation_h - 1, conv.dilation_w - 1)),
        padding_(spatial_dims(conv, conv.pad_d, conv.pad_h, conv.pad_w)) {
    const dnnl_format_tag_t tag = tag_of(candidate.layout, conv.is_3d());
    for (const ConvTensor* tensor : {&plan.inputs[0], &plan.inputs[1], &plan.output}) {
      const char role = tensor->operand[0];
      if (role == 'x') x_ = tagged_desc(x_dims(conv), tensor->type, tag);
      if (role == 'w') w_ = tagged_desc(w_dims(conv), tensor->type, dnnl_format_tag_any);
      if (role == 'd') y_ = tagged_desc(y_dims(conv), tensor->type, tag);
    }
    const Api& api = Api::instance();
    if (conv.saturates())
      api.check(api.primitive_attr_set_scales_mask_f(attributes_.get(), DNNL_ARG_SRC, 0),
                "selecting scaled sums");
  }

  dnnl_status_t create(dnnl_primitive_desc_t* made) const {
    const Api& api = Api::instance();
    switch (c_.phase) {
      case ConvPhase::kForward:
        return api.convolution_forward_primitive_desc_create_f(
            made, api.engine(), dnnl_forward_training, algorithm_, x_.get(), w_.get(), nullptr,
            y_.get(), strides_.data(), dilations_.data(), padding_.data(), padding_.data(),
            attributes_.get());
      case ConvPhase::kBackwardData:
        return api.convolution_backward_data_primitive_desc_create_f(
            made, api.engine(), algorithm_, x_.get(), w_.get(), y_.get(), strides_.data(),
            dilations_.data(), padding_.data(), padding_.data(), nullptr, attributes_.get());
      default:
        return api.convolution_backward_weights_primitive_desc_create_f(
            made, api.engine(), algorithm_, x_.get(), w_.get(), nullptr, y_.get(), strides_.data(),
            dilations_.data(), padding_.data(), padding_.data(), nullptr, attributes_.get());
    }
  }

 private:
  const Conv& c_;
  dnnl_alg_kind_t algorithm_;
  Attributes attributes_;
  Dims strides_, dilations_, padding_;
  MemoryDesc x_, w_, y_;
};

dnnl_query_t query_of(int argument) {
  switch (argument) {
    case DNNL_ARG_SRC:
      return dnnl_query_src_md;
    case DNNL_ARG_WEIGHTS:
      return dnnl_query_weights_md;
    case DNNL_ARG_DST:
      return dnnl_query_dst_md;
    case DNNL_ARG_DIFF_SRC:
      return dnnl_query_diff_src_md;
    case DNNL_ARG_DIFF_WEIGHTS:
      return dnnl_query_diff_weights_md;
    default:
      return dnnl_query_diff_dst_md;
  }
}

ConvPlan plan_with(const Conv& conv, const ConvCandidate& candidate) {
  ConvPlan plan;
  plan.conv = conv, plan.candidate = candidate;
  set_tensors(plan);
  return plan;
}

void set_primitive(ConvPlan& plan, PrimitiveDesc primitive) {
  plan.primitive = std::move(primitive);
  for (ConvTensor* tensor : {&plan.inputs[0], &plan.inputs[1], &plan.output})
    tensor->stored = Api::instance().primitive_desc_query_md_f(plan.primitive.get(),
                                                               query_of(tensor->argument), 0);
}

// Creates the primitive of the implementation that the candidate names. Returns the status of the
// creation, or of the step at which oneDNN's list ended.
dnnl_status_t create_primitive(ConvPlan& plan) {
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = ConvRequest(plan.conv, plan.candidate, plan).create(&made);
  if (status != dnnl_success) return status;
  PrimitiveDesc primitive(made);
  const std::string& name = plan.candidate.implementation;
  if (!name.empty() && !advance_to_implementation(made, name)) return dnnl_last_impl_reached;
  detach_from_list(primitive, plan.alternatives);
  set_primitive(plan, std::move(primitive));
  return dnnl_success;
}

// Within one layout the implementation's name decides, because it also names the candidate.
bool is_same_plan(const ConvPlan& a, const ConvPlan& b) {
  const auto equal = Api::instance().memory_desc_equal_f;
  if (implementation_name(a.primitive.get()) != implementation_name(b.primitive.get()))
    return false;
  if (a.candidate.layout == b.candidate.layout && !a.candidate.winograd && !b.candidate.winograd)
    return true;
  return equal(a.inputs[0].stored, b.inputs[0].stored) &&
         equal(a.inputs[1].stored, b.inputs[1].stored) && equal(a.output.stored, b.output.stored);
}

bool is_reference(const ConvPlan& plan) {
  return implementation_name(plan.primitive.get()).compare(0, 3, "ref") == 0;
}

// For signed activations, oneDNN's kernels for processors without VNNI halve each filter element,
// which drops its last bit.
bool halves_filters(const ConvPlan& plan) {
  return is_int8(plan.conv) && plan.conv.x_type == DEEPBENCH_S8 &&
         !Api::instance().has_exact_int8() && !is_reference(plan);
}

bool is_lossy(const ConvPlan& plan) {
  return halves_filters(plan) ||
         (is_int8(plan.conv) && is_saturating(implementation_name(plan.primitive.get())));
}

void reject_lossy(const ConvPlan& plan) {
  if (is_int8(plan.conv)) reject_saturating(implementation_name(plan.primitive.get()));
  if (halves_filters(plan))
    plugin::unsupported("oneDNN " + Api::instance().version() +
                        " halves the filters if activations are signed and the processor has no "
                        "VNNI, which loses their last bit; x_type=u8 is exact");
}

void require_phase(const Conv& conv) {
  if (is_int8(conv) && conv.phase != ConvPhase::kForward)
    plugin::unsupported("oneDNN " + Api::instance().version() +
                        " has no gradients of 8-bit convolutions");
}

ConvPlan make_plan(const Conv& conv, const ConvCandidate& candidate, const std::string& id) {
  require_precision(conv.precision.precision);
  require_phase(conv);
  ConvPlan plan = plan_with(conv, candidate);
  const dnnl_status_t status = create_primitive(plan);
  if (status != dnnl_success && !id.empty()) reject_candidate("onednn", id);
  require_primitive(status, "such convolution", conv.precision);
  return plan;
}

// The candidates whose plans differ, without duplicates.
class CandidateList {
 public:
  CandidateList(const Conv& conv, const std::string& layout, RowPlans<ConvPlan>& row)
      : conv_(conv), row_(row) {
    const std::vector<ConvLayout> layouts = layouts_of(layout);
    // The default comes first. If it is unsupported, so is every candidate.
    add_layout(plan_conv(conv, layout, "", row));
    for (size_t i = 1; i < layouts.size(); ++i) add_planned({layouts[i]});
    if (!is_int8(conv)) add_planned({layouts.front(), "", true});
  }

  const std::vector<std::string>& ids() const { return ids_; }

 private:
  using PlanPointer = std::shared_ptr<const ConvPlan>;

  void add_planned(const ConvCandidate& candidate) {
    const auto plan = plan_if_supported([&] {
      const std::string id = candidate_id(candidate);
      return row_.plan(id, [&] { return make_plan(conv_, candidate, id); });
    });
    if (!plan) return;
    if (candidate.winograd)
      add(*plan);
    else
      add_layout(*plan);
  }

  // Adds the plan and those of the implementations behind it.
  void add_layout(const PlanPointer& plan) {
    constexpr int kMaxImplementations = 16;
    const dnnl_primitive_desc_t list = plan->alternatives.get();
    bool more = add(plan);
    for (int i = 1; i < kMaxImplementations && more; ++i) {
      if (Api::instance().primitive_desc_next_impl_f(list) != dnnl_success) return;
      ConvCandidate candidate = plan->candidate;
      candidate.implementation = implementation_name(list);
      more = plan_if_supported([&] { return add(alternative(candidate, list)); }).value_or(true);
    }
  }

  PlanPointer alternative(const ConvCandidate& candidate, const_dnnl_primitive_desc_t primitive) {
    return row_.plan(candidate_id(candidate), [&] {
      ConvPlan plan = plan_with(conv_, candidate);
      set_primitive(plan, copy_of(primitive));
      return plan;
    });
  }

  // Returns whether oneDNN's list may contain further implementations that are worth trying.
  bool add(const PlanPointer& plan) {
    if (is_reference(*plan) && !plans_.empty())
      return false;  // comes last and is never the fastest
    if (is_lossy(*plan)) return true;
    for (const PlanPointer& other : plans_)
      if (is_same_plan(*other, *plan)) return true;
    plans_.push_back(plan);
    ids_.push_back(candidate_id(plan->candidate));
    return true;
  }

  const Conv& conv_;
  RowPlans<ConvPlan>& row_;
  std::vector<PlanPointer> plans_;
  std::vector<std::string> ids_;
};

}  // namespace

bool ConvTensor::is_plain() const {
  return Api::instance().memory_desc_equal_f(plain.get(), stored) != 0;
}
uint64_t ConvTensor::plain_bytes() const { return elements * uint64_t(size_of(type)); }
uint64_t ConvTensor::stored_bytes() const { return Api::instance().memory_desc_get_size_f(stored); }

bool ConvPlan::is_winograd() const {
  return implementation_name(primitive.get()).find("wino") != std::string::npos;
}
bool ConvPlan::is_ordered() const {
  return Api::instance().memory_desc_equal_f(ordered.get(), output.stored) != 0;
}
uint64_t ConvPlan::touched_bytes() const {
  return inputs[0].stored_bytes() + inputs[1].stored_bytes() + output.stored_bytes();
}

std::shared_ptr<const ConvPlan> plan_conv(const Conv& conv, const std::string& layout,
                                          const std::string& candidate, RowPlans<ConvPlan>& row) {
  const ConvCandidate parsed = parse_candidate(candidate, layout);
  auto plan = row.plan(candidate_id(parsed), [&] { return make_plan(conv, parsed, candidate); });
  reject_lossy(*plan);
  reject_too_slow(implementation_name(plan->primitive.get()), kReferenceSlowness * conv.flops());
  return plan;
}

std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         RowPlans<ConvPlan>& row) {
  return row.candidates([&] { return CandidateList(conv, layout, row).ids(); });
}

}  // namespace deepbench::cpu::onednn
