/* A broken plugin: its table ends before the required slots. Only the first fields exist, so that
 * a core that reads further reads memory outside the table.
 */
#include "fake/export.h"

static const struct {
  size_t struct_size;
  uint32_t abi_major, abi_minor;
  const char* name;
} kTable = {sizeof kTable, DEEPBENCH_ABI_MAJOR, DEEPBENCH_ABI_MINOR, "small_table"};
FAKE_PLUGIN((const deepbench_backend*)(const void*)&kTable)
