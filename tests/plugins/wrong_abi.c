/* A broken plugin: it was built for another major version of the interface.
 */
#include "fake/export.h"

static const deepbench_backend kTable = {.struct_size = sizeof(deepbench_backend),
                                         .abi_major = DEEPBENCH_ABI_MAJOR + 98,
                                         .name = "wrong_abi"};
FAKE_PLUGIN(&kTable)
