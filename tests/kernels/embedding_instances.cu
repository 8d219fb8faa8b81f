// Instances of the templates in embedding.cu that the host names, for compile_all.sh.
#include "embedding.cu"

template <class Number>
struct Instances {
  const void* kernels[4] = {(const void*)sum_rows<Number, uint4>,
                            (const void*)sum_rows<Number, typename Number::Stored>,
                            (const void*)add_gradients<Number, uint4>,
                            (const void*)add_gradients<Number, typename Number::Stored>};
};

const void* copies[4] = {(const void*)copy_rows<uint4>, (const void*)copy_rows<uint2>,
                         (const void*)copy_rows<uint32_t>, (const void*)copy_rows<uint16_t>};
Instances<Float> of_float;
Instances<Half> of_half;
Instances<Bfloat16> of_bfloat16;
