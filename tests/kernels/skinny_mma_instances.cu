// Instances of the template in skinny_mma.cu that the host names (SkinnyMmaPlan::expression), for
// compile_all.sh: for every number of columns, the instances that use the most registers. Clusters
// need compute capability 9.0 or higher.
#include "skinny_mma.cu"

template <int kType, uint32_t kColumns>
struct Instances {
  const void* kernels[4] = {(const void*)skinny_mma<kType, true, kColumns, 1, 16, 1, false>,
                            (const void*)skinny_mma<kType, true, kColumns, 1, 8, 1, false>,
                            (const void*)skinny_mma<kType, true, kColumns, 2, 8, 1, false>,
                            (const void*)skinny_mma<kType, false, kColumns, 2, 8, 1, false>};
};

Instances<DEEPBENCH_F16, 1> one;
Instances<DEEPBENCH_F16, 2> two;
Instances<DEEPBENCH_BF16, 3> three;
Instances<DEEPBENCH_F16, 4> four;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
template <int kType, uint32_t kColumns>
struct Clusters {
  const void* kernels[8] = {(const void*)skinny_mma<kType, true, kColumns, 1, 8, 8, false>,
                            (const void*)skinny_mma<kType, true, kColumns, 1, 16, 4, false>,
                            (const void*)skinny_mma<kType, false, kColumns, 2, 8, 4, false>,
                            (const void*)skinny_mma<kType, false, kColumns, 2, 8, 8, false>,
                            (const void*)skinny_mma<kType, true, kColumns, 2, 8, 2, false>,
                            (const void*)skinny_mma<kType, true, kColumns, 2, 4, 4, false>,
                            (const void*)skinny_mma<kType, false, kColumns, 2, 8, 2, false>,
                            (const void*)skinny_mma<kType, false, kColumns, 2, 4, 4, false>};
};

Clusters<DEEPBENCH_F16, 2> two_split;
Clusters<DEEPBENCH_BF16, 4> four_split;
#endif
