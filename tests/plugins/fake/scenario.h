/* The behavior that a script requests for a problem, its options and a batch number. The lines
 * that apply are read in order; later lines override earlier ones.
 */
#ifndef FAKE_SCENARIO_H_
#define FAKE_SCENARIO_H_

#include "deepbench/plugin_forward_state.h"
#include "script.h"

enum { kMaxSteps = 512, kMaxNamed = 40, kMaxRules = 16 };
static const int64_t kEndless = INT64_MAX;
static const int64_t kAsOperands = INT64_MIN;

/* One value per batch, as runs of equal values; cyclic unless `hold` is set. */
typedef struct Sequence {
  int count;
  bool hold;
  double values[kMaxSteps];
  uint64_t ends[kMaxSteps]; /* first batch after each run */
} Sequence;

typedef enum Slot {
  kDescribe,
  kDeviceCount,
  kDescribeDevice,
  kEnvironment,
  kPlan, /* plan and plan_candidate */
  kDescribePlan,
  kCandidates,
  kPrepare,
  kDescribeKernel,
  kTimeBatch,
  kRestore,
  kPoisonOutputs,
  kReadOutput,
  kScanOutput,
  kProjectOutput,
  kRefill,
  kObserve,
  kJoin,
  kAdopt,
  kLink,
  kDestroy,
  kSlots
} Slot;
static const char* const kSlotNames[kSlots] = {
    "describe",    "device_count", "describe_device", "environment", "plan",    "describe_plan",
    "candidates",  "prepare",      "describe_kernel", "time_batch",  "restore", "poison_outputs",
    "read_output", "scan_output",  "project_output",  "refill",      "observe", "join",
    "adopt",       "link",         "destroy"};

static const char* const kStatusNames[] = {"ok",          "unsupported", "invalid", "out_of_memory",
                                           "device_lost", "failed"};
static const char* const kFaultNames[] = {"fail",  "crash", "abort", "hang",   "killed", "exit",
                                          "sleep", "fork",  "close", "orphan", "print",  "read"};
typedef enum FaultKind {
  kFail,
  kCrash,
  kAbort,
  kHang,
  kKilled,
  kExit,
  kSleep,
  kFork,
  kClose,
  kOrphan,
  kPrintRow,
  kReadInput
} FaultKind;

typedef enum Mutant {
  kNone,
  kLastK,
  kTf32,
  kHalfAccumulation,
  kZeroTile,
  kOneOff,
  kUntouched,
  kNan,
  kUnpoisoned,
  kNoC,
  kAlpha,
  kScaled,
  kGuessed
} Mutant;
static const char* const kMutantNames[] = {
    "none",    "last_k",    "tf32",   "half_accumulation", "zero_tile",
    "one_off", "untouched", "nan",    "unpoisoned",        "no_c",
    "alpha",   "scaled",    "guessed"};

typedef struct Fault {
  FaultKind kind;
  Slot slot;
  int status; /* fail: deepbench_status; exit: exit status; sleep: milliseconds */
  char message[kTextSize];
} Fault;

typedef struct NamedText {
  Slot slot; /* emissions: the slot that emits it */
  char name[kNameSize];
  char text[kTextSize];
} NamedText;

typedef struct Flood {
  Slot slot;
  int64_t count; /* of values to emit */
  char text[kTextSize];
} Flood;

typedef struct Scenario {
  Sequence time, mhz, flags;
  double model[4]; /* overhead_ns, flops/ns, bytes/ns, bytes/ns from cache */
  double noise[3]; /* seed, spread, rho */
  double overhead_ns, host_batch_ns, host_call_ns, resolution_ns;
  int launch;
  char timer[kNameSize];
  Mutant mutant;
  bool mutant_in_batches; /* the mutant applies only to batches of several calls */
  bool in_place, restore_broken, refill_ignored, rotation_stuck, scan_blind, flush;
  bool adds_once, adds_half; /* in place, not every call adds the product */
  bool loops_once;           /* a batch makes one call, whatever its count */
  double further_ns;         /* > 0: the time of each call of a batch after the first */
  double works_ns;           /* host time that each call really takes; 0: none */
  double verified_ns;        /* > 0: the time of a call between poisoning and the next reading */
  double reset_call_ns;      /* > 0: the time of the first call after poisoning or restore() */
  bool real_time;            /* the clock claims to be the host's */
  double reading_ns;         /* host time of reading a result the first time, or each time */
  bool reads_each;
  double beta, forward_states, energy;
  char fill_b[8];
  int devices;
  int64_t cache_bytes, memory_bytes; /* kAsOperands: the size of the operands */
  int library_count, candidate_count, absent_count, fault_count, emission_count, answer_count;
  NamedText libraries[kMaxRules], absent[kMaxRules], candidates[kMaxNamed];
  Fault faults[kMaxRules];
  NamedText emissions[kMaxNamed], answers[kMaxRules];
  Flood flood;
  char log[kTextSize];
  uint64_t next_change; /* the first later batch to which another line applies */
} Scenario;

