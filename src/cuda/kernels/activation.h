/* The arguments of activation.cu, with the same layout for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_ACTIVATION_H_
#define DEEPBENCH_CUDA_KERNELS_ACTIVATION_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* In the order of ActivationKind in deepbench/ops/activation/activation.hpp. */
enum { ACTIVATION_RELU, ACTIVATION_GELU, ACTIVATION_SILU, ACTIVATION_SIGMOID, ACTIVATION_TANH };

enum { ACTIVATION_THREADS = 256 };

typedef struct ActivationArrays {
  const void* x; /* for the gradients of sigmoid and tanh, the output */
  const void* dy;
  void* result;
  uint64_t elements;
} ActivationArrays;

#endif /* DEEPBENCH_CUDA_KERNELS_ACTIVATION_H_ */
