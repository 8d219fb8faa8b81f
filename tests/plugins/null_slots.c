/* A broken plugin: its required slots are NULL.
 */
#include "fake/export.h"

static const deepbench_backend kTable = {.struct_size = sizeof(deepbench_backend),
                                         .abi_major = DEEPBENCH_ABI_MAJOR,
                                         .name = "null_slots"};
FAKE_PLUGIN(&kTable)
