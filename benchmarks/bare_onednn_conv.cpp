// The baseline for convolutions: one phase of a convolution through oneDNN's C API in a bare loop,
// without any code of deepbench. The library chooses the layouts, as in the CPU backend's default.
// Attributes, pages and bound threads are the same.
//   bare_onednn_conv w=56 h=56 c=64 n=8 k=64 s=3 r=3 [pad_w=1] [pad_h=1] [stride_w=1] [stride_h=1]
//                    [phase=fwd|bwd_data|bwd_filter] [precision=float|bfloat16|int8] [x_type=u8]
//                    [seconds=2]
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "bare_loop.hpp"

namespace {

void exit_on_error(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "bare_onednn_conv: %s: status %d\n", what, int(status));
  std::exit(1);
}
#define CHECK(call) exit_on_error(call, #call)

struct Problem {
  std::map<std::string, std::string> values;

  int64_t integer(const char* name, int64_t fallback) const {
    const auto found = values.find(name);
    return found == values.end() ? fallback : std::atoll(found->second.c_str());
  }
  std::string text(const char* name, const char* fallback) const {
    const auto found = values.find(name);
    return found == values.end() ? fallback : found->second;
  }
  int64_t extent(const char* size, const char* filter, const char* pad, const char* stride) const {
    return 1 + (integer(size, 0) + 2 * integer(pad, 0) - integer(filter, 1)) / integer(stride, 1);
  }
  int64_t p() const { return extent("h", "r", "pad_h", "stride_h"); }
  int64_t q() const { return extent("w", "s", "pad_w", "stride_w"); }
  double flops() const {
    double product = 2.0 * double(p()) * double(q());
    for (const char* name : {"n", "c", "k", "r", "s"}) product *= double(integer(name, 0));
    return product;
  }
};

Problem parse_problem(int count, char** words) {
  Problem problem;
  problem.values = bare::parse_values(count, words);
  if (problem.flops() <= 0) {
    std::fprintf(stderr, "usage: bare_onednn_conv w=W h=H c=C n=N k=K s=S r=R [phase=...] ...\n");
    std::exit(2);
  }
  return problem;
}

// Allocates large pages and fills them with random full-mantissa numbers in [-1, 1], or [-64, 63]
// or [0, 127] for 8 bits, independent of the library's layout.
void* random_operand(size_t bytes, dnnl_data_type_t type, uint64_t seed) {
  void* data = bare::allocate_large_pages(bytes);
  const size_t size = type == dnnl_f32 || type == dnnl_s32 ? 4 : type == dnnl_bf16 ? 2 : 1;
  for (size_t i = 0; i < bytes / size; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const float value = float(int32_t(seed >> 32)) * 0x1p-31f;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (size == 4) static_cast<uint32_t*>(data)[i] = type == dnnl_f32 ? bits : 0;
    if (size == 2) static_cast<uint16_t*>(data)[i] = uint16_t(bits >> 16);
    if (type == dnnl_u8) static_cast<uint8_t*>(data)[i] = uint8_t(seed >> 57);
    if (type == dnnl_s8) static_cast<int8_t*>(data)[i] = int8_t(int(seed >> 57) - 64);
  }
  return data;
}

dnnl_memory_desc_t any_layout(const std::vector<int64_t>& dims, dnnl_data_type_t type) {
  dnnl_memory_desc_t description = nullptr;
  CHECK(dnnl_memory_desc_create_with_tag(&description, int(dims.size()), dims.data(), type,
                                         dnnl_format_tag_any));
  return description;
}

struct OperandTypes {
  dnnl_data_type_t x = dnnl_f32, w = dnnl_f32, y = dnnl_f32;
};

OperandTypes types_of(const Problem& problem) {
  const std::string precision = problem.text("precision", "float");
  if (precision == "bfloat16") return {dnnl_bf16, dnnl_bf16, dnnl_bf16};
  if (precision != "int8") return {};
  return {problem.text("x_type", "s8") == "u8" ? dnnl_u8 : dnnl_s8, dnnl_s8, dnnl_s32};
}

struct Convolution {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_primitive_t primitive = nullptr;
  std::vector<dnnl_exec_arg_t> arguments;
  std::string implementation;

