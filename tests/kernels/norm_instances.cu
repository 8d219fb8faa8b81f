// Instances of the templates in norm.cu that the host names (norm_launches), for compile_all.sh:
// those that use the most registers.
#include "norm.cu"

template <int kType, int kWidth, int kForward, int kBackward>
struct Instances {
  const void* kernels[11] = {(const void*)normalize_sets<kType, kWidth, kForward>,
                             (const void*)normalize_long_sets<kType, kWidth>,
                             (const void*)differentiate_sets<kType, kWidth, kBackward>,
                             (const void*)differentiate_long_sets<kType, kWidth>,
                             (const void*)sum_columns<kType, kWidth, kMoments>,
                             (const void*)sum_columns<kType, kWidth, kGradientsOfBatch>,
                             (const void*)sum_columns<kType, kWidth, kGradientsOfRows>,
                             (const void*)combine_columns<kType, kMoments>,
                             (const void*)combine_columns<kType, kGradientsOfRows>,
                             (const void*)normalize_columns<kType, kWidth>,
                             (const void*)differentiate_columns<kType, kWidth>};
};

Instances<DEEPBENCH_F32, 4, 8, 4> floats;
Instances<DEEPBENCH_F32, 1, 8, 8> single_floats;
Instances<DEEPBENCH_F16, 8, 4, 2> halves;
Instances<DEEPBENCH_BF16, 8, 4, 2> bfloat16s;
Instances<DEEPBENCH_BF16, 1, 8, 8> single_bfloat16s;
