// The baseline for matrix products: one product through oneDNN's C API in a bare loop, without any
// code of deepbench. The operation is the CPU backend's default: C += op(A) op(B) in place for
// floating point, D = op(A) op(B) for int8. Layouts, attributes, pages and bound threads are the
// same.
//   bare_onednn m=1760 n=128 k=1760 [trans_a=n] [trans_b=n] [precision=float|bfloat16|int8]
//               [b_type=s8|u8] [c=sum|add|none] [seconds=2]
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
  std::fprintf(stderr, "bare_onednn: %s: status %d\n", what, int(status));
  std::exit(1);
}
#define CHECK(call) exit_on_error(call, #call)

struct Problem {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  std::string precision = "float", b_type = "s8", c = "sum";
  double seconds = 2;
};

Problem parse_problem(int count, char** words) {
  bare::Values values = bare::parse_values(count, words);
  Problem problem;
  problem.m = std::atoll(values["m"].c_str());
  problem.n = std::atoll(values["n"].c_str());
  problem.k = std::atoll(values["k"].c_str());
  problem.trans_a = values["trans_a"] == "t";
  problem.trans_b = values["trans_b"] == "t";
  if (values.count("precision")) problem.precision = values["precision"];
  if (values.count("b_type")) problem.b_type = values["b_type"];
  if (values.count("c")) problem.c = values["c"];
  if (values.count("seconds")) problem.seconds = std::atof(values["seconds"].c_str());
  if (problem.precision == "int8") problem.c = "none";
  if (problem.m <= 0 || problem.n <= 0 || problem.k <= 0) {
    std::fprintf(stderr, "usage: bare_onednn m=M n=N k=K [trans_a=t] [precision=int8] ...\n");
    std::exit(2);
  }
  return problem;
}

dnnl_data_type_t data_type(const std::string& name) {
  if (name == "bfloat16") return dnnl_bf16;
  if (name == "u8") return dnnl_u8;
  if (name == "int8" || name == "s8") return dnnl_s8;
  return dnnl_f32;
}

size_t size_of(dnnl_data_type_t type) {
  return type == dnnl_f32 || type == dnnl_s32 ? 4 : type == dnnl_bf16 ? 2 : 1;
}

// Allocates large pages and fills them with random full-mantissa numbers in [-1, 1], or [-64, 63]
// for int8.
void* random_operand(int64_t elements, dnnl_data_type_t type, uint64_t seed) {
  void* data = bare::allocate_large_pages(size_t(elements) * size_of(type));
  for (int64_t i = 0; i < elements; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const float value = float(int32_t(seed >> 32)) * 0x1p-31f;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == dnnl_f32) static_cast<float*>(data)[i] = value;
    if (type == dnnl_bf16) static_cast<uint16_t*>(data)[i] = uint16_t(bits >> 16);
    if (type == dnnl_s8 || type == dnnl_u8) static_cast<uint8_t*>(data)[i] = uint8_t(seed >> 57);
    if (type == dnnl_s32) static_cast<int32_t*>(data)[i] = 0;
  }
  return data;
}

struct Matmul {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_primitive_t primitive = nullptr;
  std::vector<dnnl_exec_arg_t> arguments;
  std::string implementation;

  void call() const {
    CHECK(dnnl_primitive_execute(primitive, stream, int(arguments.size()), arguments.data()));
  }
};

dnnl_memory_desc_t matrix_description(int64_t rows, int64_t columns, bool transposed,
                                      dnnl_data_type_t type) {
  const dnnl_dims_t dimensions = {rows, columns};
  const dnnl_dims_t strides = {transposed ? 1 : columns, transposed ? rows : 1};
  dnnl_memory_desc_t description = nullptr;
  CHECK(dnnl_memory_desc_create_with_strides(&description, 2, dimensions, type, strides));
  return description;
}

dnnl_primitive_attr_t primitive_attributes(const Problem& problem, dnnl_memory_desc_t c) {
  dnnl_primitive_attr_t attributes = nullptr;
  dnnl_post_ops_t post_ops = nullptr;
  CHECK(dnnl_primitive_attr_create(&attributes));
  CHECK(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  CHECK(dnnl_primitive_attr_set_fpmath_mode(attributes, dnnl_fpmath_mode_strict));
  CHECK(dnnl_post_ops_create(&post_ops));
  if (problem.c == "sum") CHECK(dnnl_post_ops_append_sum(post_ops, 1.0f, 0, dnnl_data_type_undef));
  if (problem.c == "add") CHECK(dnnl_post_ops_append_binary(post_ops, dnnl_binary_add, c));
  CHECK(dnnl_primitive_attr_set_post_ops(attributes, post_ops));
  return attributes;
}

// Column-major C = op(A) op(B) is row-major C^T = op(B)^T op(A)^T.
Matmul prepare_matmul(const Problem& p) {
  Matmul matmul;
  CHECK(dnnl_engine_create(&matmul.engine, dnnl_cpu, 0));
  CHECK(dnnl_stream_create(&matmul.stream, matmul.engine, dnnl_stream_default_flags));
  const bool int8 = p.precision == "int8";
  const auto type_a = data_type(p.precision);
  const auto type_b = int8 ? data_type(p.b_type) : type_a;
  const auto type_c = int8 ? dnnl_s32 : type_a;
  const auto source = matrix_description(p.n, p.k, p.trans_b, type_b);
  const auto weights = matrix_description(p.k, p.m, p.trans_a, type_a);
  const auto result = matrix_description(p.n, p.m, false, type_c);
  dnnl_primitive_desc_t description = nullptr;
  CHECK(dnnl_matmul_primitive_desc_create(&description, matmul.engine, source, weights, nullptr,
                                          result, primitive_attributes(p, result)));
  const char* name = nullptr;
  CHECK(dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name));
  matmul.implementation = name;
  CHECK(dnnl_primitive_create(&matmul.primitive, description));

  const auto add = [&](int argument, const_dnnl_memory_desc_t of, void* data) {
    dnnl_memory_t memory = nullptr;
    CHECK(dnnl_memory_create(&memory, of, matmul.engine, data));
    matmul.arguments.push_back({argument, memory});
  };
  add(DNNL_ARG_SRC, source, random_operand(p.n * p.k, type_b, 1));
  add(DNNL_ARG_WEIGHTS, weights, random_operand(p.k * p.m, type_a, 2));
  add(DNNL_ARG_DST, result, random_operand(p.n * p.m, type_c, 3));
  add(DNNL_ARG_SCRATCHPAD, dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0),
      DNNL_MEMORY_ALLOCATE);
  if (p.c == "add")
    add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, result,
        random_operand(p.n * p.m, type_c, 4));
  return matmul;
}

}  // namespace

int main(int count, char** words) {
  const Problem problem = parse_problem(count, words);
  bare::bind_threads(words);
  const Matmul matmul = prepare_matmul(problem);
  const double flops = 2.0 * double(problem.m) * double(problem.n) * double(problem.k);
  bare::measure([&] { matmul.call(); }, problem.seconds, flops,
                "implementation=" + matmul.implementation);
  return 0;
}
