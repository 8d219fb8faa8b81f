// Defines the markers, which are neither inlined nor empty, so that a breakpoint on them is
// reached.
#include "timing.hpp"

extern "C" {
__attribute__((noinline)) void deepbench_region_begin() { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void deepbench_region_end() { __asm__ volatile("" ::: "memory"); }
}
