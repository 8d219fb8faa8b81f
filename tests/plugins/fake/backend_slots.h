/* The slots of the fake backend that take no kernel. Each reads the script first.
 */
#ifndef FAKE_BACKEND_SLOTS_H_
#define FAKE_BACKEND_SLOTS_H_

#include "deepbench/plugin_collective.h"
#include "deepbench/plugin_energy.h"
#include "faults.h"
#include "kernel.h"

/* ---- emitting -------------------------------------------------------------------------------- */

static inline void emit_text(deepbench_sink sink, const char* name, const char* text) {
  const deepbench_value value = {name, DEEPBENCH_TEXT, 0, 0, text};
  sink.emit(sink.context, &value);
}
static inline void emit_integer(deepbench_sink sink, const char* name, int64_t integer) {
  const deepbench_value value = {name, DEEPBENCH_INTEGER, integer, 0, NULL};
  sink.emit(sink.context, &value);
}
static inline void emit_real(deepbench_sink sink, const char* name, double real, const char* text) {
  const deepbench_value value = {name, DEEPBENCH_REAL, 0, real, text};
  sink.emit(sink.context, &value);
}

/* Whether a value is a text even if it is written like a number, such as the version 1.0. */
static inline bool is_text(Slot slot, const char* name) {
  if (slot == kDescribe) return strncmp(name, "estimate.", strlen("estimate.")) != 0;
  if (slot == kCandidates) return strcmp(name, "compiling_ns") != 0;
  return slot == kEnvironment;
}

/* The text determines the type of other values: 5 is an integer, 5.0 a real number, five a text; a
 * unit may follow a number. */
static inline void emit_named(Slot slot, const char* name, const char* text, deepbench_sink sink) {
  char *after_integer = NULL, *after_real = NULL;
  const int64_t integer = strtoll(text, &after_integer, 10);
  const double real = strtod(text, &after_real);
  if (strcmp(text, "null") == 0)
    emit_text(sink, name, NULL);
  else if (is_text(slot, name))
    emit_text(sink, name, text);
  else if (*text && !*after_integer)
    emit_integer(sink, name, integer);
  else if (after_real != text && (!*after_real || *after_real == ' '))
    emit_real(sink, name, real, *after_real ? after_real + 1 : NULL);
  else
    emit_text(sink, name, text);
}

/* As many texts as the script asks for, each with a name of its own and, of candidates, an id of
 * its own. */
static inline void emit_flood(const Flood* flood, Slot slot, deepbench_sink sink) {
  if (flood->count == 0 || flood->slot != slot) return;
  char* repeated = repeated_character(flood->text);
  char name[kNameSize];
  for (int64_t i = 0; flood->count == kEndless || i < flood->count; ++i) {
    snprintf(name, sizeof name, "flood.%" PRId64, i);
    emit_text(sink, name, slot == kCandidates ? name + 6 : (repeated ? repeated : flood->text));
  }
  free(repeated);
}

static inline void emit_scripted(const Scenario* scenario, Slot slot, deepbench_sink sink) {
  for (int i = 0; i < scenario->emission_count; ++i) {
    const NamedText* named = &scenario->emissions[i];
    if (named->slot != slot) continue;
    char *name = repeated_character(named->name), *text = repeated_character(named->text);
    emit_named(slot, name ? name : named->name, text ? text : named->text, sink);
    free(name);
    free(text);
  }
  emit_flood(&scenario->flood, slot, sink);
}

/* ---- attempts -------------------------------------------------------------------------------- */

static inline uint64_t hash_of(uint64_t hash, const char* text) {
  for (; *text; ++text) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3); /* FNV-1a */
  return hash;
}

