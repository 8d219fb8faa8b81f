// The baseline for operations on arrays: softmax, activations, sums, products and layer norm in
// float through oneDNN's C API in a bare loop, without any code of deepbench. Attributes, pages and
// bound threads are the same.
//   bare_onednn_arrays softmax rows=4096 columns=1024 [seconds=2]
//   bare_onednn_arrays activation kind=relu|gelu|silu|sigmoid|tanh elements=1048576
//   bare_onednn_arrays elementwise kind=add|multiply rows=1024 columns=1024
//   bare_onednn_arrays norm kind=layer rows=4096 columns=1024
#include <oneapi/dnnl/dnnl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bare_loop.hpp"

namespace {

void exit_on_error(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "bare_onednn_arrays: %s: status %d\n", what, int(status));
  std::exit(1);
}
#define CHECK(call) exit_on_error(call, #call)

constexpr float kEpsilon = 1e-5f;

struct Problem {
  std::string operation, kind;
  int64_t rows = 1, columns = 0;
  double seconds = 2;
};

void exit_with_usage() {
  std::fprintf(stderr,
               "usage: bare_onednn_arrays softmax|activation|elementwise|norm [kind=KIND] "
               "rows=R columns=C | elements=N [seconds=S]\n");
  std::exit(2);
}

Problem parse_problem(int count, char** words) {
  const bare::Values values = bare::parse_values(count, words);
  const auto integer = [&](const char* name, int64_t fallback) {
    const auto found = values.find(name);
    return found == values.end() ? fallback : std::atoll(found->second.c_str());
  };
  Problem problem;
  problem.operation = count > 1 ? words[1] : "";
  problem.rows = integer("rows", 1);
  problem.columns = integer("columns", integer("elements", 0));
  problem.seconds = double(integer("seconds", 2));
  if (values.count("kind")) problem.kind = values.at("kind");
  if (problem.rows < 1 || problem.columns < 1) exit_with_usage();
  return problem;
}

using Kinds = std::map<std::string, dnnl_alg_kind_t>;

const Kinds kActivations = {{"relu", dnnl_eltwise_relu},
                            {"gelu", dnnl_eltwise_gelu_erf},
                            {"silu", dnnl_eltwise_swish},
                            {"sigmoid", dnnl_eltwise_logistic},
                            {"tanh", dnnl_eltwise_tanh}};
const Kinds kSums = {{"add", dnnl_binary_add}, {"multiply", dnnl_binary_mul}};

dnnl_alg_kind_t kind_among(const Kinds& kinds, const std::string& kind) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) exit_with_usage();
  return found->second;
}

struct Primitive {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_primitive_desc_t description = nullptr;
  dnnl_primitive_t primitive = nullptr;
  std::vector<dnnl_exec_arg_t> arguments;

  void call() const {
    CHECK(dnnl_primitive_execute(primitive, stream, int(arguments.size()), arguments.data()));
  }
  void add(int argument, uint64_t seed);
};

// Allocates large pages and fills them with random numbers in [-1, 1].
void Primitive::add(int argument, uint64_t seed) {
  const auto of = dnnl_primitive_desc_query_md(description, dnnl_query_exec_arg_md, argument);
  const size_t bytes = dnnl_memory_desc_get_size(of);
  void* data = bare::allocate_large_pages(bytes);
  if (argument != DNNL_ARG_SCRATCHPAD)
    for (size_t i = 0; i < bytes / sizeof(float); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      static_cast<float*>(data)[i] = float(int32_t(seed >> 32)) * 0x1p-31f;
    }
  dnnl_memory_t memory = nullptr;
  CHECK(dnnl_memory_create(&memory, of, engine, data));
  arguments.push_back({argument, memory});
}

dnnl_memory_desc_t matrix(const Problem& problem) {
  // The backend takes arrays without rows as a single one.
  const bool has_rows = problem.operation == "softmax" || problem.operation == "norm";
  const int64_t columns = has_rows ? problem.columns : problem.rows * problem.columns;
  const dnnl_dims_t sizes = {has_rows ? problem.rows : 1, columns}, strides = {columns, 1};
  dnnl_memory_desc_t made = nullptr;
  CHECK(dnnl_memory_desc_create_with_strides(&made, 2, sizes, dnnl_f32, strides));
  return made;
}

Primitive prepare(const Problem& problem) {
  Primitive made;
  CHECK(dnnl_engine_create(&made.engine, dnnl_cpu, 0));
  CHECK(dnnl_stream_create(&made.stream, made.engine, dnnl_stream_default_flags));
  dnnl_primitive_attr_t attributes = nullptr;
  CHECK(dnnl_primitive_attr_create(&attributes));
  CHECK(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  CHECK(dnnl_primitive_attr_set_fpmath_mode(attributes, dnnl_fpmath_mode_strict));
  const dnnl_memory_desc_t operand = matrix(problem);
  std::vector<int> operands = {DNNL_ARG_SRC, DNNL_ARG_DST};
  if (problem.operation == "softmax") {
    CHECK(dnnl_softmax_forward_primitive_desc_create(&made.description, made.engine,
                                                     dnnl_forward_inference, dnnl_softmax_accurate,
                                                     operand, operand, 1, attributes));
  } else if (problem.operation == "activation") {
    CHECK(dnnl_eltwise_forward_primitive_desc_create(
        &made.description, made.engine, dnnl_forward_inference,
        kind_among(kActivations, problem.kind), operand, operand,
        problem.kind == "silu" ? 1.0f : 0.0f, 0, attributes));
  } else if (problem.operation == "elementwise") {
    CHECK(dnnl_binary_primitive_desc_create(&made.description, made.engine,
                                            kind_among(kSums, problem.kind), operand, operand,
                                            operand, attributes));
    operands = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST};
  } else if (problem.operation == "norm" && problem.kind == "layer") {
    CHECK(dnnl_layer_normalization_forward_primitive_desc_create(
        &made.description, made.engine, dnnl_forward_training, operand, operand, nullptr, kEpsilon,
        dnnl_use_scale | dnnl_use_shift, attributes));
    operands = {DNNL_ARG_SRC,      DNNL_ARG_DST,   DNNL_ARG_MEAN,
                DNNL_ARG_VARIANCE, DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
  } else {
    exit_with_usage();
  }
  CHECK(dnnl_primitive_create(&made.primitive, made.description));
  operands.push_back(DNNL_ARG_SCRATCHPAD);
  for (int argument : operands) made.add(argument, uint64_t(argument));
  return made;
}

}  // namespace

int main(int count, char** words) {
  const Problem problem = parse_problem(count, words);
  bare::bind_threads(words);
  const Primitive primitive = prepare(problem);
  const char* name = nullptr;
  CHECK(dnnl_primitive_desc_query(primitive.description, dnnl_query_impl_info_str, 0, &name));
  bare::measure([&] { primitive.call(); }, problem.seconds, 0,
                "implementation=" + std::string(name));
  return 0;
}
