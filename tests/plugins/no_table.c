/* A broken plugin: deepbench_plugin() returns NULL.
 */
#include "fake/export.h"

FAKE_PLUGIN(NULL)
