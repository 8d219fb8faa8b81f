// Nothing but blocks that end in no order, after up to a few microseconds: what comes after them
// finds the multiprocessors free in another order than after itself.
extern "C" __global__ void perturb_scheduling() {
  constexpr unsigned kMaxCycles = 8192;
  const long long begin = clock64();
  const unsigned drawn = (unsigned(begin) ^ blockIdx.x * 2654435761u) * 2246822519u;
  const long long cycles = (drawn >> 16) % kMaxCycles;
  while (clock64() - begin < cycles) {
  }
}
