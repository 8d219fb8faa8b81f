/* all_reduce of the fake backend: the sum over all ranks of the joined group. Each rank computes it
 * alone from the input generator.
 */
#ifndef FAKE_ALL_REDUCE_H_
#define FAKE_ALL_REDUCE_H_

#include "deepbench/fill.h"
#include "scenario.h"

typedef struct AllReduce {
  int64_t elements;
  uint64_t seed;
  deepbench_type type;
  int constant; /* inputs: -1 uniform, 0 zeros, 1 ones */
} AllReduce;

/* The rank and the size of the group that join() received. */
static int32_t group_rank = 0, group_size = 1;

static inline bool read_sum(AllReduce* sum, const char* precision) {
  sum->type = strcmp(precision, "half") == 0       ? DEEPBENCH_F16
              : strcmp(precision, "bfloat16") == 0 ? DEEPBENCH_BF16
                                                   : DEEPBENCH_F32;
  return group_size > 1;
}

static inline double own_summand(const AllReduce* sum, uint32_t rank, uint64_t index) {
  if (sum->constant >= 0) return sum->constant;
  return deepbench_summand(sum->type, sum->seed, rank, (uint32_t)group_size, index);
}

static inline double sum_element(const AllReduce* sum, uint64_t index, Mutant mutant) {
  double total = 0;
  for (int32_t rank = 0; rank < group_size; ++rank) {
    if (mutant == kLastK && rank == group_size - 1) continue;
    total += own_summand(sum, (uint32_t)rank, index);
  }
  if (mutant == kOneOff && index == (uint64_t)sum->elements / 3) total += 1;
  return total;
}

#endif /* FAKE_ALL_REDUCE_H_ */
