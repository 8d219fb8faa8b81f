/* The slots of the fake backend that take a prepared kernel.
 */
#ifndef FAKE_KERNEL_SLOTS_H_
#define FAKE_KERNEL_SLOTS_H_

#include "backend_slots.h"
#include "deepbench/plugin_chain.h"
#include "deepbench/plugin_forward_state.h"

static inline Kernel* kernel_of(deepbench_kernel* handle) { return (Kernel*)handle; }

static inline deepbench_status fake_describe_kernel(deepbench_kernel* handle, deepbench_sink sink) {
  const Kernel* kernel = kernel_of(handle);
  if (kernel->links) return DEEPBENCH_OK;
  const Scenario* scenario = &kernel->scenario;
  const deepbench_status status = enter_slot(scenario, kDescribeKernel, "");
  if (status != DEEPBENCH_OK) return status;
  const int64_t threads = context_integer(&kernel->context, "threads", 0);
  emit_integer(sink, "threads", threads ? threads : 1);
  if (kernel->cold) {
    emit_integer(sink, "copies", (int64_t)kernel->copies);
    emit_text(sink, "cold", scenario->flush ? "flush" : "rotation");
  }
  if (kernel->is_sum) emit_integer(sink, "ranks", group_size);
  if (scenario->in_place) emit_integer(sink, "in_place", 1);
  if (scenario->beta != 1) {
    emit_real(sink, "beta", scenario->beta, NULL);
    emit_text(sink, "note.beta", "the script says so");
  }
  if (*scenario->fill_b) emit_text(sink, "fill.b", scenario->fill_b);
  emit_scripted(scenario, kDescribeKernel, sink);
  return DEEPBENCH_OK;
}

/* Applies the lines whose `from` batch has been reached. */
static inline deepbench_status reload_due_scenario(Kernel* kernel) {
  if (kernel->batches < kernel->scenario.next_change) return DEEPBENCH_OK;
  const bool flush = kernel->scenario.flush;
  const deepbench_status status =
      make_scenario(&kernel->scenario, kernel->script, &kernel->context, kernel->batches);
  kernel->scenario.flush = flush;
  return status;
}

static inline deepbench_status fake_time_batch(deepbench_kernel* handle,
                                               const deepbench_request* request,
                                               deepbench_batch* batch);

/* The times of the calls of a chain, added up. Each kernel makes its calls of all chains at once.
 */
