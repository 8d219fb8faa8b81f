/* A broken plugin: a library that loads but exports no deepbench_plugin(). It exports
 * the input generator compiled as C, for the test that C and C++ generate the same values.
 */
#include "deepbench/fill.h"
#include "fake/export.h"

FAKE_EXPORT double element_in_c(int32_t type, uint64_t seed, uint32_t stream, uint64_t index);
FAKE_EXPORT double weight_in_c(uint64_t seed, uint64_t j);

double element_in_c(int32_t type, uint64_t seed, uint32_t stream, uint64_t index) {
  return deepbench_element((deepbench_type)type, seed, stream, index);
}
double weight_in_c(uint64_t seed, uint64_t j) { return deepbench_weight(seed, j); }
