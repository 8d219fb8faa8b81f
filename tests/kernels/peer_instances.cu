// Instances of the templates in peer.cu that the host names (peer_expression), for compile_all.sh.
#include "peer.cu"

template <class T, int kRanks, int kVectorsInFlight>
struct Instances {
  const void* kernels[6] = {
      (const void*)one_shot<T, kRanks, (kVectorsInFlight < 4 ? kVectorsInFlight : 4)>,
      (const void*)one_shot_ll<T, kRanks>,
      (const void*)two_shot<T, kRanks, kVectorsInFlight>,
      (const void*)two_shot_push<T, kRanks, kVectorsInFlight>,
      (const void*)ring<T, kRanks, 8>,
      (const void*)barrier_kernel<kRanks>};
};

Instances<Float, 2, 8> two;
Instances<Float, 4, 4> four;
Instances<Half, 7, 2> seven;
Instances<Bfloat16, 8, 2> eight;
