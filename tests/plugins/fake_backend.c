/* The fake backend: gemm, memory and all_reduce on a device whose clock, results and faults are
 * scripted, so that every branch of the core can be driven with exact numbers and without real
 * time. Pure C11, through plugin.h and fill.h alone. Serves the C++ and the Python tests.
 *
 * The script is the environment variable DEEPBENCH_FAKE_SCRIPT: the text itself, or @PATH. It is
 * read anew by every slot that has no kernel; a kernel keeps the one that it was prepared with.
 * Lines end at a newline or ';', '#' begins a comment line, and a later line overrides an earlier
 * one:
 *
 *   [when KEY=VALUE ...] [from BATCH] VERB ARGUMENTS
 *
 * `when` compares with the problem's op and attributes, the options of plugin.h (library and
 * candidate as they will be used, "default" without candidates) and, in a kernel, with `attempt`:
 * how often its problem was prepared before under this script. `rank` is what join() was told, 0
 * before. `from` holds from that time_batch call of a kernel on, the first being 0.
 *
 * Clock. Sequences give a value for every batch as V or V*TIMES, again from the start at their end
 * or, with `hold` as last word, the last value for ever.
 *   time NS...             time of one call, for every batch
 *   model OVERHEAD FLOPS BYTES CACHED   time of one call where no `time` is given: ns, then flops,
 *                          bytes and bytes from the cache per ns (default: 1000 1000 100 1000)
 *   noise SEED SPREAD      times 1 + SPREAD u, u = deepbench_uniform(SEED, 0, BATCH)
 *   correlated SEED SPREAD RHO   likewise with x = RHO x + u in place of u
 *   overhead NS            added to every batch
 *   resolution NS          elapsed times are multiples of it
 *   host BATCH_NS [CALL_NS]   host time beyond the device's
 *   mhz MHZ...             clock of the compute units (0: unknown)
 *   flags BITS...          1: throttled, 2: power capped
 *   launch graph|stream|isolated      timer NAME
 *   answer FIELD NUMBER    puts nan, inf, -1, ... into a field of the batch: elapsed_ns host_ns
 *                          clock_mhz count copies_touched launch; `answer timer null`
 *
 * Faults, in any slot (default time_batch):
 *   crash|abort|hang|killed [SLOT]    SIGSEGV, abort(), for ever, SIGKILL as for lack of memory
 *   exit SLOT STATUS       sleep SLOT MILLISECONDS
 *   fail SLOT STATUS [MESSAGE]        STATUS: unsupported invalid out_of_memory device_lost failed
 *                          or a number; the message `null` makes last_error() return NULL
 *
 * Results. Outputs are really computed, on demand, so that verification is real.
 *   mutant none|last_k|tf32|half_accumulation|zero_tile|one_off|untouched|nan|unpoisoned [batches]
 *                          wrong as it says; with `batches` only in batches of several calls
 *   in_place               C is replaced; restore() brings it back, but not with `restore broken`
 *   beta NUMBER            said of the kernel, as is:
 *   fill_b s7|u8           the type that B is filled as
 *   scan blind             scan_output() sees nothing wrong
 *   following NUMBER       what follow() answers, also when it fails (1)
 *   rotation stuck         cold runs stay on one copy      flush   cold by flushing
 *
 * Facts:
 *   devices N   cache BYTES   memory_needed BYTES
 *   libraries NAME...      absent NAME REASON      candidates ID...
 *   emit SLOT NAME VALUE   one more value from describe, describe_device, describe_kernel,
 *                          environment, observe or candidates; a number may have a unit (metrics);
 *                          `null` is a NULL text
 *   log PATH               appends a line for every call of a slot
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static const deepbench_backend kTable = {
    .struct_size = sizeof(deepbench_backend),
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = "fake",
    FAKE_REQUIRED_SLOTS,
    .environment = fake_environment,
    .candidates = fake_candidates,
    .restore = fake_restore,
    .scan_output = fake_scan_output,
    .project_output = fake_project_output,
    .observe = fake_observe,
    .energy = fake_energy,
    .join = fake_join,
    .follow = fake_follow,
    .priority = 1,
};
FAKE_PLUGIN(&kTable)
