// The baseline for recurrent layers: one layer through oneDNN's C API in a bare loop, without any
// code of deepbench. Layouts, attributes, pages and bound threads are those of the CPU backend's
// default. `inputs` above 1 shows the cost of the input product; `weights=plain` disables packed
// weights.
//   bare_onednn_rnn cell=lstm hidden=512 batch=16 timesteps=25 [phase=fwd|bwd] [mode=training]
//                   [precision=float|bfloat16] [inputs=1] [weights=any|plain] [seconds=2]
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "bare_loop.hpp"

namespace {

using Description = const_dnnl_memory_desc_t;
// Without this flag, gradients accumulate.
constexpr auto kOverwrite = dnnl_rnn_flags_diff_weights_overwrite;

void exit_on_error(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "bare_onednn_rnn: %s: status %d\n", what, int(status));
  std::exit(1);
}
#define CHECK(call) exit_on_error(call, #call)

struct Layer {
  std::string cell = "lstm", phase = "fwd", mode = "training", precision = "float", weights = "any";
  int64_t hidden = 0, batch = 0, timesteps = 0, inputs = 1;
  double seconds = 2;

  int64_t gates() const { return cell == "lstm" ? 4 : cell == "vanilla" ? 1 : 3; }
  int64_t biases() const { return cell == "gru" ? 4 : gates(); }
  bool is_backward() const { return phase == "bwd"; }
  dnnl_data_type_t type() const { return precision == "bfloat16" ? dnnl_bf16 : dnnl_f32; }
  double flops() const {
    return (is_backward() ? 4.0 : 2.0) * double(gates() * hidden * hidden) *
           double(batch * timesteps);
  }
};

Layer parse_layer(int count, char** words) {
  bare::Values values = bare::parse_values(count, words);
  Layer layer;
  const auto text = [&](const char* name, std::string& into) {
    if (values.count(name)) into = values[name];
  };
  text("cell", layer.cell), text("phase", layer.phase), text("mode", layer.mode);
  text("precision", layer.precision), text("weights", layer.weights);
  layer.hidden = std::atoll(values["hidden"].c_str());
  layer.batch = std::atoll(values["batch"].c_str());
  layer.timesteps = std::atoll(values["timesteps"].c_str());
  if (values.count("inputs")) layer.inputs = std::atoll(values["inputs"].c_str());
  if (values.count("seconds")) layer.seconds = std::atof(values["seconds"].c_str());
  if (layer.hidden <= 0 || layer.batch <= 0 || layer.timesteps <= 0 || layer.inputs <= 0) {
    std::fprintf(stderr, "usage: bare_onednn_rnn cell=lstm hidden=H batch=N timesteps=T ...\n");
    std::exit(2);
  }
  return layer;
}

// Allocates large pages and fills them with random full-mantissa numbers in [-scale, scale].
void* random_operand(size_t bytes, dnnl_data_type_t type, float scale) {
  void* data = bare::allocate_large_pages(bytes);
  static uint64_t seed = 1;
  for (size_t i = 0; i < bytes / (type == dnnl_bf16 ? 2 : 4); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const float value = scale * float(int32_t(seed >> 32)) * 0x1p-31f;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == dnnl_f32) static_cast<float*>(data)[i] = value;
    if (type == dnnl_bf16) static_cast<uint16_t*>(data)[i] = uint16_t(bits >> 16);
  }
  return data;
}

dnnl_memory_desc_t memory_description(std::vector<int64_t> dimensions, dnnl_data_type_t type,
                                      dnnl_format_tag_t tag) {
  dnnl_memory_desc_t made = nullptr;
  CHECK(dnnl_memory_desc_create_with_tag(&made, int(dimensions.size()), dimensions.data(), type,
                                         tag));
  return made;
}

struct Descriptions {
  Description x, h, c, wx, u, b, y;
};

// The backward pass takes transposed weights, and writes their gradients in the layout of the
// forward pass.
Descriptions layer_descriptions(const Layer& l, bool transposed, dnnl_data_type_t type) {
  const auto weights = l.weights != "plain" ? dnnl_format_tag_any
                       : transposed         ? dnnl_ldgoi
                                            : dnnl_ldigo;
  return {memory_description({l.timesteps, l.batch, l.inputs}, type, dnnl_tnc),
          memory_description({1, 1, l.batch, l.hidden}, type, dnnl_ldnc),
          l.cell == "lstm" ? memory_description({1, 1, l.batch, l.hidden}, dnnl_f32, dnnl_ldnc)
                           : nullptr,
          memory_description({1, 1, l.inputs, l.gates(), l.hidden}, type, weights),
          memory_description({1, 1, l.hidden, l.gates(), l.hidden}, type, weights),
          memory_description({1, 1, l.biases(), l.hidden}, dnnl_f32, dnnl_ldgo),
          memory_description({l.timesteps, l.batch, l.hidden}, type, dnnl_tnc)};
}

