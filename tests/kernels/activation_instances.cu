// Instances of the template in activation.cu that the host names, for compile_all.sh: every kind in
// both phases.
#include "activation.cu"

template <class T, int kKind>
struct Instances {
  const void* kernels[2] = {(const void*)activate<T, kKind, true>,
                            (const void*)activate<T, kKind, false>};
};

template <class T>
struct Kinds {
  Instances<T, ACTIVATION_RELU> relu;
  Instances<T, ACTIVATION_GELU> gelu;
  Instances<T, ACTIVATION_SILU> silu;
  Instances<T, ACTIVATION_SIGMOID> sigmoid;
  Instances<T, ACTIVATION_TANH> tanh;
};

Kinds<Float> of_float;
Kinds<Half> of_half;
Kinds<Bfloat16> of_bfloat16;
