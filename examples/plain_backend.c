/* A complete backend in plain C11: gemm in float by three loops. It is a minimal starting point for
 * a new backend; every table entry that it leaves out is optional (plugin.h).
 *
 *   gcc -O2 -std=c11 -shared -fPIC -I src/cpp examples/plain_backend.c -o libdeepbench_plain.so
 *   python -m deepbench gemm m=64 n=64 k=64 --backend ./libdeepbench_plain.so
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deepbench/fill.h"
#include "deepbench/plugin.h"

#define MAX_PRODUCTS (1LL << 27) /* One call then takes about a tenth of a second. */

struct deepbench_plan {
  int64_t m, n, k, transposed_a, transposed_b;
  uint64_t seed;
};

struct deepbench_kernel {
  deepbench_plan shape;
  /* out = op(A) op(B) + C, column-major. All pointers lie in `operands`. */
  float *a, *b, *c, *out;
  float operands[];
};

static _Thread_local const char* error = "no error";

static deepbench_status fail(deepbench_status status, const char* why) {
  error = why;
  return status;
}

static const char* last_error(void) { return error; }

static const deepbench_value* find(deepbench_values values, const char* name) {
  static const deepbench_value absent = {.text = ""};
  for (size_t i = 0; i < values.count; ++i)
    if (strcmp(values.items[i].name, name) == 0) return &values.items[i];
  return &absent;
}

static int is(deepbench_values values, const char* name, const char* text) {
  return strcmp(find(values, name)->text, text) == 0;
}

static void emit(deepbench_sink sink, const char* name, const char* text) {
  sink.emit(sink.context, &(deepbench_value){.name = name, .kind = DEEPBENCH_TEXT, .text = text});
}

static void emit_integer(deepbench_sink sink, const char* name, int64_t integer) {
  sink.emit(sink.context,
            &(deepbench_value){.name = name, .kind = DEEPBENCH_INTEGER, .integer = integer});
}

static deepbench_status describe(deepbench_sink sink) {
  emit(sink, "library.loops.version", "1.0");
  emit(sink, "library.loops.path", "built in");
  return DEEPBENCH_OK;
}

static deepbench_status device_count(int32_t* count) {
  *count = 1;
  return DEEPBENCH_OK;
}

static deepbench_status describe_device(int32_t device, deepbench_sink sink) {
  if (device != 0) return fail(DEEPBENCH_INVALID, "the only device is 0");
  emit(sink, "name", "one core of this CPU");
  return DEEPBENCH_OK;
}

/* A refusal here ends only this row or ceiling, whose reason is the message. */
static deepbench_status plan(const deepbench_problem* problem, deepbench_values options,
                             deepbench_plan** made) {
  const deepbench_values of = problem->attributes;
  if (strcmp(problem->op, "gemm") != 0)
    return fail(DEEPBENCH_UNSUPPORTED, "this backend supports only gemm");
  if (!is(of, "precision", "float"))
    return fail(DEEPBENCH_UNSUPPORTED, "this backend supports only precision=float");
  if (is(options, "cache", "cold"))
    return fail(DEEPBENCH_UNSUPPORTED, "this backend supports only cache=hot");
  if (!is(options, "inputs", "uniform"))
    return fail(DEEPBENCH_UNSUPPORTED, "this backend supports only inputs=uniform");
  const deepbench_plan shape = {.m = find(of, "m")->integer,
                                .n = find(of, "n")->integer,
                                .k = find(of, "k")->integer,
                                .transposed_a = is(of, "trans_a", "t"),
                                .transposed_b = is(of, "trans_b", "t"),
                                .seed = (uint64_t)find(options, "seed")->integer};
  if ((double)shape.m * (double)shape.n * (double)shape.k > (double)MAX_PRODUCTS)
    return fail(DEEPBENCH_UNSUPPORTED,
                "the problem is too large for three plain loops (m n k > 2^27)");
  deepbench_plan* g = malloc(sizeof *g);
  if (!g) return fail(DEEPBENCH_OUT_OF_MEMORY, "out of memory");
  *g = shape;
  *made = g;
  return DEEPBENCH_OK;
}

