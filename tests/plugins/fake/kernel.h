/* A kernel of the fake backend: its scripted clock, and the state of its output. */
#ifndef FAKE_KERNEL_H_
#define FAKE_KERNEL_H_

#include <time.h>

#include "all_reduce.h"
#include "gemm.h"
#include "memory.h"
#include "scenario.h"

typedef struct Kernel {
  Context context;
  char* script;
  Scenario scenario;
  bool is_gemm, is_sum;
  Gemm gemm;
  AllReduce sum;
  Memory memory;
  bool cold;
  uint64_t copies;
  uint64_t batches;  /* number of finished batches */
  double correlated; /* state of correlated noise */
  /* The output is poisoned, or holds the result of `calls` calls with `mutant` in the last copy. */
  bool poisoned;
  bool is_verified; /* the outputs were poisoned, or C restored, since the last reading */
  bool is_reset;    /* the same since the last batch */
  bool is_unread;   /* a call was made since the last reading */
  uint64_t calls;   /* number of calls since prepare or restore */
  Mutant mutant;
  /* Of a chain: the kernels whose calls it makes, as it was given them. */
  struct Kernel** links;
  size_t link_count;
} Kernel;

/* ---- the clock ------------------------------------------------------------------------------- */

static inline double modeled_ns(const Kernel* kernel) {
  const double* model = kernel->scenario.model;
  const Gemm* g = &kernel->gemm;
  const double bytes = kernel->is_gemm  ? gemm_bytes(g)
                       : kernel->is_sum ? 4.0 * (double)kernel->sum.elements
                                        : memory_traffic(&kernel->memory);
  const double flops = kernel->is_gemm ? 2.0 * (double)g->m * (double)g->n * (double)g->k : 0;
  const bool resident = !kernel->cold && bytes <= (double)kernel->scenario.cache_bytes;
  const double moving = bytes / (resident ? model[3] : model[2]);
  const double computing = flops / model[1];
  return model[0] + (computing > moving ? computing : moving);
}

/* The time of one call in the current batch. */
static inline double call_ns(Kernel* kernel) {
  const Scenario* scenario = &kernel->scenario;
  if (scenario->verified_ns > 0 && kernel->is_verified) return scenario->verified_ns;
  double ns =
      scenario->time.count ? sequence_at(&scenario->time, kernel->batches) : modeled_ns(kernel);
  if (scenario->noise[1] > 0) {
    const double fresh = deepbench_uniform((uint64_t)scenario->noise[0], 0, kernel->batches);
    kernel->correlated = scenario->noise[2] * kernel->correlated + fresh;
    ns *= 1 + scenario->noise[1] * kernel->correlated;
  }
  return ns;
}

static inline void apply_answers(const Scenario* scenario, deepbench_batch* batch) {
  for (int i = 0; i < scenario->answer_count; ++i) {
    const char* name = scenario->answers[i].name;
    const double number = strtod(scenario->answers[i].text, NULL);
    if (strcmp(name, "elapsed_ns") == 0) batch->elapsed_ns = number;
    if (strcmp(name, "host_ns") == 0) batch->host_ns = number;
    if (strcmp(name, "clock_mhz") == 0) batch->clock_mhz = number;
    if (strcmp(name, "count") == 0) batch->count = (uint64_t)number;
    if (strcmp(name, "copies_touched") == 0) batch->copies_touched = (uint64_t)number;
    if (strcmp(name, "launch") == 0) batch->launch = (int32_t)number;
    if (strcmp(name, "timer") == 0) batch->timer = NULL;
  }
}

/* Keeps the host busy, as a kernel does that takes its time. */
static inline void work(double ns) {
  struct timespec begin, now;
  if (ns <= 0) return;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - begin.tv_sec) * 1e9 + (double)(now.tv_nsec - begin.tv_nsec) < ns);
}

