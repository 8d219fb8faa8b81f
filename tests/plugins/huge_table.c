/* A broken plugin: it says that its table is as large as memory.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static const deepbench_backend kTable = {
    .struct_size = SIZE_MAX - 7,
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = "huge_table",
    FAKE_REQUIRED_SLOTS,
};
FAKE_PLUGIN(&kTable)