static inline deepbench_status time_links(const Kernel* chain, const deepbench_request* request,
                                          deepbench_batch* batch) {
  for (size_t i = 0; i < chain->link_count; ++i) {
    deepbench_batch link = {.struct_size = sizeof link};
    const deepbench_status status =
        fake_time_batch((deepbench_kernel*)chain->links[i], request, &link);
    if (status != DEEPBENCH_OK) return status;
    link.elapsed_ns += batch->elapsed_ns;
    link.host_ns += batch->host_ns;
    *batch = link;
  }
  batch->count = request->count;
  batch->copies_touched = 1;
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_time_batch(deepbench_kernel* handle,
                                               const deepbench_request* request,
                                               deepbench_batch* batch) {
  Kernel* kernel = kernel_of(handle);
  if (kernel->links) return time_links(kernel, request, batch);
  deepbench_status status = reload_due_scenario(kernel);
  if (status != DEEPBENCH_OK) return status;
  char details[80];
  snprintf(details, sizeof details, " count=%" PRIu64 " launch=%d flags=%u", request->count,
           (int)request->launch, (unsigned)request->flags);
  status = enter_slot(&kernel->scenario, kTimeBatch, details);
  if (status != DEEPBENCH_OK) return status;
  if (request->count < 1) return fail(DEEPBENCH_INVALID, "the batch has no calls");
  run_batch(kernel, request, batch);
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_restore(deepbench_kernel* handle) {
  Kernel* kernel = kernel_of(handle);
  const deepbench_status status = enter_slot(&kernel->scenario, kRestore, "");
  if (status == DEEPBENCH_OK && !kernel->scenario.restore_broken) kernel->calls = 0;
  kernel->is_verified = kernel->is_reset = true;
  return status;
}

static inline deepbench_status fake_poison_outputs(deepbench_kernel* handle) {
  Kernel* kernel = kernel_of(handle);
  const deepbench_status status = enter_slot(&kernel->scenario, kPoisonOutputs, "");
  if (status != DEEPBENCH_OK) return status;
  kernel->is_verified = kernel->is_reset = true;
  if (kernel->scenario.in_place) {
    if (!kernel->scenario.restore_broken) kernel->calls = 0;
  } else {
    kernel->poisoned = kernel->scenario.mutant != kUnpoisoned;
  }
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_read_output(deepbench_kernel* handle, uint32_t output,
                                                const uint64_t* indices, size_t count,
                                                double* values) {
  Kernel* kernel = kernel_of(handle);
  const deepbench_status status = enter_slot(&kernel->scenario, kReadOutput, "");
  if (output != 0) return fail(DEEPBENCH_INVALID, "there is no output %u", (unsigned)output);
  kernel->is_verified = false;
  begin_reading(kernel);
  for (size_t i = 0; status == DEEPBENCH_OK && i < count; ++i) {
    if (indices[i] >= output_count(kernel))
      return fail(DEEPBENCH_INVALID, "output %" PRIu64 " of %" PRIu64, indices[i],
                  output_count(kernel));
    values[i] = output_element(kernel, indices[i]);
  }
  return status;
}

static inline deepbench_status fake_scan_output(deepbench_kernel* handle, uint32_t output,
                                                deepbench_scan* scan) {
  (void)output;
  Kernel* kernel = kernel_of(handle);
  const deepbench_status status = enter_slot(&kernel->scenario, kScanOutput, "");
  if (status != DEEPBENCH_OK) return status;
  begin_reading(kernel);
  scan->count = output_count(kernel);
  if (kernel->scenario.scan_blind) return DEEPBENCH_OK;
  scan->untouched = holds_poison(kernel) || kernel->calls == 0 ? scan->count : 0;
  scan->non_finite = !scan->untouched && kernel->mutant == kNan;
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_project_output(deepbench_kernel* handle, uint32_t output,
                                                   uint64_t rows, uint64_t seed, double* sums) {
  (void)output;
  Kernel* kernel = kernel_of(handle);
  const deepbench_status status = enter_slot(&kernel->scenario, kProjectOutput, "");
  if (status != DEEPBENCH_OK) return status;
  kernel->is_verified = false;
  begin_reading(kernel);
  if (project(kernel, rows, seed, sums)) return DEEPBENCH_OK;
  return fail(DEEPBENCH_OUT_OF_MEMORY, "no memory for a projection");
}

/* Of gemm alone. Brings back the first values in place, as kernels that rewrite memory do. */
static inline deepbench_status fake_refill(deepbench_kernel* handle, const char* inputs,
                                           uint64_t seed) {
  Kernel* kernel = kernel_of(handle);
  char details[80];
  snprintf(details, sizeof details, " inputs=%s seed=%" PRIu64, inputs, seed);
  const deepbench_status status = enter_slot(&kernel->scenario, kRefill, details);
  if (status != DEEPBENCH_OK) return status;
  if (!kernel->is_gemm) return fail(DEEPBENCH_UNSUPPORTED, "only gemm can be refilled");
  if (kernel->scenario.refill_ignored) return DEEPBENCH_OK;
  Gemm* gemm = &kernel->gemm;
  forget_operands(gemm);
  gemm->integers = strcmp(inputs, "integers") == 0 && !is_integer(gemm->c);
  gemm->constant = constant_input(inputs);
  gemm->seed = seed;
  kernel->calls = 0;
  if (cache_operands(gemm)) return DEEPBENCH_OK;
  return fail(DEEPBENCH_OUT_OF_MEMORY, "no memory for the operands");
}

static inline deepbench_status fake_adopt(deepbench_kernel* reference, deepbench_kernel* kernel,
                                          int32_t* states) {
  (void)kernel;
  *states = (int32_t)kernel_of(reference)->scenario.forward_states;
  return enter_slot(&kernel_of(reference)->scenario, kAdopt, "");
}

static inline deepbench_status fake_link(deepbench_kernel* const* kernels, size_t count,
                                         deepbench_kernel** chain) {
  const Scenario* scenario = &kernel_of(kernels[0])->scenario;
  char details[40];
  snprintf(details, sizeof details, " count=%zu", count);
  const deepbench_status status = enter_slot(scenario, kLink, details);
  if (status != DEEPBENCH_OK) return status;
  Kernel* made = calloc(1, sizeof *made);
  if (made) made->links = malloc(count * sizeof *made->links);
  if (!made || !made->links) {
    free(made);
    return fail(DEEPBENCH_OUT_OF_MEMORY, "no memory for a chain");
  }
  memcpy(made->links, kernels, count * sizeof *made->links);
  made->link_count = count;
  *chain = (deepbench_kernel*)made;
  return DEEPBENCH_OK;
}

static inline void fake_destroy(deepbench_kernel* handle) {
  if (!handle) return;
  if (!kernel_of(handle)->links) enter_slot(&kernel_of(handle)->scenario, kDestroy, "");
  close_kernel(kernel_of(handle));
}

static inline const void* fake_extension(const char* name) {
  static const deepbench_energy energy = {sizeof energy, fake_read_energy};
  static const deepbench_collective collective = {sizeof collective, fake_join};
  static const deepbench_forward_state forward_state = {sizeof forward_state, fake_adopt};
  static const deepbench_chain chain = {sizeof chain, fake_link};
  if (strcmp(name, DEEPBENCH_ENERGY) == 0) return &energy;
  if (strcmp(name, DEEPBENCH_COLLECTIVE) == 0) return &collective;
  if (strcmp(name, DEEPBENCH_FORWARD_STATE) == 0) return &forward_state;
  if (strcmp(name, DEEPBENCH_CHAIN) == 0) return &chain;
  return NULL;
}

/* The required slots; each plugin adds optional ones. */
#define FAKE_REQUIRED_SLOTS                                                                        \
  .last_error = fake_last_error, .describe = fake_describe, .device_count = fake_device_count,     \
  .describe_device = fake_describe_device, .plan = fake_plan, .describe_plan = fake_describe_plan, \
  .destroy_plan = fake_destroy_plan, .prepare = fake_prepare,                                      \
  .describe_kernel = fake_describe_kernel, .time_batch = fake_time_batch,                          \
  .poison_outputs = fake_poison_outputs, .read_output = fake_read_output, .destroy = fake_destroy

#endif /* FAKE_KERNEL_SLOTS_H_ */