static inline int index_of(const char* word, const char* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (strcmp(word, names[i]) == 0) return i;
  return -1;
}
#define INDEX_OF(word, names) index_of(word, names, (int)(sizeof names / sizeof names[0]))

static inline double sequence_at(const Sequence* sequence, uint64_t batch) {
  const uint64_t length = sequence->ends[sequence->count - 1];
  if (batch >= length) batch = sequence->hold ? length - 1 : batch % length;
  int run = 0;
  while (sequence->ends[run] <= batch) ++run;
  return sequence->values[run];
}

/* ---- verbs: each function reads the arguments words[1...] and returns false for invalid ones ---
 */

static inline bool read_number(const char* word, double* out) {
  char* end = NULL;
  *out = strtod(word, &end);
  return end != word && !*end;
}

static inline bool read_numbers(const Line* line, int min_count, int max_count, double* out) {
  if (line->count - 1 < min_count || line->count - 1 > max_count) return false;
  for (int i = 1; i < line->count; ++i) {
    char* end = NULL;
    out[i - 1] = strtod(line->words[i], &end);
    if (*end) return false;
  }
  return true;
}

static inline bool read_sequence(const Line* line, Sequence* out) {
  uint64_t end = 0;
  out->hold = line->count > 1 && strcmp(line->words[line->count - 1], "hold") == 0;
  out->count = line->count - 1 - out->hold;
  if (out->count < 1 || out->count > kMaxSteps) return false;
  for (int i = 0; i < out->count; ++i) {
    char* rest = NULL;
    out->values[i] = strtod(line->words[i + 1], &rest);
    const uint64_t times = *rest == '*' ? strtoull(rest + 1, &rest, 10) : 1;
    if (*rest || times == 0) return false;
    out->ends[i] = end += times;
  }
  return true;
}

static inline bool read_names(const Line* line, int max_count, NamedText* out, int* count) {
  *count = line->count - 1;
  if (*count > max_count) return false;
  for (int i = 0; i < *count; ++i) snprintf(out[i].name, kNameSize, "%s", line->words[i + 1]);
  return true;
}

/* Reads NAME TEXT... from word `first` on. */
static inline bool read_named(const Line* line, int first, int max_count, NamedText* out,
                              int* count) {
  if (line->count < first + 2 || *count == max_count) return false;
  NamedText* named = &out[(*count)++];
  snprintf(named->name, kNameSize, "%s", line->words[first]);
  snprintf(named->text, kTextSize, "%s", rest_of(line, first + 1));
  return true;
}

static inline bool read_emission(const Line* line, Scenario* scenario) {
  const int slot = line->count > 1 ? INDEX_OF(line->words[1], kSlotNames) : -1;
  if (slot < 0 || !read_named(line, 2, kMaxNamed, scenario->emissions, &scenario->emission_count))
    return false;
  scenario->emissions[scenario->emission_count - 1].slot = (Slot)slot;
  return true;
}

/* Reads SLOT COUNT|endless [TEXT]. */
static inline bool read_flood(const Line* line, Flood* flood) {
  const int slot = line->count > 2 ? INDEX_OF(line->words[1], kSlotNames) : -1;
  if (slot < 0) return false;
  flood->slot = (Slot)slot;
  flood->count =
      strcmp(line->words[2], "endless") == 0 ? kEndless : strtoll(line->words[2], NULL, 10);
  snprintf(flood->text, kTextSize, "%s", rest_of(line, 3));
  return flood->count > 0;
}

