// Instances of the template in attention_softmax.cu that the host names (softmax_expression), for
// compile_all.sh.
#include "attention_softmax.cu"

template <int kType>
struct Instances {
  const void* kernels[4] = {
      (const void*)attention_softmax<kType, 1, 1>, (const void*)attention_softmax<kType, 1, 8>,
      (const void*)attention_softmax<kType, 8, 1>, (const void*)attention_softmax<kType, 8, 8>};
};

Instances<DEEPBENCH_F32> of_float;
Instances<DEEPBENCH_F16> of_half;
Instances<DEEPBENCH_BF16> of_bfloat16;
