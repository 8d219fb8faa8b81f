// The multiprocessors' clocks: cycles and nanoseconds at one moment, from which two stamps give the
// frequency between them. One block for each multiprocessor; which one it ran on is in the stamp.
namespace {

struct ClockStamp {  // as in clock_stamps.hpp
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
