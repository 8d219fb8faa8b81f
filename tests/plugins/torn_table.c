/* A broken plugin: its table ends within its last slot, so that a core that copies it gets a
 * part of a pointer.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static const deepbench_backend kTable = {
    .struct_size = sizeof(deepbench_backend) - 4,
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = "torn_table",
    FAKE_REQUIRED_SLOTS,
};
FAKE_PLUGIN(&kTable)
