// Reads the clocks of the multiprocessors: cycles and nanoseconds at the same moment. Two stamps
// give the frequency between them. The launch has one block per multiprocessor; the stamp records
// which multiprocessor the block ran on.
namespace {

struct ClockStamp {  // same layout as in clock_stamps.hpp
  unsigned long long clock, nanoseconds;
  unsigned multiprocessor, padding;
};

}  // namespace

extern "C" __global__ void stamp(ClockStamp* stamps) {
  ClockStamp now;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(now.multiprocessor));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now.nanoseconds));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now.clock));
  now.padding = 0;
  stamps[blockIdx.x] = now;
}
