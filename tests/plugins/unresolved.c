/* A broken plugin: it calls a function that no library has, as one built against a library that
 * is missing here.
 */
#include "fake/export.h"

const deepbench_backend* function_of_a_missing_library(void);
FAKE_PLUGIN(function_of_a_missing_library())