static size_t memory_bytes(const deepbench_plan* g) {
  return sizeof(deepbench_kernel) +
         sizeof(float) * (size_t)(g->m * g->k + g->k * g->n + 2 * g->m * g->n);
}

static deepbench_status describe_plan(deepbench_plan* g, deepbench_sink sink) {
  emit(sink, "library", "loops");
  emit(sink, "algorithm", "three loops");
  emit_integer(sink, "memory_bytes", (int64_t)memory_bytes(g));
  return DEEPBENCH_OK;
}

static void destroy_plan(deepbench_plan* g) { free(g); }

/* Fills an operand from its random stream as verification expects. Returns its end. */
static float* fill(float* operand, int64_t count, uint64_t seed, uint32_t stream) {
  for (int64_t i = 0; i < count; ++i) operand[i] = deepbench_uniform(seed, stream, (uint64_t)i);
  return operand + count;
}

static deepbench_status prepare(deepbench_plan* shape, deepbench_kernel** made) {
  deepbench_kernel* g = malloc(memory_bytes(shape));
  if (!g) return fail(DEEPBENCH_OUT_OF_MEMORY, "out of memory");
  g->shape = *shape;
  g->a = g->operands;
  g->b = fill(g->a, shape->m * shape->k, shape->seed, 0);
  g->c = fill(g->b, shape->k * shape->n, shape->seed, 1);
  g->out = fill(g->c, shape->m * shape->n, shape->seed, 2);
  *made = g;
  return DEEPBENCH_OK;
}

static void destroy(deepbench_kernel* kernel) { free(kernel); }

static deepbench_status describe_kernel(deepbench_kernel* kernel, deepbench_sink sink) {
  (void)kernel, (void)sink; /* the plan has said everything */
  return DEEPBENCH_OK;
}

static void call(const deepbench_kernel* kernel) {
  const deepbench_plan* g = &kernel->shape;
  for (int64_t j = 0; j < g->n; ++j)
    for (int64_t i = 0; i < g->m; ++i) {
      float sum = 0;
      for (int64_t l = 0; l < g->k; ++l)
        sum += kernel->a[g->transposed_a ? l + i * g->k : i + l * g->m] *
               kernel->b[g->transposed_b ? j + l * g->n : l + j * g->k];
      kernel->out[i + j * g->m] = sum + kernel->c[i + j * g->m];
    }
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static deepbench_status time_batch(deepbench_kernel* kernel, const deepbench_request* request,
                                   deepbench_batch* batch) {
  const double begin = now_ns();
  for (uint64_t i = 0; i < request->count; ++i) call(kernel);
  batch->elapsed_ns = batch->host_ns = now_ns() - begin;
  batch->count = request->count;
  batch->copies_touched = 1;
  batch->launch = DEEPBENCH_LAUNCH_STREAM;
  batch->timer = "clock_gettime";
  return DEEPBENCH_OK;
}

static deepbench_status poison_outputs(deepbench_kernel* kernel) {
  const size_t count = (size_t)(kernel->shape.m * kernel->shape.n);
  memset(kernel->out, 0xff, count * sizeof *kernel->out); /* NaNs */
  return DEEPBENCH_OK;
}

static deepbench_status read_output(deepbench_kernel* kernel, uint32_t output,
                                    const uint64_t* indices, size_t count, double* values) {
  (void)output; /* gemm has one */
  for (size_t i = 0; i < count; ++i) values[i] = (double)kernel->out[indices[i]];
  return DEEPBENCH_OK;
}

const deepbench_backend* deepbench_plugin(void) {
  static const deepbench_backend table = {
      .struct_size = sizeof table,
      .abi_major = DEEPBENCH_ABI_MAJOR,
      .abi_minor = DEEPBENCH_ABI_MINOR,
      .name = "plain",
      .last_error = last_error,
      .describe = describe,
      .device_count = device_count,
      .describe_device = describe_device,
      .plan = plan,
      .describe_plan = describe_plan,
      .destroy_plan = destroy_plan,
      .prepare = prepare,
      .describe_kernel = describe_kernel,
      .time_batch = time_batch,
      .poison_outputs = poison_outputs,
      .read_output = read_output,
      .destroy = destroy,
  };
  return &table;
}