static inline bool read_fault(const Line* line, FaultKind kind, Scenario* scenario) {
  if (scenario->fault_count == kMaxRules) return false;
  Fault* fault = &scenario->faults[scenario->fault_count++];
  const int slot = line->count > 1 ? INDEX_OF(line->words[1], kSlotNames) : kTimeBatch;
  fault->kind = kind;
  fault->slot = (Slot)slot;
  fault->status = DEEPBENCH_FAILED;
  fault->message[0] = '\0';
  if (slot < 0) return false;
  if (line->count > 2 && kind == kFail) {
    fault->status = INDEX_OF(line->words[2], kStatusNames);
    if (fault->status < 0) fault->status = atoi(line->words[2]);
    snprintf(fault->message, kTextSize, "%s", rest_of(line, 3));
    return true;
  }
  if (line->count > 2) fault->status = atoi(line->words[2]);
  return line->count <= 3;
}

static inline bool read_clock_verb(const Line* line, Scenario* scenario, bool* known) {
  const char* verb = line->words[0];
  double numbers[4] = {0};
  if (strcmp(verb, "time") == 0) return read_sequence(line, &scenario->time);
  if (strcmp(verb, "mhz") == 0) return read_sequence(line, &scenario->mhz);
  if (strcmp(verb, "flags") == 0) return read_sequence(line, &scenario->flags);
  if (strcmp(verb, "model") == 0) {
    scenario->time.count = 0;
    return read_numbers(line, 4, 4, scenario->model);
  }
  if (strcmp(verb, "noise") == 0) {
    scenario->noise[2] = 0;
    return read_numbers(line, 2, 2, scenario->noise);
  }
  if (strcmp(verb, "correlated") == 0) return read_numbers(line, 3, 3, scenario->noise);
  if (strcmp(verb, "further") == 0) return read_numbers(line, 1, 1, &scenario->further_ns);
  if (strcmp(verb, "works") == 0) return read_numbers(line, 1, 1, &scenario->works_ns);
  if (strcmp(verb, "verified_time") == 0) return read_numbers(line, 1, 1, &scenario->verified_ns);
  if (strcmp(verb, "reset_call") == 0) return read_numbers(line, 1, 1, &scenario->reset_call_ns);
  if (strcmp(verb, "real_time") == 0) return scenario->real_time = line->count == 1;
  if (strcmp(verb, "loops") == 0)
    return line->count == 2 && (scenario->loops_once = strcmp(line->words[1], "once") == 0);
  if (strcmp(verb, "overhead") == 0) return read_numbers(line, 1, 1, &scenario->overhead_ns);
  if (strcmp(verb, "resolution") == 0) return read_numbers(line, 1, 1, &scenario->resolution_ns);
  if (strcmp(verb, "host") == 0) {
    const bool read = read_numbers(line, 1, 2, numbers);
    scenario->host_batch_ns = numbers[0], scenario->host_call_ns = numbers[1];
    return read;
  }
  *known = false;
  return false;
}

static inline bool read_result_verb(const Line* line, Scenario* scenario, bool* known) {
  static const char* const kLaunches[] = {"best", "graph", "stream", "isolated"};
  const char* verb = line->words[0];
  const char* word = line->count > 1 ? line->words[1] : "";
  if (strcmp(verb, "launch") == 0) return (scenario->launch = INDEX_OF(word, kLaunches)) >= 0;
  if (strcmp(verb, "timer") == 0) return snprintf(scenario->timer, kNameSize, "%s", word) > 0;
  if (strcmp(verb, "mutant") == 0) {
    const int mutant = INDEX_OF(word, kMutantNames);
    scenario->mutant = (Mutant)mutant;
    scenario->mutant_in_batches = line->count > 2 && strcmp(line->words[2], "batches") == 0;
    return mutant >= 0 && line->count == 2 + scenario->mutant_in_batches;
  }
  if (strcmp(verb, "in_place") == 0) return scenario->in_place = true;
  if (strcmp(verb, "flush") == 0) return scenario->flush = true;
  if (strcmp(verb, "reading") == 0) {
    scenario->reads_each = line->count > 2 && strcmp(line->words[2], "each") == 0;
    return read_number(word, &scenario->reading_ns) && line->count == 2 + scenario->reads_each;
  }
  if (strcmp(verb, "restore") == 0) return scenario->restore_broken = strcmp(word, "broken") == 0;
  if (strcmp(verb, "adds") == 0) {
    scenario->adds_once = strcmp(word, "once") == 0;
    scenario->adds_half = strcmp(word, "half") == 0;
    return scenario->adds_once || scenario->adds_half;
  }
  if (strcmp(verb, "refill") == 0) return scenario->refill_ignored = strcmp(word, "ignored") == 0;
  if (strcmp(verb, "rotation") == 0) return scenario->rotation_stuck = strcmp(word, "stuck") == 0;
  if (strcmp(verb, "scan") == 0) return scenario->scan_blind = strcmp(word, "blind") == 0;
  if (strcmp(verb, "beta") == 0) return read_numbers(line, 1, 1, &scenario->beta);
  if (strcmp(verb, "energy") == 0) return read_numbers(line, 1, 1, &scenario->energy);
  if (strcmp(verb, "forward_states") == 0)
    return read_numbers(line, 1, 1, &scenario->forward_states);
  if (strcmp(verb, "fill_b") == 0) return snprintf(scenario->fill_b, 8, "%s", word) > 0;
  if (strcmp(verb, "answer") == 0)
    return read_named(line, 1, kMaxRules, scenario->answers, &scenario->answer_count);
  *known = false;
  return false;
}

