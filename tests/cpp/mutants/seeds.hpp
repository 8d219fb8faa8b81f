// How many seeds of verification each mutant is tried with.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace deepbench::testing {

// 300 by command, to confirm the derived probabilities.
inline uint64_t verification_seeds() {
  const char* const count = std::getenv("DEEPBENCH_MUTANT_SEEDS");
  return count ? std::strtoull(count, nullptr, 10) : 2;
}

}  // namespace deepbench::testing
