// The blocks of this kernel do no work and end in random order, after up to a few microseconds. The
// next kernel therefore finds the multiprocessors free in a different order than it would directly
// after another call of itself.
extern "C" __global__ void perturb_scheduling() {
  constexpr unsigned kMaxCycles = 8192;
  const long long begin = clock64();
  const unsigned drawn = (unsigned(begin) ^ blockIdx.x * 2654435761u) * 2246822519u;
  const long long cycles = (drawn >> 16) % kMaxCycles;
  while (clock64() - begin < cycles) {
  }
}
