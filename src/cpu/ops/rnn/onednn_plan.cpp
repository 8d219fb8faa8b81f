// Describes oneDNN's recurrent layers, lists their candidates and reports unsupported problems.
#include "ops/rnn/onednn_plan.hpp"

#include <algorithm>

#include "deepbench/plugin.hpp"
#include "onednn/primitive_call.hpp"
#include "ops/rnn/onednn_int8.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::onednn {
namespace {

constexpr const char* kDefault = "rnn";
constexpr dnnl_rnn_direction_t kDirection = dnnl_unidirectional_left2right;
// Without this flag, oneDNN adds to the gradients.
constexpr unsigned kOverwrite = dnnl_rnn_flags_diff_weights_overwrite;

struct LayerCandidate {
  bool plain = false;        // "rnn:plain": weights in the formats that oneDNN documents.
  bool as_training = false;  // "rnn:training": inference with the weights' layout of training.
  // "rnn:ref:any": an implementation other than the default, by its name.
  std::string implementation{};
};

LayerCandidate layer_candidate(const Rnn& rnn, const std::string& id) {
  LayerCandidate candidate;
  if (id == kDefault) return candidate;
  candidate.plain = id == "rnn:plain" && !rnn.is_quantized();
  candidate.as_training = id == "rnn:training" && !rnn.is_training() && !rnn.is_quantized();
  if (candidate.plain || candidate.as_training) return candidate;

  const std::string prefix = "rnn:";
  if (id.compare(0, prefix.size(), prefix) != 0 || id == prefix) reject_candidate("onednn", id);
  candidate.implementation = id.substr(prefix.size());
  return candidate;
}

MemoryDesc tensor_desc(std::initializer_list<int64_t> sizes, dnnl_data_type_t type,
                       dnnl_format_tag_t tag) {
  const Api& api = Api::instance();
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_tag_f(&made, int(sizes.size()), sizes.begin(), type, tag),
            "describing an operand");
  return MemoryDesc(made);
}

struct TensorTypes {
  dnnl_data_type_t states, weights, y;
};

// The output y of int8 is float: the integer states divided by their scale.
TensorTypes types_of(const Rnn& rnn) {
  if (rnn.is_quantized()) return {dnnl_u8, dnnl_s8, dnnl_f32};
  const dnnl_data_type_t type = data_type(rnn.precision.a);
  return {type, type, type};
}

// One layer's operands, or their gradients, which are float in every precision.
struct Tensors {
  Tensors(const Rnn& rnn, const TensorTypes& types, dnnl_format_tag_t weights)
      : x(tensor_desc({rnn.timesteps, rnn.batch, rnn.inputs}, types.states, dnnl_tnc)),
        h(tensor_desc({1, 1, rnn.batch, rnn.hidden}, types.states, dnnl_ldnc)),
        c(tensor_desc({1, 1, rnn.batch, rnn.hidden}, dnnl_f32, dnnl_ldnc)),
        wx(tensor_desc({1, 1, rnn.inputs, rnn.gates(), rnn.hidden}, types.weights, weights)),
        u(tensor_desc({1, 1, rnn.hidden, rnn.gates(), rnn.hidden}, types.weights, weights)),
        b(tensor_desc({1, 1, rnn.biases(), rnn.hidden}, dnnl_f32, dnnl_ldgo)),
        y(tensor_desc({rnn.timesteps, rnn.batch, rnn.hidden}, types.y, dnnl_tnc)) {}
  MemoryDesc x, h, c, wx, u, b, y;
};

