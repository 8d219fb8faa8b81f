// Instances of the templates in attention_softmax.cu that the host names, for compile_all.sh.
#include "attention_softmax.cu"

template <int kType>
struct Instances {
  const void* kernels[8] = {(const void*)attention_softmax<kType, 1, 1>,
                            (const void*)attention_softmax<kType, 1, 8>,
                            (const void*)attention_softmax<kType, 8, 1>,
                            (const void*)attention_softmax<kType, 8, 8>,
                            (const void*)attention_softmax_gradient<kType, 1, 1>,
                            (const void*)attention_softmax_gradient<kType, 1, 8>,
                            (const void*)attention_softmax_gradient<kType, 8, 1>,
                            (const void*)attention_softmax_gradient<kType, 8, 8>};
};

Instances<DEEPBENCH_F32> of_float;
Instances<DEEPBENCH_F16> of_half;
Instances<DEEPBENCH_BF16> of_bfloat16;

const void* of_sinks = (const void*)attention_sink_gradient<8>;
