/* The only contract between the core and a backend, in C11.
 *
 * A backend is one shared library that exports one symbol, deepbench_plugin(), which returns one
 * table of functions. Everything that the core knows of a device it learns through this table.
 *
 * Rules of the contract
 *  - struct_size is the first field of every struct that may grow; fields are only ever appended
 *    within a major version, and a reader looks at struct_size before it reads a later field.
 *  - A slot marked "optional" may be NULL.
 *  - Every function returns a status. When it is not DEEPBENCH_OK, last_error() gives one line for
 *    the calling thread that says what was wrong; it lives until that thread's next call.
 *  - What the core passes in lives for the call only; a backend copies what it keeps. What a
 *    backend emits through a sink lives for that emit() only; the core copies it.
 *  - A table and its strings live as long as the process: plugins are never unloaded.
 *  - Calls on one kernel come from one thread at a time. Exceptions never cross the boundary.
 *  - Problems and options cross as named values, so that a new operation or a new parameter
 *    changes neither this file nor a binary built against it. Unknown names are ignored.
 */
#ifndef DEEPBENCH_PLUGIN_H_
#define DEEPBENCH_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEEPBENCH_ABI_MAJOR 1
#define DEEPBENCH_ABI_MINOR 5
#define DEEPBENCH_PLUGIN_SYMBOL "deepbench_plugin"

