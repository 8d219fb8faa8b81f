// Instances of the template in skinny.cu that the host names (SkinnyPlan::expression), for
// compile_all.sh: for every number of columns, the instances that use the most registers.
#include "skinny.cu"

template <int kColumns, int kDeepest, int kDeep, int kFlat>
struct Instances {
  const void* kernels[6] = {(const void*)skinny<kColumns, 1, kDeepest, 32, false>,
                            (const void*)skinny<kColumns, 2, kDeep, 32, true>,
                            (const void*)skinny<kColumns, 2, kDeep, 16, false>,
                            (const void*)skinny<kColumns, 4, kFlat, 32, false>,
                            (const void*)skinny<kColumns, 4, kFlat, 32, true>,
                            (const void*)skinny<kColumns, 2, kDeep, 8, false>};
};

Instances<1, 8, 8, 4> one;
Instances<2, 4, 4, 4> two;
Instances<3, 2, 2, 2> three;
Instances<4, 2, 2, 2> four;
Instances<5, 1, 1, 1> five;
Instances<6, 1, 1, 1> six;
Instances<7, 1, 1, 1> seven;
Instances<8, 1, 1, 1> eight;
