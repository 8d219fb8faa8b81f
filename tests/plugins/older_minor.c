/* A backend built against version 1.1 of plugin.h: its table ends before `follow`. The
 * core must accept it and must not read or call what lies behind the end of the table.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static deepbench_status behind_the_end(deepbench_kernel* reference, deepbench_kernel* kernel,
                                       int32_t* follows) {
  (void)reference, (void)kernel, (void)follows;
  abort();
}

static const deepbench_backend kTable = {
    .struct_size = offsetof(deepbench_backend, follow),
    .abi_major = 1,
    .abi_minor = 1,
    .name = "older_minor",
    FAKE_REQUIRED_SLOTS,
    .environment = fake_environment,
    .candidates = fake_candidates,
    .restore = fake_restore,
    .scan_output = fake_scan_output,
    .project_output = fake_project_output,
    .observe = fake_observe,
    .join = fake_join,
    .energy = fake_energy,
    .follow = behind_the_end,
};
FAKE_PLUGIN(&kTable)
