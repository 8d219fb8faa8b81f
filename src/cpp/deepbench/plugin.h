/* The contract between the core and a backend, in C11.
 *
 * A backend is one shared library that exports one symbol, deepbench_plugin(), which returns one
 * table of functions. Everything that the core knows of a device it learns through this table.
 *
 * The life of a row:
 *   plan            binds a problem to a library and an algorithm; allocates nothing on the device
 *   prepare         makes a kernel of the plan: operands in memory, filled, ready to be called
 *   time_batch      calls the kernel and times the calls; all else is outside of its time
 *   poison_outputs, read_output
 *                   let the core verify what the timed calls computed
 *   destroy, destroy_plan
 *
 * Rules:
 *  - struct_size is the first field of every struct that may grow; fields are only ever appended
 *    within a major version, and a reader looks at struct_size before it reads a later field.
 *  - Every function returns a status. When it is not DEEPBENCH_OK, last_error() gives one line for
 *    the calling thread that says what was wrong; it lives until that thread's next call.
 *  - What the core passes in lives for the call only; a backend copies what it keeps. What a
 *    backend emits through a sink lives for that emit() only; the core copies it.
 *  - A table and its strings live as long as the process: plugins are never unloaded.
 *  - Calls on one plan or kernel come from one thread at a time. Exceptions never cross the
 *    boundary.
 *  - Problems, options and facts cross as named values, so that a new operation or option changes
 *    neither this file nor a binary built against it. Unknown names are ignored.
 *  - What only some backends have is an extension, which the core asks for by name; each is
 *    declared in a header plugin_NAME.h beside this one.
 *
 * docs/reference/backend_facts.md lists all facts with their units, examples/plain_backend.c is a
 * complete backend.
 */
#ifndef DEEPBENCH_PLUGIN_H_
#define DEEPBENCH_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEEPBENCH_ABI_MAJOR 2
#define DEEPBENCH_ABI_MINOR 1
#define DEEPBENCH_PLUGIN_SYMBOL "deepbench_plugin"

typedef enum deepbench_status {
  DEEPBENCH_OK = 0,
  DEEPBENCH_UNSUPPORTED = 1,   /* this library, device or build cannot do it; the reason says why */
  DEEPBENCH_INVALID = 2,       /* the problem, an option or a candidate makes no sense */
  DEEPBENCH_OUT_OF_MEMORY = 3, /* host or device */
  DEEPBENCH_DEVICE_LOST = 4,   /* nothing more can run in this process */
  DEEPBENCH_FAILED = 5         /* anything else */
} deepbench_status;

/* ---- named values ------------------------------------------------------------------------- */

typedef enum deepbench_kind {
  DEEPBENCH_INTEGER = 0,
  DEEPBENCH_REAL = 1,
  DEEPBENCH_TEXT = 2
} deepbench_kind;

/* One named value. `kind` says which of integer, real and text holds it. A REAL that is emitted as
 * a metric (metric.NAME) carries its unit and direction in `text`: "us lower". */
typedef struct deepbench_value {
  const char* name;
  int32_t kind; /* deepbench_kind */
  int64_t integer;
  double real;
  const char* text; /* UTF-8; never NULL for TEXT */
} deepbench_value;

typedef struct deepbench_values {
  const deepbench_value* items;
  size_t count;
} deepbench_values;

/* An operation and its attributes, all of them, defaults filled in, validated by the core:
 * "gemm" with m n k trans_a trans_b precision, and so on (docs/reference/operations). */
typedef struct deepbench_problem {
  const char* op;
  deepbench_values attributes;
} deepbench_problem;

/* Receives the values that a backend emits. */
typedef struct deepbench_sink {
  void* context;
  void (*emit)(void* context, const deepbench_value* value);
} deepbench_sink;

/* Options of plan and environment. All have defaults:
 *   device       integer  0-based index of the device (0)
 *   devices      text     "0,2": the devices that a collective of one process may take, those of
 *                         its ranks, in their order; device is the first. "": device alone
 *   library      text     the vendor library to use; "" is the backend's first choice; "reference":
 *                         an independent computation of the same output, of any speed, which
 *                         verification of rnn's gradients asks for
 *   cache        text     "hot" (default), "cold": see docs/explanation/measuring.md; or "rotated",
 *                         for the calls of a chain: successive calls take other copies, as many as
 *                         for cold or as `copies` and the memory allow, and nothing is flushed
 *   copies       integer  at most this many copies of each operand for cold and rotated (1024)
 *   threads      integer  host threads; 0 is the backend's choice
 *   pad          integer  1: dimensions may be padded by the operation's rule (default); 0: never
 *   seed         integer  seed of fill.h, whose streams are the operands in the operation's order:
 *                         gemm A = 0, B = 1, C = 2; memory: the source = 0. An element's index is
 *                         its place in the operand as it is stored without padding
 *   workspace    integer  workspace limit in bytes
 *   inputs       text     "uniform" (default), "zeros" or "ones"
 *   constant     text     operands that are constant in their application ("a", or "a,b"): they
 *                         may be stored otherwise beforehand; others are converted inside the call,
 *                         or their conversion_ns says what that would add
 */

