/* Functions of kernels in float. On the device the exponential is the unit for powers of two, whose
 * error is two units in the last place and half a unit for each unit of the argument. */
#ifndef DEEPBENCH_CUDA_KERNELS_EXPONENTIAL_H_
#define DEEPBENCH_CUDA_KERNELS_EXPONENTIAL_H_

#ifndef __CUDACC__
#include <math.h>
#endif

namespace {

__device__ inline float exponential(float x) {
#ifdef __CUDACC__
  return __expf(x);
#else
  return expf(x);
#endif
}

}  // namespace

#endif /* DEEPBENCH_CUDA_KERNELS_EXPONENTIAL_H_ */
