/* A backend of version 1 of the interface, which the core refuses with one line. Only the fields up
 * to the version are read: what follows had another meaning.
 */
#include "fake/export.h"

static const struct {
  size_t struct_size;
  uint32_t abi_major, abi_minor;
  const char* name;
} kTable = {sizeof kTable, 1, 5, "older_major"};
FAKE_PLUGIN((const deepbench_backend*)(const void*)&kTable)