dnnl_primitive_attr_t primitive_attributes() {
  dnnl_primitive_attr_t made = nullptr;
  CHECK(dnnl_primitive_attr_create(&made));
  CHECK(dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user));
  CHECK(dnnl_primitive_attr_set_fpmath_mode(made, dnnl_fpmath_mode_strict));
  return made;
}

dnnl_primitive_desc_t describe_forward(const Layer& l, dnnl_engine_t engine) {
  const Descriptions d = layer_descriptions(l, false, l.type());
  const auto kind = l.mode == "inference" ? dnnl_forward_inference : dnnl_forward_training;
  const auto direction = dnnl_unidirectional_left2right;
  dnnl_primitive_desc_t made = nullptr;
  const auto gru = [&](auto create) {
    CHECK(create(&made, engine, kind, direction, d.x, d.h, d.wx, d.u, d.b, d.y, d.h, 0,
                 primitive_attributes()));
  };
  if (l.cell == "vanilla")
    CHECK(dnnl_vanilla_rnn_forward_primitive_desc_create(&made, engine, kind, dnnl_eltwise_relu,
                                                         direction, d.x, d.h, d.wx, d.u, d.b, d.y,
                                                         d.h, 0, 0, 0, primitive_attributes()));
  else if (l.cell == "lstm")
    CHECK(dnnl_lstm_forward_primitive_desc_create(&made, engine, kind, direction, d.x, d.h, d.c,
                                                  d.wx, d.u, nullptr, nullptr, d.b, d.y, d.h, d.c,
                                                  0, primitive_attributes()));
  else
    gru(l.cell == "gru" ? dnnl_lbr_gru_forward_primitive_desc_create
                        : dnnl_gru_forward_primitive_desc_create);
  return made;
}

dnnl_primitive_desc_t describe_backward(const Layer& l, dnnl_engine_t engine,
                                        dnnl_primitive_desc_t hint) {
  const Descriptions d = layer_descriptions(l, true, l.type()),
                     diff = layer_descriptions(l, false, dnnl_f32);
  const auto kind = dnnl_backward;
  const auto direction = dnnl_unidirectional_left2right;
  dnnl_primitive_desc_t made = nullptr;
  const auto gru = [&](auto create) {
    CHECK(create(&made, engine, kind, direction, d.x, d.h, d.wx, d.u, d.b, d.y, d.h, diff.x, diff.h,
                 diff.wx, diff.u, diff.b, diff.y, diff.h, kOverwrite, hint,
                 primitive_attributes()));
  };
  if (l.cell == "vanilla")
    CHECK(dnnl_vanilla_rnn_backward_primitive_desc_create(
        &made, engine, kind, dnnl_eltwise_relu, direction, d.x, d.h, d.wx, d.u, d.b, d.y, d.h,
        diff.x, diff.h, diff.wx, diff.u, diff.b, diff.y, diff.h, kOverwrite, 0, 0, hint,
        primitive_attributes()));
  else if (l.cell == "lstm")
    CHECK(dnnl_lstm_backward_primitive_desc_create(
        &made, engine, kind, direction, d.x, d.h, d.c, d.wx, d.u, nullptr, nullptr, d.b, d.y, d.h,
        d.c, diff.x, diff.h, diff.c, diff.wx, diff.u, nullptr, nullptr, diff.b, diff.y, diff.h,
        diff.c, kOverwrite, hint, primitive_attributes()));
  else
    gru(l.cell == "gru" ? dnnl_lbr_gru_backward_primitive_desc_create
                        : dnnl_gru_backward_primitive_desc_create);
  return made;
}

const int kForwardArguments[] = {DNNL_ARG_SRC_LAYER,     DNNL_ARG_SRC_ITER,  DNNL_ARG_SRC_ITER_C,
                                 DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_BIAS,      DNNL_ARG_WEIGHTS_ITER,
                                 DNNL_ARG_DST_LAYER,     DNNL_ARG_DST_ITER,  DNNL_ARG_WORKSPACE,
                                 DNNL_ARG_DST_ITER_C,    DNNL_ARG_SCRATCHPAD};
const int kGradients[] = {
    DNNL_ARG_DIFF_SRC_LAYER,     DNNL_ARG_DIFF_SRC_ITER,     DNNL_ARG_DIFF_SRC_ITER_C,
    DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_BIAS,
    DNNL_ARG_DIFF_DST_LAYER,     DNNL_ARG_DIFF_DST_ITER,     DNNL_ARG_DIFF_DST_ITER_C};

