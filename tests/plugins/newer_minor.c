/* A backend built against a later minor version of plugin.h: its table is larger and has slots
 * that this core does not know. The core must accept it.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, SIGKILL, strtok_r */

#include "fake/export.h"
#include "fake/kernel_slots.h"

typedef struct LaterTable {
  deepbench_backend known;
  deepbench_status (*unknown)(void);
} LaterTable;

static deepbench_status never_called(void) { abort(); }

static const LaterTable kTable = {
    .known =
        {
            .struct_size = sizeof(LaterTable),
            .abi_major = DEEPBENCH_ABI_MAJOR,
            .abi_minor = DEEPBENCH_ABI_MINOR + 1,
            .name = "newer_minor",
            FAKE_REQUIRED_SLOTS,
        },
    .unknown = never_called,
};
FAKE_PLUGIN(&kTable.known)
