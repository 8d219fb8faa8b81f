// Instances of the template in softmax.cu that the host names, for compile_all.sh.
#include "softmax.cu"

template <class T, bool kForward>
struct Instances {
  const void* kernels[4] = {(const void*)softmax_rows<T, kForward, false, false>,
                            (const void*)softmax_rows<T, kForward, false, true>,
                            (const void*)softmax_rows<T, kForward, true, false>,
                            (const void*)softmax_rows<T, kForward, true, true>};
};

template <class T>
struct Phases {
  Instances<T, true> forward;
  Instances<T, false> gradient;
};

Phases<Float> of_float;
Phases<Half> of_half;
Phases<Bfloat16> of_bfloat16;
