/* A broken plugin: its name is longer than any text of a row. */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

/* Static, since a table lives as long as the process: a million letters. */
static char kName[1 << 20];
__attribute__((constructor)) static void fill_name(void) { memset(kName, 'x', sizeof kName - 1); }

static const deepbench_backend kTable = {
    .struct_size = sizeof(deepbench_backend),
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = kName,
    FAKE_REQUIRED_SLOTS,
};
FAKE_PLUGIN(&kTable)
