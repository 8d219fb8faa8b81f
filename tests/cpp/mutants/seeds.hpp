// The seeds of verification that each mutant is tried with.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

namespace deepbench::testing {

// Two of them, or those of DEEPBENCH_MUTANT_SEEDS: 300 to confirm the derived probabilities, or a
// part of them (101-200) for one of several processes.
inline std::vector<uint64_t> verification_seeds() {
  unsigned first = 1, last = 2;
  if (const char* const range = std::getenv("DEEPBENCH_MUTANT_SEEDS"))
    if (std::sscanf(range, "%u-%u", &first, &last) == 1) last = std::exchange(first, 1u);
  std::vector<uint64_t> seeds(last - first + 1);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

}  // namespace deepbench::testing
