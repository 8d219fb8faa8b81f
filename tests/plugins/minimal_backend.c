/* The fake backend with every optional slot NULL: the core must do without environment,
 * candidates, restore, scan_output, project_output, observe and join. Scripted as fake_backend.c.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

static const deepbench_backend kTable = {
    .struct_size = sizeof(deepbench_backend),
    .abi_major = DEEPBENCH_ABI_MAJOR,
    .abi_minor = DEEPBENCH_ABI_MINOR,
    .name = "minimal",
    .last_error = fake_last_error,
    .describe = fake_describe,
    .device_count = fake_device_count,
    .describe_device = fake_describe_device,
    .supports = fake_supports,
    .memory_needed = fake_memory_needed,
    .prepare = fake_prepare,
    .describe_kernel = fake_describe_kernel,
    .time_batch = fake_time_batch,
    .poison_outputs = fake_poison_outputs,
    .read_output = fake_read_output,
    .destroy = fake_destroy,
};
FAKE_PLUGIN(&kTable)
