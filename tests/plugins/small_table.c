/* A broken plugin: its table ends before the slots that every backend must have. Only the first
 * fields exist at all, so that a core which read on would read foreign memory.
 */
#include "fake/export.h"

static const struct {
  size_t struct_size;
  uint32_t abi_major, abi_minor;
  const char* name;
} kTable = {sizeof kTable, DEEPBENCH_ABI_MAJOR, DEEPBENCH_ABI_MINOR, "small_table"};
FAKE_PLUGIN((const deepbench_backend*)(const void*)&kTable)
