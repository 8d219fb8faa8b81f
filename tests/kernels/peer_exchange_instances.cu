// Instances of the templates in peer_exchange.cu that the host names (exchange_expression), for
// compile_all.sh.
#include "peer_exchange.cu"

template <class T, int kRanks, bool kWhole, int kFew, int kMany>
struct Instances {
  const void* kernels[4] = {(const void*)exchange_blocks<kRanks, 1, 1, kWhole, kFew>,
                            (const void*)exchange_blocks<kRanks, 1, kRanks, kWhole, kMany>,
                            (const void*)exchange_blocks<kRanks, kRanks, kRanks, kWhole, kMany>,
                            (const void*)reduce_blocks<T, kRanks, kWhole, kMany>};
};

Instances<Float, 2, true, 4, 4> two;
Instances<Half, 3, false, 1, 1> three;
Instances<Float, 4, false, 4, 4> four;
Instances<Half, 7, true, 4, 2> seven;
Instances<Bfloat16, 8, true, 4, 2> eight;