/* ---- measuring ---------------------------------------------------------------------------- */

typedef enum deepbench_launch {
  DEEPBENCH_LAUNCH_BEST = 0,    /* request only: the most accurate one that works here */
  DEEPBENCH_LAUNCH_GRAPH = 1,   /* a captured graph, one span around it */
  DEEPBENCH_LAUNCH_STREAM = 2,  /* back to back, one span around them */
  DEEPBENCH_LAUNCH_ISOLATED = 3 /* a span around each call; the spans are added up */
} deepbench_launch;

/* deepbench_request.flags: mark the begin and the end of the calls for profilers and simulators
 * (docs/guide/simulators.md). */
#define DEEPBENCH_REQUEST_MARKERS 1u
/* For a kernel that emits `schedule_sensitive`: first runs, outside all spans, work that changes
 * which compute unit takes which part of the calls. */
#define DEEPBENCH_REQUEST_PERTURB 2u

/* deepbench_batch.flags: the device states that heat or a hardware limit slowed it. */
#define DEEPBENCH_BATCH_THROTTLED 1u
/* A software power cap was active, which is a label and not a fault. */
#define DEEPBENCH_BATCH_POWER_CAPPED 2u

typedef struct deepbench_request {
  size_t struct_size;
  uint64_t count; /* calls to make, at least 1 */
  int32_t launch; /* deepbench_launch */
  uint32_t flags;
} deepbench_request;

/* The result of one batch. The core sets struct_size and zeroes the rest. */
typedef struct deepbench_batch {
  size_t struct_size;
  uint64_t count;          /* calls made; must equal the request's */
  double elapsed_ns;       /* device time of all calls together, finite and > 0 */
  double host_ns;          /* host time of the whole of time_batch */
  uint64_t copies_touched; /* distinct copies of the operands that the calls used */
  int32_t launch;          /* the deepbench_launch that was used */
  const char* timer;       /* static: "steady_clock", "cuda_event", "cycles" */
  double clock_mhz;        /* clock of the compute units during the batch; 0 if unknown */
  uint32_t flags;
} deepbench_batch;

/* ---- verification -------------------------------------------------------------------------- */

/* Floating-point outputs are poisoned with NaN, integer ones with this value, and those of 8 bits,
 * which may equal it, with the one below. */
#define DEEPBENCH_POISON_INTEGER (-2147483647)
#define DEEPBENCH_POISON_BYTE (-127)

typedef struct deepbench_scan {
  size_t struct_size;
  uint64_t count;      /* elements examined: all of the output */
  uint64_t untouched;  /* still poisoned (in place: still the restored value, bit for bit) */
  uint64_t non_finite; /* infinities, and NaNs that are not the poison */
} deepbench_scan;

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct deepbench_plan deepbench_plan;     /* defined by the backend */
typedef struct deepbench_kernel deepbench_kernel; /* defined by the backend */