  void call() const {
    CHECK(dnnl_primitive_execute(primitive, stream, int(arguments.size()), arguments.data()));
  }
};

dnnl_primitive_desc_t describe_convolution(const Problem& p, dnnl_engine_t engine) {
  const auto get = [&](const char* name) { return p.integer(name, 0); };
  const OperandTypes types = types_of(p);
  const auto x = any_layout({get("n"), get("c"), get("h"), get("w")}, types.x);
  const auto w = any_layout({get("k"), get("c"), get("r"), get("s")}, types.w);
  const auto y = any_layout({get("n"), get("k"), p.p(), p.q()}, types.y);
  const dnnl_dims_t strides = {p.integer("stride_h", 1), p.integer("stride_w", 1)};
  const dnnl_dims_t dilations = {0, 0}, padding = {get("pad_h"), get("pad_w")};
  dnnl_primitive_attr_t attributes = nullptr;
  CHECK(dnnl_primitive_attr_create(&attributes));
  CHECK(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  CHECK(dnnl_primitive_attr_set_fpmath_mode(attributes, dnnl_fpmath_mode_strict));
  const auto algorithm = types.y == dnnl_s32 ? dnnl_convolution_direct : dnnl_convolution_auto;
  const std::string phase = p.text("phase", "fwd");
  dnnl_primitive_desc_t made = nullptr;
  if (phase == "fwd")
    CHECK(dnnl_convolution_forward_primitive_desc_create(&made, engine, dnnl_forward_training,
                                                         algorithm, x, w, nullptr, y, strides,
                                                         dilations, padding, padding, attributes));
  else if (phase == "bwd_data")
    CHECK(dnnl_convolution_backward_data_primitive_desc_create(&made, engine, algorithm, x, w, y,
                                                               strides, dilations, padding, padding,
                                                               nullptr, attributes));
  else
    CHECK(dnnl_convolution_backward_weights_primitive_desc_create(
        &made, engine, algorithm, x, w, nullptr, y, strides, dilations, padding, padding, nullptr,
        attributes));
  return made;
}

Convolution prepare_convolution(const Problem& problem) {
  Convolution conv;
  CHECK(dnnl_engine_create(&conv.engine, dnnl_cpu, 0));
  CHECK(dnnl_stream_create(&conv.stream, conv.engine, dnnl_stream_default_flags));
  const dnnl_primitive_desc_t description = describe_convolution(problem, conv.engine);
  const char* name = nullptr;
  CHECK(dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name));
  conv.implementation = name;
  CHECK(dnnl_primitive_create(&conv.primitive, description));

  const OperandTypes types = types_of(problem);
  const auto add = [&](int argument, dnnl_query_t query, dnnl_data_type_t type) {
    const auto of = dnnl_primitive_desc_query_md(description, query, 0);
    void* data = random_operand(dnnl_memory_desc_get_size(of), type, uint64_t(argument));
    dnnl_memory_t memory = nullptr;
    CHECK(dnnl_memory_create(&memory, of, conv.engine, data));
    conv.arguments.push_back({argument, memory});
  };
  const std::string phase = problem.text("phase", "fwd");
  if (phase != "bwd_data") add(DNNL_ARG_SRC, dnnl_query_src_md, types.x);
  if (phase != "bwd_filter") add(DNNL_ARG_WEIGHTS, dnnl_query_weights_md, types.w);
  if (phase == "fwd") add(DNNL_ARG_DST, dnnl_query_dst_md, types.y);
  if (phase != "fwd") add(DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, types.y);
  if (phase == "bwd_data") add(DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, types.x);
  if (phase == "bwd_filter") add(DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, types.w);
  add(DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, dnnl_s8);
  return conv;
}

}  // namespace

int main(int count, char** words) {
  const Problem problem = parse_problem(count, words);
  bare::bind_threads(words);
  const Convolution conv = prepare_convolution(problem);
  const double seconds = std::atof(problem.text("seconds", "2").c_str());
  bare::measure([&] { conv.call(); }, seconds, problem.flops(),
                "implementation=" + conv.implementation);
  return 0;
}
