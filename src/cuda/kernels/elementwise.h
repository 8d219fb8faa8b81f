/* The arguments of elementwise.cu, with the same layout for the host's and the device's compiler.
 */
#ifndef DEEPBENCH_CUDA_KERNELS_ELEMENTWISE_H_
#define DEEPBENCH_CUDA_KERNELS_ELEMENTWISE_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* In the order of ElementwiseKind in deepbench/ops/elementwise/elementwise.hpp. */
enum { ELEMENTWISE_ADD, ELEMENTWISE_MULTIPLY, ELEMENTWISE_SWIGLU, ELEMENTWISE_ROTARY };

enum { ELEMENTWISE_THREADS = 256 };

typedef struct CombinedArrays {
  const void* a;
  const void* b;
  void* result;
  uint64_t elements;
} CombinedArrays;

typedef struct RotatedHeads {
  const void* x;
  const void* cosines;
  const void* sines;
  void* result;
  uint64_t rows, heads; /* heads of each row */
  uint64_t half;        /* half of the elements of a head */
} RotatedHeads;

#endif /* DEEPBENCH_CUDA_KERNELS_ELEMENTWISE_H_ */
