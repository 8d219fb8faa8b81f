/* The fake backend: gemm, memory and all_reduce on a device whose clock, results and faults are
 * scripted. README.md describes the language of scripts.
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
    .plan_candidate = fake_plan_candidate,
    .extension = fake_extension,
    .refill = fake_refill,
    .priority = 200, /* above those of the package */
};
FAKE_PLUGIN(&kTable)
