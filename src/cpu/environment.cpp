// Sets the variables of OpenMP, MKL and OpenBLAS.
#include "environment.hpp"

#include <algorithm>

namespace deepbench::cpu {
namespace {

// OpenBLAS selects its kernels by vendor, family and model of the processor. It knows all
// processors of Intel. For AMD's families from 1Ah on and for all other vendors, older releases use
// kernels of 2006.
bool openblas_may_not_detect_isa(const Isa& isa) {
  constexpr int kZen5 = 0x1a;
  if (isa.vendor == "GenuineIntel") return false;
  return isa.vendor != "AuthenticAMD" || isa.family >= kZen5;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> library_environment(int threads,
                                                                     const Topology& topology,
                                                                     const Isa& isa) {
  // Lists each place once, even if a user requests more threads than cores.
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