/* The number of times that this thread has already prepared a problem under this script. */
static inline int count_attempt(const char* script, uint64_t problem) {
  static _Thread_local uint64_t current_script, problems[kMaxNamed];
  static _Thread_local int counts[kMaxNamed], known;
  const uint64_t this_script = hash_of(UINT64_C(0xCBF29CE484222325), script);
  if (this_script != current_script) known = 0;
  current_script = this_script;
  int i = 0;
  while (i < known && problems[i] != problem) ++i;
  if (i == kMaxNamed) return 0;
  if (i == known) problems[known] = problem, counts[known++] = 0;
  return counts[i]++;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static inline bool is_named(const NamedText* names, int count, const char* name) {
  for (int i = 0; i < count; ++i)
    if (strcmp(names[i].name, name) == 0) return true;
  return false;
}

/* What the core has passed to a slot. `problem` is the hash of a problem without its options. */
typedef struct Given {
  Context context;
  uint64_t problem;
} Given;

static inline Given given_arguments(const deepbench_problem* problem, deepbench_values options) {
  Given given = {.problem = UINT64_C(0xCBF29CE484222325)};
  if (problem) {
    context_add(&given.context, problem->attributes);
    given.problem = hash_of(given.problem, problem->op);
    for (int j = 0; j < given.context.count; ++j)
      given.problem = hash_of(given.problem, given.context.texts[j]);
    context_set(&given.context, "op", problem->op);
  }
  context_add(&given.context, options);
  return given;
}

/* The scenario for what is given. Conditions are compared with the library and the candidate that
 * will be used, even if the options do not name them. */
static inline deepbench_status load_scenario(const Given* given, Slot slot, char** script,
                                             Context* context, Scenario* scenario) {
  *script = read_script();
  if (!*script) return DEEPBENCH_FAILED;
  *context = given->context;
  char number[16];
  snprintf(number, sizeof number, "%d", (int)group_rank);
  context_set(context, "rank", number);
  if (slot == kPrepare) {
    snprintf(number, sizeof number, "%d", count_attempt(*script, given->problem));
    context_set(context, "attempt", number);
  }
  const deepbench_status status = make_scenario(scenario, *script, context, 0);
  if (status != DEEPBENCH_OK) return status;
  if (!*context_text(context, "library") && scenario->library_count)
    context_set(context, "library", scenario->libraries[0].name);
  if (!*context_text(context, "candidate"))
    context_set(context, "candidate",
                scenario->candidate_count ? scenario->candidates[0].name : "default");
  return make_scenario(scenario, *script, context, 0);
}

static const deepbench_values kNoValues = {NULL, 0};

/* The same for slots that do not keep the scenario. It is thread-local because it is large. */
static inline Scenario* scenario_for(const Given* given, Slot slot, deepbench_status* status) {
  static _Thread_local Scenario scenario;
  static _Thread_local Context context;
  char* script = NULL;
  *status = load_scenario(given, slot, &script, &context, &scenario);
  free(script);
  if (*status == DEEPBENCH_OK) *status = enter_slot(&scenario, slot, "");
  return &scenario;
}

static inline Scenario* read_scenario(deepbench_values options, Slot slot,
                                      deepbench_status* status) {
  const Given given = given_arguments(NULL, options);
  return scenario_for(&given, slot, status);
}

/* ---- slots without a kernel ------------------------------------------------------------------ */

static inline deepbench_status fake_describe(deepbench_sink sink) {
  deepbench_status status;
  const Scenario* scenario = read_scenario(kNoValues, kDescribe, &status);
  if (status != DEEPBENCH_OK) return status;
  char name[2 * kNameSize], path[2 * kNameSize];
  for (int i = 0; i < scenario->library_count; ++i) {
    snprintf(name, sizeof name, "library.%s.version", scenario->libraries[i].name);
    emit_text(sink, name, "1.0");
    snprintf(name, sizeof name, "library.%s.path", scenario->libraries[i].name);
    snprintf(path, sizeof path, "/fake/lib%s.so", scenario->libraries[i].name);
    emit_text(sink, name, path);
  }
  for (int i = 0; i < scenario->absent_count; ++i) {
    snprintf(name, sizeof name, "library.%s.reason", scenario->absent[i].name);
    emit_text(sink, name, scenario->absent[i].text);
  }
  if (!scenario->real_time) emit_integer(sink, "simulated_time", 1);
  emit_scripted(scenario, kDescribe, sink);
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_device_count(int32_t* count) {
  deepbench_status status;
  *count = read_scenario(kNoValues, kDeviceCount, &status)->devices;
  return status;
}

static inline deepbench_status fake_describe_device(int32_t device, deepbench_sink sink) {
  const deepbench_value which = {"device", DEEPBENCH_INTEGER, device, 0, NULL};
  const deepbench_values options = {&which, 1};
  deepbench_status status;
  const Scenario* scenario = read_scenario(options, kDescribeDevice, &status);
  if (status != DEEPBENCH_OK) return status;
  if (device < 0 || device >= scenario->devices)
    return fail(DEEPBENCH_INVALID, "device %d does not exist; the number of devices is %d",
                (int)device, scenario->devices);
  char name[kNameSize];
  snprintf(name, sizeof name, "Fake device %d", (int)device);
  emit_text(sink, "name", name);
  emit_integer(sink, "last_level_cache_bytes", scenario->cache_bytes);
  emit_integer(sink, "memory_bytes", INT64_C(64) << 30);
  emit_integer(sink, "memory_available_bytes", INT64_C(60) << 30);
  emit_integer(sink, "cache.l1_bytes", 32 << 10);
  emit_integer(sink, "cache.l2_bytes", 1 << 20);
  emit_scripted(scenario, kDescribeDevice, sink);
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_environment(deepbench_values options, deepbench_sink sink) {
  deepbench_status status;
  const Scenario* scenario = read_scenario(options, kEnvironment, &status);
  if (status == DEEPBENCH_OK) emit_scripted(scenario, kEnvironment, sink);
  return status;
}

static inline deepbench_status fake_observe(int32_t device, deepbench_sink sink) {
  const deepbench_value which = {"device", DEEPBENCH_INTEGER, device, 0, NULL};
  const deepbench_values options = {&which, 1};
  deepbench_status status;
  const Scenario* scenario = read_scenario(options, kObserve, &status);
  if (status != DEEPBENCH_OK) return status;
  emit_real(sink, "power_w", 100, NULL);
  emit_real(sink, "temperature_c", 50, NULL);
  emit_scripted(scenario, kObserve, sink);
  return DEEPBENCH_OK;
}

/* ---- extensions -------------------------------------------------------------------------------
 */

/* An energy counter that starts at 1000 J. */
static inline deepbench_status fake_read_energy(int32_t device, double* joules) {
  static double counter = 1000;
  deepbench_status status;
  (void)device;
  *joules = counter;
  counter += read_scenario(kNoValues, kObserve, &status)->energy;
  return status;
}

/* The ranks exchange their numbers; every rank must be present. */
static inline deepbench_status fake_join(const deepbench_group* group) {
  deepbench_status status;
  group_rank = group->rank, group_size = group->size;
  read_scenario(kNoValues, kJoin, &status);
  if (status != DEEPBENCH_OK) return status;
  int32_t all[64];
  if (group->size > 64) return fail(DEEPBENCH_UNSUPPORTED, "at most 64 ranks");
  status = group->exchange(group->context, &group->rank, sizeof group->rank, all);
  for (int32_t i = 0; status == DEEPBENCH_OK && i < group->size; ++i)
    if (all[i] != i) return fail(DEEPBENCH_FAILED, "rank %d answers as %d", (int)i, (int)all[i]);
  return status;
}

/* ---- problems -------------------------------------------------------------------------------- */

/* The element that all operands hold, 0 or 1; -1 for other inputs. */
static inline int constant_input(const char* inputs) {
  return strcmp(inputs, "zeros") == 0 ? 0 : strcmp(inputs, "ones") == 0 ? 1 : -1;
}

static inline bool read_problem(Kernel* kernel) {
  const Context* context = &kernel->context;
  const uint64_t seed = strtoull(context_text(context, "seed"), NULL, 10);
  kernel->is_gemm = strcmp(context_text(context, "op"), "gemm") == 0;
  kernel->is_sum = strcmp(context_text(context, "op"), "all_reduce") == 0;
  if (kernel->is_sum) {
    kernel->sum.elements = context_integer(context, "elements", 0);
    kernel->sum.seed = seed;
    kernel->sum.constant = constant_input(context_text(context, "inputs"));
    return read_sum(&kernel->sum, context_text(context, "precision"));
  }
  if (!kernel->is_gemm) {
    const int kind = INDEX_OF(context_text(context, "kind"), kMemoryKinds);
    kernel->memory.kind = kind < 0 ? kCopy : (MemoryKind)kind;
    kernel->memory.words = context_integer(context, "bytes", 0) / 4;
    kernel->memory.seed = seed;
    kernel->memory.constant = constant_input(context_text(context, "inputs"));
    return kind >= 0 && strcmp(context_text(context, "op"), "memory") == 0;
  }
  Gemm* gemm = &kernel->gemm;
  gemm->m = context_integer(context, "m", 0);
  gemm->n = context_integer(context, "n", 0);
  gemm->k = context_integer(context, "k", 0);
  gemm->trans_a = strcmp(context_text(context, "trans_a"), "t") == 0;
  gemm->trans_b = strcmp(context_text(context, "trans_b"), "t") == 0;
  gemm->seed = seed;
  gemm->constant = constant_input(context_text(context, "inputs"));
  gemm->beta = kernel->scenario.beta;
  if (!set_precision(gemm, context_text(context, "precision"))) return false;
  if (strcmp(context_text(context, "b_type"), "u8") == 0) gemm->b = DEEPBENCH_U8;
  if (strcmp(kernel->scenario.fill_b, "s7") == 0) gemm->b = DEEPBENCH_S7;
  if (strcmp(kernel->scenario.fill_b, "u8") == 0) gemm->b = DEEPBENCH_U8;
  return true;
}

static inline double operand_bytes(const Kernel* kernel) {
  if (kernel->is_sum) return 8.0 * (double)kernel->sum.elements;
  return kernel->is_gemm ? gemm_bytes(&kernel->gemm) : 8.0 * (double)kernel->memory.words;
}

/* Chooses so many copies that a rotation touches three times the size of the last-level cache. */
static inline void choose_copies(Kernel* kernel) {
  kernel->cold = strcmp(context_text(&kernel->context, "cache"), "cold") == 0;
  kernel->copies = 1;
  if (!kernel->cold || kernel->scenario.flush) return;
  const double max_copies = (double)context_integer(&kernel->context, "copies", 1024);
  const double wanted = 3.0 * (double)kernel->scenario.cache_bytes / operand_bytes(kernel) + 1;
  if (wanted > max_copies)
    kernel->scenario.flush = true;
  else
    kernel->copies = wanted < 2 ? 2 : (uint64_t)wanted;
}

static inline deepbench_status check_library(const Scenario* scenario, const Context* context) {
  const char* library = context_text(context, "library");
  for (int i = 0; i < scenario->absent_count; ++i)
    if (strcmp(scenario->absent[i].name, library) == 0)
      return fail(DEEPBENCH_UNSUPPORTED, "%s: %s", library, scenario->absent[i].text);
  if (is_named(scenario->libraries, scenario->library_count, library)) return DEEPBENCH_OK;
  return fail(DEEPBENCH_UNSUPPORTED, "the fake backend has no library '%s'", library);
}

static inline deepbench_status check_candidate(const Scenario* scenario, const Context* context) {
  const char* candidate = context_text(context, "candidate");
  if (strcmp(candidate, "default") == 0 ||
      is_named(scenario->candidates, scenario->candidate_count, candidate))
    return DEEPBENCH_OK;
  return fail(DEEPBENCH_INVALID, "the fake backend has no candidate '%s'", candidate);
}

/* A kernel for what is given, without operands; NULL, with the reason set, if it fails. */
static inline Kernel* open_kernel(const Given* given, Slot slot, const char* details,
                                  deepbench_status* status) {
  Kernel* kernel = calloc(1, sizeof *kernel);
  if (!kernel) {
    *status = fail(DEEPBENCH_OUT_OF_MEMORY, "no memory for a kernel");
    return NULL;
  }
  *status = load_scenario(given, slot, &kernel->script, &kernel->context, &kernel->scenario);
  if (*status == DEEPBENCH_OK) *status = enter_slot(&kernel->scenario, slot, details);
  if (*status == DEEPBENCH_OK) *status = check_library(&kernel->scenario, &kernel->context);
  if (*status == DEEPBENCH_OK) *status = check_candidate(&kernel->scenario, &kernel->context);
  if (*status == DEEPBENCH_OK && !read_problem(kernel))
    *status = fail(DEEPBENCH_UNSUPPORTED, "the fake backend has no %s",
                   context_text(&given->context, "op"));
  if (*status == DEEPBENCH_OK) {
    choose_copies(kernel);
    return kernel;
  }
  free(kernel->script);
  free(kernel);
  return NULL;
}

static inline void close_kernel(Kernel* kernel) {
  forget_operands(&kernel->gemm);
  free(kernel->script);
  free(kernel->links);
  free(kernel);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static inline Given* given_of(deepbench_plan* plan) { return (Given*)plan; }

/* Checks that a kernel can be made, and keeps what it takes. */
static inline deepbench_status make_plan(const Given* given, const char* details,
                                         deepbench_plan** out) {
  deepbench_status status;
  Kernel* kernel = open_kernel(given, kPlan, details, &status);
  if (!kernel) return status;
  close_kernel(kernel);
  Given* plan = malloc(sizeof *plan);
  if (!plan) return fail(DEEPBENCH_OUT_OF_MEMORY, "no memory for a plan");
  *plan = *given;
  *out = (deepbench_plan*)plan;
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_plan(const deepbench_problem* problem, deepbench_values options,
                                         deepbench_plan** out) {
  const Given given = given_arguments(problem, options);
  return make_plan(&given, "", out);
}

static inline deepbench_status fake_plan_candidate(deepbench_plan* plan, const char* id,
                                                   deepbench_plan** out) {
  Given given = *given_of(plan);
  context_set(&given.context, "candidate", id);
  char details[kNameSize + 16];
  snprintf(details, sizeof details, " candidate=%s", id);
  return make_plan(&given, details, out);
}

static inline deepbench_status fake_describe_plan(deepbench_plan* plan, deepbench_sink sink) {
  deepbench_status status;
  Kernel* kernel = open_kernel(given_of(plan), kDescribePlan, "", &status);
  if (!kernel) return status;
  char text[2 * kNameSize];
  emit_text(sink, "library", context_text(&kernel->context, "library"));
  snprintf(text, sizeof text, "naive:%s", context_text(&kernel->context, "candidate"));
  emit_text(sink, "algorithm", text);
  emit_integer(sink, "workspace_bytes", 0);
  emit_integer(sink, "memory_bytes",
               kernel->scenario.memory_bytes != kAsOperands
                   ? kernel->scenario.memory_bytes
                   : (int64_t)(operand_bytes(kernel) * (double)kernel->copies));
  emit_scripted(&kernel->scenario, kDescribePlan, sink);
  close_kernel(kernel);
  return DEEPBENCH_OK;
}

static inline deepbench_status fake_candidates(deepbench_plan* plan, int64_t limit,
                                               deepbench_sink sink) {
  (void)limit;
  deepbench_status status;
  const Scenario* scenario = scenario_for(given_of(plan), kCandidates, &status);
  if (status != DEEPBENCH_OK) return status;
  for (int i = 0; i < scenario->candidate_count; ++i)
    emit_text(sink, "candidate", scenario->candidates[i].name);
  emit_scripted(scenario, kCandidates, sink);
  return DEEPBENCH_OK;
}

static inline void fake_destroy_plan(deepbench_plan* plan) { free(plan); }

static inline deepbench_status fake_prepare(deepbench_plan* plan, deepbench_kernel** out) {
  deepbench_status status;
  Kernel* kernel = open_kernel(given_of(plan), kPrepare, "", &status);
  if (!kernel) return status;
  if (kernel->is_gemm && !cache_operands(&kernel->gemm)) {
    close_kernel(kernel);
    return fail(DEEPBENCH_OUT_OF_MEMORY, "no memory for the operands");
  }
  *out = (deepbench_kernel*)kernel;
  return DEEPBENCH_OK;
}

#endif /* FAKE_BACKEND_SLOTS_H_ */