static inline bool read_fact_verb(const Line* line, Scenario* scenario, bool* known) {
  const char* verb = line->words[0];
  double number = 0;
  const int fault = INDEX_OF(verb, kFaultNames);
  if (fault >= 0) return read_fault(line, (FaultKind)fault, scenario);
  if (strcmp(verb, "emit") == 0) return read_emission(line, scenario);
  if (strcmp(verb, "flood") == 0) return read_flood(line, &scenario->flood);
  if (strcmp(verb, "libraries") == 0)
    return read_names(line, kMaxRules, scenario->libraries, &scenario->library_count);
  if (strcmp(verb, "candidates") == 0)
    return read_names(line, kMaxNamed, scenario->candidates, &scenario->candidate_count);
  if (strcmp(verb, "absent") == 0)
    return read_named(line, 1, kMaxRules, scenario->absent, &scenario->absent_count);
  if (strcmp(verb, "log") == 0)
    return snprintf(scenario->log, kTextSize, "%s", rest_of(line, 1)) > 0;
  if (strcmp(verb, "devices") == 0 || strcmp(verb, "cache") == 0 ||
      strcmp(verb, "memory_bytes") == 0) {
    const bool read = read_numbers(line, 1, 1, &number);
    if (*verb == 'd') scenario->devices = (int)number;
    if (*verb == 'c') scenario->cache_bytes = (int64_t)number;
    if (*verb == 'm') scenario->memory_bytes = (int64_t)number;
    return read;
  }
  *known = false;
  return false;
}

static inline void default_scenario(Scenario* scenario) {
  memset(scenario, 0, sizeof *scenario);
  const double model[4] = {1000, 1000, 100, 1000};
  memcpy(scenario->model, model, sizeof model);
  scenario->launch = DEEPBENCH_LAUNCH_STREAM;
  strcpy(scenario->timer, "scripted");
  scenario->beta = 1;
  scenario->energy = 1;
  scenario->forward_states = DEEPBENCH_STATES_ADOPTED;
  scenario->devices = 1;
  scenario->cache_bytes = 32 << 20;
  scenario->memory_bytes = kAsOperands;
  scenario->library_count = 1;
  strcpy(scenario->libraries[0].name, "fake");
  scenario->next_change = UINT64_MAX;
}

/* Reads the lines of the script that apply to a context and a batch number. */
static inline deepbench_status make_scenario(Scenario* scenario, const char* script,
                                             const Context* context, uint64_t batch) {
  static _Thread_local Line line;
  default_scenario(scenario);
  line.number = 0;
  for (const char* rest = script; next_line(&rest, &line);) {
    if (!conditions_hold(&line, context)) continue;
    if (line.from > batch) {
      if (line.from < scenario->next_change) scenario->next_change = line.from;
      continue;
    }
    bool (*const readers[])(const Line*, Scenario*, bool*) = {read_clock_verb, read_result_verb,
                                                              read_fact_verb};
    bool known = false, read = false;
    for (int i = 0; i < 3 && !known; ++i) {
      known = true;
      read = readers[i](&line, scenario, &known);
    }
    if (!read)
      return fail(DEEPBENCH_FAILED, "fake script, line %d: %s '%.100s'", line.number,
                  known ? "bad arguments in" : "unknown verb in", rest_of(&line, 0));
  }
  return DEEPBENCH_OK;
}

#endif /* FAKE_SCENARIO_H_ */