dnnl_status_t create_forward(const Rnn& rnn, const Tensors& t, const_dnnl_primitive_attr_t attr,
                             dnnl_primitive_desc_t* made) {
  const Api& api = Api::instance();
  const auto engine = api.engine();
  const auto kind = rnn.is_training() ? dnnl_forward_training : dnnl_forward_inference;
  if (rnn.cell == "vanilla")
    return api.vanilla_rnn_forward_primitive_desc_create_f(
        made, engine, kind, dnnl_eltwise_relu, kDirection, t.x.get(), t.h.get(), t.wx.get(),
        t.u.get(), t.b.get(), t.y.get(), t.h.get(), 0, 0, 0, attr);
  if (rnn.cell == "lstm")
    return api.lstm_forward_primitive_desc_create_f(
        made, engine, kind, kDirection, t.x.get(), t.h.get(), t.c.get(), t.wx.get(), t.u.get(),
        nullptr, nullptr, t.b.get(), t.y.get(), t.h.get(), t.c.get(), 0, attr);
  const auto create = rnn.cell == "gru" ? api.lbr_gru_forward_primitive_desc_create_f
                                        : api.gru_forward_primitive_desc_create_f;
  return create(made, engine, kind, kDirection, t.x.get(), t.h.get(), t.wx.get(), t.u.get(),
                t.b.get(), t.y.get(), t.h.get(), 0, attr);
}

// `t` are the operands and `d` their gradients; `hint` is the preceding forward pass.
dnnl_status_t create_backward(const Rnn& rnn, const Tensors& t, const Tensors& d,
                              const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t* made) {
  const Api& api = Api::instance();
  const auto engine = api.engine();
  if (rnn.cell == "vanilla")
    return api.vanilla_rnn_backward_primitive_desc_create_f(
        made, engine, dnnl_backward, dnnl_eltwise_relu, kDirection, t.x.get(), t.h.get(),
        t.wx.get(), t.u.get(), t.b.get(), t.y.get(), t.h.get(), d.x.get(), d.h.get(), d.wx.get(),
        d.u.get(), d.b.get(), d.y.get(), d.h.get(), kOverwrite, 0, 0, hint, attr);
  if (rnn.cell == "lstm")
    return api.lstm_backward_primitive_desc_create_f(
        made, engine, dnnl_backward, kDirection, t.x.get(), t.h.get(), t.c.get(), t.wx.get(),
        t.u.get(), nullptr, nullptr, t.b.get(), t.y.get(), t.h.get(), t.c.get(), d.x.get(),
        d.h.get(), d.c.get(), d.wx.get(), d.u.get(), nullptr, nullptr, d.b.get(), d.y.get(),
        d.h.get(), d.c.get(), kOverwrite, hint, attr);
  const auto create = rnn.cell == "gru" ? api.lbr_gru_backward_primitive_desc_create_f
                                        : api.gru_backward_primitive_desc_create_f;
  return create(made, engine, dnnl_backward, kDirection, t.x.get(), t.h.get(), t.wx.get(),
                t.u.get(), t.b.get(), t.y.get(), t.h.get(), d.x.get(), d.h.get(), d.wx.get(),
                d.u.get(), d.b.get(), d.y.get(), d.h.get(), kOverwrite, hint, attr);
}

void require_layer(const Rnn& rnn, dnnl_status_t status) {
  require_primitive(status, rnn.cell + " layer with phase=" + rnn.phase, rnn.precision);
}

MemoryDesc copy_of(const_dnnl_memory_desc_t description) {
  dnnl_memory_desc_t made = nullptr;
  Api::instance().check(Api::instance().memory_desc_clone_f(&made, description), "describing");
  return MemoryDesc(made);
}

PrimitiveDesc plan_forward(const Rnn& rnn, const LayerCandidate& candidate) {
  const auto weights = candidate.plain ? dnnl_ldigo : dnnl_format_tag_any;
  Tensors tensors(rnn, types_of(rnn), weights);
  if (candidate.as_training) {
    Rnn training = rnn;
    training.mode = "training";
    const PrimitiveDesc model = plan_forward(training, {});
    tensors.wx = copy_of(argument_description(model.get(), DNNL_ARG_WEIGHTS_LAYER));
    tensors.u = copy_of(argument_description(model.get(), DNNL_ARG_WEIGHTS_ITER));
  }
  const Attributes attributes = strict_attributes();
  if (rnn.is_quantized()) set_scales(rnn, attributes.get());
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = create_forward(rnn, tensors, attributes.get(), &made);
  require_layer(rnn, status);
  return PrimitiveDesc(made);
}

