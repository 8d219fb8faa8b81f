/* The fake backend with every optional slot NULL: the core must work without environment,
 * candidates, restore, scan_output, project_output, observe and extensions. It runs the same
 * scripts as fake_backend.c.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static const deepbench_backend kTable = {
    .struct_size = sizeof(deepbench_backend),
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = "minimal",
    FAKE_REQUIRED_SLOTS,
    .priority = 300,
};
FAKE_PLUGIN(&kTable)