typedef struct deepbench_backend {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  const char* name; /* "cpu", "cuda", ...: letters, digits, '_' */
  int32_t priority; /* `auto` takes the backend with the highest priority that has a device here;
                       it never takes one with priority 0 */

  const char* (*last_error)(void); /* never NULL */

  /* ---- the backend and its devices */

  /* Emits the facts of the backend as a whole: the libraries that it can use (library.NAME.version,
   * library.NAME.path) or why it cannot (library.NAME.reason, one line with the cure), warning.*
   * (text) for the user, and, all optional, default precisions and the rates from which the host
   * estimates the time left. */
  deepbench_status (*describe)(deepbench_sink sink);

  /* The number of usable devices; 0 with DEEPBENCH_OK means that there are none. */
  deepbench_status (*device_count)(int32_t* count);

  /* Emits name (text), last_level_cache_bytes, memory_bytes, memory_available_bytes (integers),
   * what belongs in a result's context, warning.* (text), and how to measure on the device where
   * the defaults do not suit it. */
  deepbench_status (*describe_device)(int32_t device, deepbench_sink sink);

  /* ---- a plan: a problem bound to a library and an algorithm */

  /* Plans the problem with the library's first choice of algorithm. Allocates no device memory.
   * DEEPBENCH_UNSUPPORTED with the reason where that is impossible. *plan is set only with
   * DEEPBENCH_OK and belongs to the core until destroy_plan. */
  deepbench_status (*plan)(const deepbench_problem* problem, deepbench_values options,
                           deepbench_plan** plan);

  /* Emits library and algorithm (text), memory_bytes (integer: what prepare takes on the device,
   * for a CPU of host memory, copies included), and what else is known before anything is
   * allocated: workspace_bytes, padded.DIMENSION, planning_ns, outputs (integer, 1). */
  deepbench_status (*describe_plan)(deepbench_plan* plan, deepbench_sink sink);

  void (*destroy_plan)(deepbench_plan* plan); /* accepts NULL; kernels of the plan live on */

  /* ---- a kernel: a plan with operands in memory */

  /* Makes one call ready: operands filled by fill.h, copies made for the cache regime, workspace
   * taken. A plan may be prepared any number of times. *kernel is set only with DEEPBENCH_OK and
   * belongs to the core until destroy. */
  deepbench_status (*prepare)(deepbench_plan* plan, deepbench_kernel** kernel);

  /* Emits facts that the plan lacks or states differently: copies, in_place, conversions, how
   * sums are kept, note.* (text) for the reader of the row, metric.* (real). */
  deepbench_status (*describe_kernel)(deepbench_kernel* kernel, deepbench_sink sink);

  /* Makes request->count calls and times them. The only function that reads a clock. */
  deepbench_status (*time_batch)(deepbench_kernel* kernel, const deepbench_request* request,
                                 deepbench_batch* batch);

  /* Fills the outputs (of every copy) with the poison, which the core checks. In place: the same as
   * restore. */
  deepbench_status (*poison_outputs)(deepbench_kernel* kernel);

  /* Elements of output number `output` that the last call wrote, as doubles. Indices count the
   * elements of the problem's own output, without padding, in the operation's documented order. */
  deepbench_status (*read_output)(deepbench_kernel* kernel, uint32_t output,
                                  const uint64_t* indices, size_t count, double* values);

  void (*destroy)(deepbench_kernel* kernel); /* accepts NULL */

  /* ---- optional: NULL where a backend has no such thing */

  /* Environment variables that must be set before this backend's libraries are loaded, as TEXT
   * values whose names are the variables'. The host sets those that the user has not. */
  deepbench_status (*environment)(deepbench_values options, deepbench_sink sink);

  /* Emits TEXT values named "candidate", each the id of an algorithm that `algorithm=best` may try:
   * a line of UTF-8 other than "default", "best" and "exhaustive". The plan's own comes first, then
   * the most promising; at most `limit` are wanted (0: all). The call counts as time of the
   * selection, except for what a REAL compiling_ns states: compilation in this call that the
   * machine need not repeat. */
  deepbench_status (*candidates)(deepbench_plan* plan, int64_t limit, deepbench_sink sink);

  /* The problem of `plan` bound to the candidate `id`. What the library has found out about the
   * problem for `plan` is used again. An id that the backend does not know is DEEPBENCH_INVALID:
   * the core does not check it, since a library may take more ids than it lists. */
  deepbench_status (*plan_candidate)(deepbench_plan* plan, const char* id,
                                     deepbench_plan** candidate);

  /* Required of kernels that emit in_place. Brings operands that calls overwrite back to their
   * first values. */
  deepbench_status (*restore)(deepbench_kernel* kernel);

  /* Examines every element of an output. NULL: the core reads the output element by element. */
  deepbench_status (*scan_output)(deepbench_kernel* kernel, uint32_t output, deepbench_scan* scan);

  /* Treats an output as a column-major matrix of `rows` rows: sums[i] = sum over j of output[i +
   * j*rows] * deepbench_weight(seed, j), in double. NULL: as for scan_output. */
  deepbench_status (*project_output)(deepbench_kernel* kernel, uint32_t output, uint64_t rows,
                                     uint64_t seed, double* sums);

  /* Emits power_w, temperature_c, clock_mhz, memory_clock_mhz, throttle (text). */
  deepbench_status (*observe)(int32_t device, deepbench_sink sink);

  /* The table of an extension, "deepbench.energy/1", whose first field is struct_size; NULL where
   * the backend does not have it. It lives as long as the process. */
  const void* (*extension)(const char* name);

  /* Rewrites the operands of every copy in place, as a kernel prepared with these inputs and this
   * seed has them; restore brings back the new values. `inputs` is a value of the option `inputs`,
   * or "integers": small integers (fill.h), whose sums are exact, so that verification finds errors
   * that rounding hides; or, of collectives, "mantissas": uniform elements, whose sums depend on
   * the order of additions. DEEPBENCH_UNSUPPORTED, with the operands unchanged, where the kernel
   * cannot do that. NULL: no kernel can. */
  deepbench_status (*refill)(deepbench_kernel* kernel, const char* inputs, uint64_t seed);
} deepbench_backend;

typedef const deepbench_backend* (*deepbench_plugin_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* DEEPBENCH_PLUGIN_H_ */
