/* A broken plugin: its name contains characters that a name must not have. */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static const deepbench_backend kTable = {
    .struct_size = sizeof(deepbench_backend),
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = "my chip/../x",
    FAKE_REQUIRED_SLOTS,
};
FAKE_PLUGIN(&kTable)