struct Memory {
  dnnl_memory_t memory = nullptr;
  Description description = nullptr;
};
using Memories = std::map<int, Memory>;

struct Primitive {
  dnnl_primitive_t primitive = nullptr;
  dnnl_stream_t stream = nullptr;
  std::vector<dnnl_exec_arg_t> arguments;

  void call() const {
    CHECK(dnnl_primitive_execute(primitive, stream, int(arguments.size()), arguments.data()));
  }
};

// Only the library can convert U to its internal layout, which may begin with a header.
void reorder(dnnl_engine_t engine, dnnl_memory_t from, Description from_description,
             dnnl_memory_t to, Description to_description) {
  dnnl_primitive_desc_t description = nullptr;
  Primitive made;
  CHECK(dnnl_stream_create(&made.stream, engine, dnnl_stream_default_flags));
  CHECK(dnnl_reorder_primitive_desc_create(&description, from_description, engine, to_description,
                                           engine, nullptr));
  CHECK(dnnl_primitive_create(&made.primitive, description));
  made.arguments = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  made.call();
}

Memory operand_of(const Layer& layer, dnnl_engine_t engine, int argument, Description required) {
  const size_t bytes = dnnl_memory_desc_get_size(required);
  const bool is_u = argument == DNNL_ARG_WEIGHTS_ITER, is_wx = argument == DNNL_ARG_WEIGHTS_LAYER;
  const bool is_zero = argument == DNNL_ARG_DIFF_DST_ITER || argument == DNNL_ARG_DIFF_DST_ITER_C;
  const float scale = is_zero ? 0 : is_u ? float(1 / std::sqrt(double(layer.hidden))) : 0.5f;
  Memory made = {nullptr, required};
  dnnl_data_type_t type = dnnl_f32;
  if (argument != DNNL_ARG_WORKSPACE && argument != DNNL_ARG_SCRATCHPAD)
    CHECK(dnnl_memory_desc_query(required, dnnl_query_data_type, &type));
  CHECK(dnnl_memory_create(&made.memory, required, engine, random_operand(bytes, type, scale)));
  if (is_u || is_wx) {
    const Description plain =
        memory_description({1, 1, is_u ? layer.hidden : layer.inputs, layer.gates(), layer.hidden},
                           layer.type(), dnnl_ldgoi);
    dnnl_memory_t source = nullptr;
    CHECK(
        dnnl_memory_create(&source, plain, engine,
                           random_operand(dnnl_memory_desc_get_size(plain), layer.type(), scale)));
    reorder(engine, source, plain, made.memory, required);
  }
  return made;
}

// Operands in the layouts of this primitive. An operand of an earlier primitive with the same
// layout is reused, such as the workspace and the states.
Primitive bind_primitive(const Layer& layer, dnnl_engine_t engine,
                         dnnl_primitive_desc_t description, Memories& memories) {
  Primitive made;
  CHECK(dnnl_stream_create(&made.stream, engine, dnnl_stream_default_flags));
  CHECK(dnnl_primitive_create(&made.primitive, description));
  const auto add = [&](int argument) {
    const Description required =
        dnnl_primitive_desc_query_md(description, dnnl_query_exec_arg_md, argument);
    if (!required || dnnl_memory_desc_get_size(required) == 0) return;
    Memory& memory = memories[argument];
    if (!memory.memory || !dnnl_memory_desc_equal(memory.description, required))
      memory = operand_of(layer, engine, argument, required);
    made.arguments.push_back({argument, memory.memory});
  };
  for (const int argument : kForwardArguments) add(argument);
  if (layer.is_backward())
    for (const int argument : kGradients) add(argument);
  return made;
}

}  // namespace

int main(int count, char** words) {
  const Layer layer = parse_layer(count, words);
  bare::bind_threads(words);
  dnnl_engine_t engine = nullptr;
  CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
  Memories memories;
  dnnl_primitive_desc_t description = describe_forward(layer, engine);
  Layer first = layer;
  first.phase = "fwd";
  Primitive timed = bind_primitive(first, engine, description, memories);
  if (layer.is_backward()) {
    timed.call();  // fills the workspace with a real forward pass
    description = describe_backward(layer, engine, description);
    timed = bind_primitive(layer, engine, description, memories);
  }
  const char* name = nullptr;
  CHECK(dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name));
  bare::measure([&] { timed.call(); }, layer.seconds, layer.flops(),
                std::string("implementation=") + name);
  return 0;
}