// The backward pass takes the weights transposed and returns their gradients in the layout of the
// forward pass.
PrimitiveDesc plan_backward(const Rnn& rnn, const_dnnl_primitive_desc_t forward, bool plain,
                            bool plain_gradients) {
  const auto weights = plain ? dnnl_ldgoi : dnnl_format_tag_any;
  const auto gradients = plain_gradients ? dnnl_ldigo : dnnl_format_tag_any;
  const Tensors tensors(rnn, types_of(rnn), weights);
  const Tensors diff(rnn, {dnnl_f32, dnnl_f32, dnnl_f32}, gradients);
  const Attributes attributes = strict_attributes();
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status =
      create_backward(rnn, tensors, diff, forward, attributes.get(), &made);
  require_layer(rnn, status);
  return PrimitiveDesc(made);
}

// Finds the strides of the gradient of the weights. Returns false if the layout is blocked.
bool find_strides(const_dnnl_memory_desc_t description, WeightStrides& strides) {
  const Api& api = Api::instance();
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  int blocks = 1;
  const dnnl_dims_t* found = nullptr;
  api.check(api.memory_desc_query_f(description, dnnl_query_format_kind, &kind),
            "querying a layout");
  if (kind != dnnl_blocked) return false;
  api.check(api.memory_desc_query_f(description, dnnl_query_inner_nblks_s32, &blocks),
            "querying a layout");
  api.check(api.memory_desc_query_f(description, dnnl_query_strides, &found), "querying a layout");
  strides = {(*found)[3], (*found)[4], (*found)[2],
             api.memory_desc_get_size_f(description) / sizeof(float)};
  return blocks == 0;
}

void skip_to_candidate(const LayerCandidate& candidate, dnnl_primitive_desc_t description) {
  const std::string& name = candidate.implementation;
  if (!name.empty() && !advance_to_implementation(description, name))
    reject_candidate("onednn", "rnn:" + name);
}

// Verification reads gradients of the weights, so their layout must not be blocked.
void plan_gradients(const LayerCandidate& candidate, LayerPlan& plan) {
  for (const bool plain : {candidate.plain, true}) {
    plan.backward = plan_backward(plan.storage.rnn, plan.forward.get(), candidate.plain, plain);
    skip_to_candidate(candidate, plan.backward.get());
    if (find_strides(argument_description(plan.backward.get(), DNNL_ARG_DIFF_WEIGHTS_ITER),
                     plan.storage.du))
      return;
  }
  plugin::unsupported(
      "oneDNN stores the gradient of the weights in a blocked layout, which deepbench cannot read");
}

uint64_t argument_bytes(const_dnnl_primitive_desc_t primitive, int argument) {
  const const_dnnl_memory_desc_t description = argument_description(primitive, argument);
  return description ? Api::instance().memory_desc_get_size_f(description) : 0;
}

uint64_t weight_bytes(const_dnnl_primitive_desc_t primitive) {
  return argument_bytes(primitive, DNNL_ARG_WEIGHTS_LAYER) +
         argument_bytes(primitive, DNNL_ARG_WEIGHTS_ITER);
}

// Whether the layout of U or of its gradient differs.
bool weight_layouts_differ(const LayerPlan& a, const LayerPlan& b) {
  for (const int argument : {DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_DIFF_WEIGHTS_ITER}) {
    const auto in_a = argument_description(a.timed_pass(), argument);
    const auto in_b = argument_description(b.timed_pass(), argument);
    if (in_a && in_b && !Api::instance().memory_desc_equal_f(in_a, in_b)) return true;
  }
  return false;
}

void require_phase(const Rnn& rnn) {
  require_precision(rnn.precision.precision);
  if (rnn.is_quantized() && rnn.is_training())
    plugin::unsupported("oneDNN supports 8-bit layers only for inference; use mode=inference");
  if (rnn.phase == "bwd_data" || rnn.phase == "bwd_weights")
    plugin::unsupported("oneDNN computes both gradients in one call; use phase=bwd");
}