static inline void run_batch(Kernel* kernel, const deepbench_request* request,
                             deepbench_batch* batch) {
  const Scenario* scenario = &kernel->scenario;
  const double count = scenario->loops_once ? 1 : (double)request->count;
  work(scenario->works_ns * count);
  const double usual = call_ns(kernel);
  const double first =
      scenario->reset_call_ns > 0 && kernel->is_reset ? scenario->reset_call_ns : usual;
  const double further = scenario->further_ns > 0 ? scenario->further_ns : usual;
  double elapsed = first + further * (count - 1) + scenario->overhead_ns;
  if (scenario->resolution_ns > 0)
    elapsed = scenario->resolution_ns * (double)(uint64_t)(elapsed / scenario->resolution_ns + 0.5);
  const uint64_t copies = scenario->rotation_stuck ? 1 : kernel->copies;
  batch->count = request->count;
  batch->elapsed_ns = elapsed;
  batch->host_ns = elapsed + scenario->host_batch_ns + scenario->host_call_ns * count;
  batch->copies_touched = request->count < copies ? request->count : copies;
  batch->launch = request->launch == DEEPBENCH_LAUNCH_BEST ? scenario->launch : request->launch;
  batch->timer = scenario->timer;
  batch->clock_mhz = scenario->mhz.count ? sequence_at(&scenario->mhz, kernel->batches) : 0;
  batch->flags =
      scenario->flags.count ? (uint32_t)sequence_at(&scenario->flags, kernel->batches) : 0;
  apply_answers(scenario, batch);
  kernel->batches += 1;
  kernel->is_reset = false;
  const bool is_correct = scenario->mutant_in_batches && request->count == 1;
  const Mutant mutant = is_correct ? kNone : scenario->mutant;
  if (mutant == kUntouched) return;
  kernel->mutant = mutant;
  kernel->is_unread = true;
  kernel->poisoned = false;
  kernel->calls += request->count;
}

/* ---- the output ------------------------------------------------------------------------------ */

static inline uint64_t output_count(const Kernel* kernel) {
  return kernel->is_gemm  ? (uint64_t)(kernel->gemm.m * kernel->gemm.n)
         : kernel->is_sum ? (uint64_t)kernel->sum.elements
                          : memory_outputs(&kernel->memory);
}

/* The number of calls summed up in the copy that the last call used. */
static inline uint64_t calls_in_output(const Kernel* kernel) {
  if (!kernel->scenario.in_place) return 1;
  if (kernel->scenario.adds_once && kernel->calls > 0) return 1;
  if (kernel->calls == 0) return 0;
  const uint64_t calls = (kernel->calls - 1) / kernel->copies + 1;
  return kernel->scenario.adds_half ? (calls + 1) / 2 : calls;
}

static inline bool holds_poison(const Kernel* kernel) {
  return kernel->poisoned || (!kernel->scenario.in_place && kernel->calls == 0);
}

/* What every slot that reads the output begins with. */
static inline void begin_reading(Kernel* kernel) {
  const bool is_result = !holds_poison(kernel) && kernel->calls > 0;
  if (is_result && (kernel->is_unread || kernel->scenario.reads_each))
    work(kernel->scenario.reading_ns);
  kernel->is_unread = false;
}

static inline double output_element(Kernel* kernel, uint64_t index) {
  if (holds_poison(kernel)) {
    const bool integer = kernel->is_gemm ? is_integer(kernel->gemm.c) : !kernel->is_sum;
    return integer ? DEEPBENCH_POISON_INTEGER : (double)deepbench_bits_float(0x7fc00000u);
  }
  if (kernel->is_sum && kernel->scenario.in_place && kernel->calls == 0)
    return own_summand(&kernel->sum, (uint32_t)group_rank, index);
  if (kernel->is_sum) return sum_element(&kernel->sum, index, kernel->mutant);
  if (!kernel->is_gemm) return memory_element(&kernel->memory, index, kernel->mutant);
  return gemm_element(&kernel->gemm, index, kernel->mutant, calls_in_output(kernel));
}

static inline bool project(Kernel* kernel, uint64_t rows, uint64_t seed, double* sums) {
  const Gemm* g = &kernel->gemm;
  const bool is_right =
      kernel->mutant == kNone || (kernel->mutant == kGuessed && seed == UINT64_C(0x5eed));
  if (kernel->is_gemm && is_right && !holds_poison(kernel) && !g->tf32 && rows == (uint64_t)g->m)
    return gemm_project(g, seed, calls_in_output(kernel), sums);
  const uint64_t count = output_count(kernel);
  /* The buffers that measure a device's memory are large. */
  const bool is_copied =
      !kernel->is_gemm && !kernel->is_sum && kernel->mutant == kNone && !holds_poison(kernel);
  for (uint64_t i = 0; i < rows; ++i) sums[i] = 0;
  for (uint64_t first = 0, column = 0; first < count; first += rows, ++column) {
    const double weight = deepbench_weight(seed, column);
    const uint64_t end = count - first < rows ? count : first + rows;
    for (uint64_t i = first; i < end; ++i)
      sums[i - first] += weight * (is_copied ? memory_element(&kernel->memory, i, kNone)
                                             : output_element(kernel, i));
  }
  return true;
}

#endif /* FAKE_KERNEL_H_ */
