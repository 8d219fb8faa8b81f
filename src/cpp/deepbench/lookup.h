/* The rows of a table that lookups ask for: the same C functions run on the host, on the device and
 * in references, as those of fill.h do. They compute in integers alone, so that every compiler
 * finds the same rows.
 */
#ifndef DEEPBENCH_LOOKUP_H_
#define DEEPBENCH_LOOKUP_H_

#include "fill.h"

/* The number of octaves from rank 1 to rank `rows`, as a multiple of 2^-26: the logarithm to the
 * base 2 of rows + 1, approximated linearly between powers of two. rows is below 2^31. */
DEEPBENCH_FILL_FN uint32_t deepbench_octaves(uint32_t rows) {
  uint64_t end = (uint64_t)rows + 1u;
  uint32_t whole = 0;
  while (end >> (whole + 1u)) whole += 1u;
  return (whole << 26) + (uint32_t)(((end << 26) >> whole) - (1u << 26));
}

/* The row, from 0 on, of lookup `index` in a table of `rows` rows. If `octaves` is 0, all rows
 * are equally frequent. If it is deepbench_octaves(rows), they follow Zipf's law with exponent 1,
 * and row 0 is the most frequent: all octaves of ranks are equally frequent, and so are the ranks
 * within an octave. */
DEEPBENCH_FILL_FN uint32_t deepbench_lookup(uint64_t seed, uint32_t stream, uint32_t rows,
                                            uint32_t octaves, uint64_t index) {
  uint64_t bits = deepbench_bits(seed, stream, index);
  uint64_t upper = bits >> 32, lower = bits & 0xffffffffu;
  uint64_t place, within;
  uint32_t octave;
  if (octaves == 0u) return (uint32_t)((upper * rows) >> 32);
  place = upper * octaves + ((lower * octaves) >> 32); /* a multiple of 2^-58 */
  octave = (uint32_t)(place >> 58);
  within = place & (((uint64_t)1 << 58) - 1u);
  return (1u << octave) + (uint32_t)(within >> (58u - octave)) - 1u;
}

#endif /* DEEPBENCH_LOOKUP_H_ */