LayerPlan make_plan(const Rnn& rnn, const std::string& id) {
  const LayerCandidate candidate = layer_candidate(rnn, id);
  require_phase(rnn);
  LayerPlan plan;
  plan.storage.rnn = rnn;
  plan.storage.states = rnn.is_quantized() ? DEEPBENCH_U8 : rnn.precision.a;
  if (rnn.is_quantized()) plan.storage.integers = int8_weight_type();
  plan.forward = plan_forward(rnn, candidate);
  if (rnn.is_forward())
    skip_to_candidate(candidate, plan.forward.get());
  else
    plan_gradients(candidate, plan);
  plan.storage.weight_bytes = weight_bytes(plan.timed_pass());
  if (id == kDefault)
    detach_from_list(plan.backward ? plan.backward : plan.forward, plan.alternatives);
  return plan;
}

std::vector<std::string> list_candidates(const Rnn& rnn, RowPlans<LayerPlan>& row) {
  const auto first = plan_layer(rnn, kDefault, row);
  std::vector<std::string> ids = {kDefault};
  const auto add_if_other = [&](const std::string& id) {
    const auto plan = plan_if_supported([&] { return plan_layer(rnn, id, row); });
    if (plan && weight_layouts_differ(*first, **plan)) ids.push_back(id);
  };
  if (!rnn.is_quantized()) add_if_other("rnn:plain");
  if (!rnn.is_quantized() && !rnn.is_training()) add_if_other("rnn:training");
  for (const std::string& name : alternative_implementations(first->alternatives.get()))
    ids.push_back("rnn:" + name);
  return ids;
}

}  // namespace

const_dnnl_memory_desc_t argument_description(const_dnnl_primitive_desc_t primitive, int argument) {
  const Api& api = Api::instance();
  const auto found = api.primitive_desc_query_md_f(primitive, dnnl_query_exec_arg_md, argument);
  return found && api.memory_desc_get_size_f(found) > 0 ? found : nullptr;
}

MemoryDesc problem_weights(const Rnn& rnn, int64_t columns, dnnl_data_type_t type) {
  return tensor_desc({1, 1, columns, rnn.gates(), rnn.hidden}, type, dnnl_ldgoi);
}

MemoryDesc transposed_weights(const Rnn& rnn, int64_t columns, dnnl_data_type_t type) {
  return tensor_desc({1, 1, columns, rnn.gates(), rnn.hidden}, type, dnnl_ldigo);
}

// prepare() does not hold all of its memory at the same time. It releases plain U before
// verification gathers the gradients, whose memory the storage counts; it also releases the forward
// pass before it creates the timed one.
uint64_t LayerPlan::bytes_beyond_storage() const {
  uint64_t bytes = 0;
  for (const int argument : kOtherArguments) bytes += argument_bytes(timed_pass(), argument);
  if (!backward) return bytes + scratchpad_bytes(timed_pass()) + storage.plain_weight_bytes();
  const uint64_t before = scratchpad_bytes(forward.get()) + weight_bytes(forward.get());
  const uint64_t after = scratchpad_bytes(timed_pass()) + weight_bytes(timed_pass());
  return bytes + argument_bytes(timed_pass(), DNNL_ARG_DST_LAYER) + std::max(before, after) -
         weight_bytes(timed_pass());
}

std::shared_ptr<const LayerPlan> plan_layer(const Rnn& rnn, const std::string& candidate,
                                            RowPlans<LayerPlan>& row) {
  const std::string id = candidate.empty() ? kDefault : candidate;
  return row.plan(id, [&] { return make_plan(rnn, id); });
}

std::vector<std::string> layer_candidates(const Rnn& rnn, RowPlans<LayerPlan>& row) {
  return row.candidates([&] { return list_candidates(rnn, row); });
}

}  // namespace deepbench::cpu::onednn
