/* A broken plugin: it calls a function that no library defines, like a plugin whose library is
 * missing on this machine.
 */
#include "fake/export.h"

const deepbench_backend* function_of_a_missing_library(void);
FAKE_PLUGIN(function_of_a_missing_library())
