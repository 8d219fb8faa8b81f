/* The macro by which each plugin of this folder exports its table.
 */
#ifndef FAKE_EXPORT_H_
#define FAKE_EXPORT_H_

#include "deepbench/plugin.h"

#if defined(__GNUC__)
#define FAKE_EXPORT __attribute__((visibility("default")))
#else
#define FAKE_EXPORT
#endif

#define FAKE_PLUGIN(TABLE)                                     \
  FAKE_EXPORT const deepbench_backend* deepbench_plugin(void); \
  const deepbench_backend* deepbench_plugin(void) { return TABLE; }

#endif /* FAKE_EXPORT_H_ */
