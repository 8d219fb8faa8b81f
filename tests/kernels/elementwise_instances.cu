// Instances of the templates in elementwise.cu that the host names, for compile_all.sh.
#include "elementwise.cu"

template <class T>
struct Instances {
  const void* kernels[5] = {(const void*)combine<T, ELEMENTWISE_ADD>,
                            (const void*)combine<T, ELEMENTWISE_MULTIPLY>,
                            (const void*)combine<T, ELEMENTWISE_SWIGLU>,
                            (const void*)rotate<T, true>, (const void*)rotate<T, false>};
};

Instances<Float> of_float;
Instances<Half> of_half;
Instances<Bfloat16> of_bfloat16;
