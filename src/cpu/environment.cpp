// The variables of OpenMP, MKL and OpenBLAS.
#include "environment.hpp"

#include <algorithm>

namespace deepbench::cpu {
namespace {

// OpenBLAS picks its kernels by vendor, family and model of the processor. It knows all of Intel's
// line. Older releases use kernels of 2006 for AMD's families from 1Ah on and for all other
// vendors.
bool openblas_may_not_detect_isa(const Isa& isa) {
  constexpr int kZen5 = 0x1a;
  if (isa.vendor == "GenuineIntel") return false;
  return isa.vendor != "AuthenticAMD" || isa.family >= kZen5;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> library_environment(int threads,
                                                                     const Topology& topology,
                                                                     const Isa& isa) {
  // A user may ask for more threads than cores; each place is still listed once.
  std::string places;
  for (int cpu : topology.cpus_for_threads(std::min(threads, topology.hardware_threads())))
    places += (places.empty() ? "{" : ",{") + std::to_string(cpu) + "}";

  const std::string count = std::to_string(threads);
  std::vector<std::pair<std::string, std::string>> variables = {
      {"OMP_NUM_THREADS", count},     {"OMP_DYNAMIC", "false"},   {"OMP_PROC_BIND", "true"},
      {"OMP_PLACES", places},         {"MKL_NUM_THREADS", count}, {"MKL_DYNAMIC", "false"},
      {"OPENBLAS_NUM_THREADS", count}};
  if (isa.avx512 && openblas_may_not_detect_isa(isa))
    variables.emplace_back("OPENBLAS_CORETYPE", "SkylakeX");
  return variables;
}

}  // namespace deepbench::cpu