typedef enum deepbench_status {
  DEEPBENCH_OK = 0,
  DEEPBENCH_UNSUPPORTED = 1,   /* this library, device or build cannot do it; the reason says why */
  DEEPBENCH_INVALID = 2,       /* the problem or an option makes no sense */
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
 * a metric carries its unit and direction in `text`, see describe_kernel. */
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

/* Where a backend puts what it has to say. */
typedef struct deepbench_sink {
  void* context;
  void (*emit)(void* context, const deepbench_value* value);
} deepbench_sink;

/* Options of supports, memory_needed, candidates, prepare and environment. All have defaults:
 *   device       integer  0-based index of the device (0)
 *   devices      text     "0,2": the devices that a collective of one process may take, those of
 *                         its ranks, in their order; device is the first. "": device alone
 *   library      text     the vendor library to use; "" is the backend's first choice; "reference":
 *                         an independent computation of the same output, of any speed, which
 *                         verification of rnn's gradients asks for
 *   candidate    text     an id from candidates(); "" is the library's own first choice
 *   cache        text     "hot" (default) or "cold": see docs/explanation/measuring.md
 *   copies       integer  at most this many copies of each operand for cold (1024)
 *   threads      integer  host threads; 0 is the backend's choice
 *   pad          integer  1: dimensions may be padded by the operation's rule (default); 0: never
 *   seed         integer  seed of fill.h, whose streams are the operands in the operation's order:
 *                         gemm A = 0, B = 1, C = 2; memory: the source = 0. An element's index is
 *                         its place in the operand as it is stored without padding
 *   workspace    integer  workspace limit in bytes
 *   inputs       text     "uniform" (default), "zeros" or "ones"
 *   limit        integer  at most so many candidates are wanted, the most promising (0: all)
 *   baseline     integer  0: prepare measures nothing that the call is compared with (1)
 *   constant     text     operands that are constant in their application ("a", or "a,b"): they
 *                         may be stored otherwise beforehand; others are converted inside the call,
 *                         or their conversion_ns says what that would add
 */

/* ---- measuring ---------------------------------------------------------------------------- */

typedef enum deepbench_launch {
  DEEPBENCH_LAUNCH_BEST = 0,    /* request only: the truest that works here */
  DEEPBENCH_LAUNCH_GRAPH = 1,   /* a captured graph, one span around it */
  DEEPBENCH_LAUNCH_STREAM = 2,  /* back to back, one span around them */
  DEEPBENCH_LAUNCH_ISOLATED = 3 /* a span around each call, summed */
} deepbench_launch;

enum {                                /* deepbench_request.flags */
       DEEPBENCH_REQUEST_MARKERS = 1, /* mark the begin and the end of the calls for profilers and
                                         simulators (docs/guide/simulators.md) */
       DEEPBENCH_REQUEST_SHUFFLE =
           2 /* of a kernel that emits `shuffles`: run first, outside all spans, what changes which
                compute unit takes which part of the calls */
};

enum {                                /* deepbench_batch.flags */
       DEEPBENCH_BATCH_THROTTLED = 1, /* the device says that heat or a hardware limit slowed it */
       DEEPBENCH_BATCH_POWER_CAPPED = 2 /* a software power cap was active: a label, not a fault */
};

typedef struct deepbench_request {
  size_t struct_size;
  uint64_t count; /* calls to make, at least 1 */
  int32_t launch; /* deepbench_launch */
  uint32_t flags;
} deepbench_request;

/* What one batch took. The core sets struct_size and zeroes the rest. */
typedef struct deepbench_batch {
  size_t struct_size;
  uint64_t count;          /* calls made; must equal the request's */
  double elapsed_ns;       /* device time of all calls together, finite and > 0 */
  double host_ns;          /* host time of the whole of time_batch */
  uint64_t copies_touched; /* distinct copies of the operands that the calls used */
  int32_t launch;          /* the deepbench_launch that was used */
  const char* timer;       /* static: "steady_clock", "cuda_event", "cycles" */
  double clock_mhz;        /* of the compute units during the batch; 0 if unknown */
  uint32_t flags;
} deepbench_batch;

/* ---- verification -------------------------------------------------------------------------- */

/* Floating-point outputs are poisoned with NaN, integer ones with this value. */
#define DEEPBENCH_POISON_INTEGER (-2147483647)

typedef struct deepbench_scan {
  size_t struct_size;
  uint64_t count;      /* elements looked at: all of the output */
  uint64_t untouched;  /* still poisoned (in place: still the restored value, bit for bit) */
  uint64_t non_finite; /* infinities, and NaNs that are not the poison */
} deepbench_scan;

/* What a reference says of the forward pass before the gradients that it is to verify. */
typedef enum deepbench_following {
  DEEPBENCH_ASTRAY = -1, /* every value is near the problem's, but all are off: incorrect */
  DEEPBENCH_ALONE = 0,   /* not known, or of something else: the reference goes on by itself */
  DEEPBENCH_FOLLOWS = 1  /* the problem's, up to rounding: the reference starts from it */
} deepbench_following;

/* ---- several ranks ------------------------------------------------------------------------- */

/* The processes of a collective, and how they speak to one another before anything is timed. Unlike
 * all else that the core passes in, what this struct points to stays valid as long as the process.
 */
typedef struct deepbench_group {
  size_t struct_size;
  int32_t rank;
  int32_t size;
  void* context;
  /* Gathers `bytes` from every rank into all[rank * bytes]; returns when all have spoken. For join
   * and, since 1.3, prepare, which every rank must then call it from alike; a slot that gets
   * anything but DEEPBENCH_OK from it returns that status. */
  deepbench_status (*exchange)(void* context, const void* mine, size_t bytes, void* all);
  /* since 1.3 */
  int32_t local_rank; /* among the ranks of this machine: which of its devices is this rank's */
  int32_t local_size; /* how many ranks this machine has */
  const char*
      address; /* numeric, at which other ranks reach this machine: "127.0.0.1", "fd00::1" */
  /* since 1.4 */
  int32_t (*lost)(void* context); /* 1 once a rank is gone, or has failed where others wait for it:
                                   * whoever waits, waits in vain. From any thread, at any time;
                                   * takes some microseconds every few milliseconds */
} deepbench_group;

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct deepbench_kernel deepbench_kernel; /* the backend's own */

typedef struct deepbench_backend {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  const char* name; /* "cpu", "cuda", ...: letters, digits, '_' */

  const char* (*last_error)(void); /* never NULL */

  /* Emits for every vendor library, in order of preference:
   *   library.NAME.version  library.NAME.path   when it can be used
   *   library.NAME.reason                       when it cannot: one line with the cure
   *   library.NAME.found_by                     how it was found, where there are several ways
   *   joint_phase.OP (text)  the phase that stands for all of the operation's phases whose names
   *                          continue it, where one call computes them together: "bwd" for
   *                          bwd_data and bwd_weights
   * Facts for planning, all optional:
   *   default_library.OP (text)        the library that OP goes through where options name none
   *   default_precision.OP (text)      the precision of a problem that names none ("float")
   *   default_precision.SET.OP (text)  the same in the suites of a set: "inference"
   *   estimate.flops_per_s.OP, estimate.flops_per_s.OP.PRECISION (real)
   *                                    the rate that OP usually reaches
   *   estimate.per_thread (integer)    1: these rates are those of one host thread
   *   estimate.bytes_per_s, estimate.calls (of a row with long calls), estimate.row_limit_s,
   *   estimate.ceiling_s, estimate.verification_s_per_byte,
   *   estimate.collective_verification_s_per_byte (real)
   *                                    from which the host estimates the time left
   * and any further facts about the backend as a whole. The host shows warning.* (text). */
  deepbench_status (*describe)(deepbench_sink sink);

  /* How many devices can be used; 0 with DEEPBENCH_OK is a clean "none". */
  deepbench_status (*device_count)(int32_t* count);

  /* Emits name (text), last_level_cache_bytes, memory_bytes, memory_available_bytes (integers) and
   * whatever belongs in a result's context. Names that begin with "cache." list the levels of the
   * hierarchy: cache.l1_bytes, cache.l2_bytes. shares_host_memory (integer) 1: its memory is the
   * host's, where verification takes some too; otherwise the sweep of `memory` includes the ways
   * between both. warning.* (text) is shown to the user.
   * How to measure on it, where the defaults do not suit (real): timer_resolution_ns (1);
   * min_span_ns, of one batch, so that what timing adds does not count (200,000); min_total_ns, of
   * all batches, so that drifts of the device average out (20,000,000); row_limit_ns (5e9).
   * most_clock_mhz: where batches tell a lower clock they are rested before
   * (measure/rest_policy.hpp). */
  deepbench_status (*describe_device)(int32_t device, deepbench_sink sink);

  /* optional. Environment variables that must be set before this backend's libraries are loaded,
   * as TEXT values whose names are the variables'. The host sets those that the user has not. */
  deepbench_status (*environment)(deepbench_values options, deepbench_sink sink);

  /* DEEPBENCH_OK, or DEEPBENCH_UNSUPPORTED with the reason. Must not allocate operands. */
  deepbench_status (*supports)(const deepbench_problem* problem, deepbench_values options);

  /* Bytes that prepare will take on the device (for a CPU: of host memory), copies included. */
  deepbench_status (*memory_needed)(const deepbench_problem* problem, deepbench_values options,
                                    uint64_t* bytes);

  /* optional. Emits TEXT values named "candidate", each an id for options.candidate, a line of
   * UTF-8 other than "default", "best" and "exhaustive"; the library's own first choice is first.
   * supports refuses an id that the backend does not know as DEEPBENCH_INVALID: the core does not,
   * since a library may take more ids than it lists. */
  deepbench_status (*candidates)(const deepbench_problem* problem, deepbench_values options,
                                 deepbench_sink sink);

  /* Makes one call ready: operands filled by fill.h, copies made for the cache regime, workspace
   * taken, algorithm chosen. *kernel is set only with DEEPBENCH_OK and belongs to the core until
   * destroy. */
  deepbench_status (*prepare)(const deepbench_problem* problem, deepbench_values options,
                              deepbench_kernel** kernel);

  /* Emits what was prepared:
   *   library, algorithm (text), workspace_bytes (integer)
   *   copies (integer), cold (text "rotation" or "flush")          when cache=cold
   *   shuffles (integer)  1: times depend on which compute unit takes which part of a call, which
   *                       is drawn by what ran before the first and is the same from then on. The
   *                       core asks for another draw, DEEPBENCH_REQUEST_SHUFFLE, before each sample
   *   threads (integer)                                             when host threads do the work
   *   in_place (integer)  1: the result replaces an operand, restore() brings it back
   *   ranks (integer)     of a collective: over how many the call goes, those of other processes
   *                       and all devices of one process alike
   *   local_ranks (integer)  how many of them this kernel has; its output are their outputs, one
   *                       after the other (1)
   *   restore_every (integer)  in place: calls after which a value could leave its range (2^20)
   *   beta (real)         when it is not 1, with note.beta (text) saying why
   *   accumulator (text)  how sums are kept, when not as the operation does by default: "float"
   *                       (int8), "fp22" (fp8: in 14 bits over 128 products), "rounded_product"
   *                       (A B is rounded to the output's type before C is added), "winograd"
   *                       (conv: products of transformed tiles, whose errors are larger)
   *   inputs (integer), cell_state, gates, sums, partial_sums, activations (text)  of rnn:
   *                       Rnn::inputs; types of lstm's c, of the gates that are kept, of products
   *                       before anything is added to them and of parts of their sums, when not
   *                       float; "fast" sigmoid and tanh
   *   nnz (integer)       of sparse_gemm: the non-zeros counted; metric.dense_time: what the same
   *                       product takes when the zeros are stored
   *   fill.OPERAND (text) the value type of an operand, when not the problem's: "s7", "u8"
   *   padded.DIMENSION (integer), padding_rule (text)
   *   planning_ns (real), conversion_ns (real), converted (text: the operand stored otherwise)
   *   compiling_ns (real) of planning_ns, what this machine need not do again: it counts as no time
   *                       of a candidate's, where the time for all is limited
   *   note.* (text)       anything a reader of the row must know
   *   metric.* (real)     op-specific figures; text = "UNIT lower" or "UNIT higher" */
  deepbench_status (*describe_kernel)(deepbench_kernel* kernel, deepbench_sink sink);

  /* Makes request->count calls and times them. The only function that reads a clock. In a group the
   * core calls it on every rank with the same request; the ranks meet, by the backend's own means,
   * before any of them reads its clock for the first call. */
  deepbench_status (*time_batch)(deepbench_kernel* kernel, const deepbench_request* request,
                                 deepbench_batch* batch);

  /* optional unless in_place. Brings operands that calls overwrite back to their first values. */
  deepbench_status (*restore)(deepbench_kernel* kernel);

  /* Fills the outputs (of every copy) with the poison, which the core checks. In place: the same as
   * restore. */
  deepbench_status (*poison_outputs)(deepbench_kernel* kernel);

  /* Elements of the output that the last call wrote, as doubles. Indices count the elements of the
   * problem's own output, without padding, in the operation's documented order. */
  deepbench_status (*read_output)(deepbench_kernel* kernel, const uint64_t* indices, size_t count,
                                  double* values);

  /* optional (NULL: the core reads the output element by element). Looks at every element. */
  deepbench_status (*scan_output)(deepbench_kernel* kernel, deepbench_scan* scan);

  /* optional, as above. The output seen as a column-major matrix of `rows` rows:
   * sums[i] = sum over j of output[i + j*rows] * deepbench_weight(seed, j), in double. */
  deepbench_status (*project_output)(deepbench_kernel* kernel, uint64_t rows, uint64_t seed,
                                     double* sums);

  /* optional. Emits power_w, temperature_c, clock_mhz, memory_clock_mhz, throttle (text). */
  deepbench_status (*observe)(int32_t device, deepbench_sink sink);

  /* optional. Makes this process a rank of a collective, once, before prepare. From then on it is
   * all ranks, at the same time and with the same arguments, that call prepare, time_batch,
   * restore, poison_outputs and destroy for a problem whose operation is a collective; other
   * problems are each rank's own. A call that cannot end since another rank is gone must return
   * DEEPBENCH_DEVICE_LOST where the backend can tell; where it cannot, the host ends the process.
   */
  deepbench_status (*join)(const deepbench_group* group);

  void (*destroy)(deepbench_kernel* kernel); /* accepts NULL */

  /* optional, since 1.1. A counter of joules from some start; may take milliseconds. A device that
   * has one says so in describe_device: energy (integer 1). */
  deepbench_status (*energy)(int32_t device, double* joules);

  /* optional, since 1.2. `reference` is a kernel of the library "reference" for the very problem
   * and inputs of `kernel`, which it is to verify. Where what `kernel`'s own forward pass left for
   * backward is a forward pass of the problem, up to rounding, which the reference finds out by
   * itself, it starts from there: both then differentiate at the same point, on the same side of
   * any kink. *follows is a deepbench_following; DEEPBENCH_UNSUPPORTED says the same as
   * DEEPBENCH_ALONE. */
  deepbench_status (*follow)(deepbench_kernel* reference, deepbench_kernel* kernel,
                             int32_t* follows);

  /* since 1.5. `auto` takes the backend with the highest priority that has a device here; it never
   * takes one with priority 0. */
  int32_t priority;
} deepbench_backend;

typedef const deepbench_backend* (*deepbench_plugin_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* DEEPBENCH_PLUGIN_H_ */
