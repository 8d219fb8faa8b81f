// Loads MKL. MKL prints a message and ends the process if one of its parts is missing, so this file
// searches for the parts before the first call.
#include "ops/gemm/mkl_api.hpp"

#include <unistd.h>

#include <cstdlib>

#include "affinity.hpp"
#include "isa.hpp"
#include "topology.hpp"

namespace deepbench::cpu::mkl {
namespace {

constexpr int kInterfaceLp64 = 0;
constexpr int kThreadingGnu = 3;

}  // namespace

Api& Api::instance() {
  static Api* api = new Api();  // Never destroyed, because MKL's threads outlive static objects.
  return *api;
}

Api::Api()
    : library_(
          // Debian packages the library under the last name.
          {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"},
          "pip install mkl (Debian, Ubuntu: apt install libmkl-rt, which is non-free), or name "
          "the folder of libmkl_rt.so.3 in DEEPBENCH_CPU_LIBRARY_PATH") {
  if (library_.loaded()) start();
}

void Api::start() {
  const bool found = library_.bind(sgemm, "cblas_sgemm") &&
                     library_.bind(sgemm_pack_get_size, "cblas_sgemm_pack_get_size") &&
                     library_.bind(sgemm_pack, "cblas_sgemm_pack") &&
                     library_.bind(sgemm_compute, "cblas_sgemm_compute") &&
                     library_.bind(gemm_s8u8s32, "cblas_gemm_s8u8s32") &&
                     library_.bind(set_threads_, "MKL_Set_Num_Threads");
  if (!found) return library_.reject(library_.path() + " lacks a function of MKL 2020");
  library_.bind(gemm_bf16bf16f32, "cblas_gemm_bf16bf16f32");
  library_.bind(gemm_f16f16f32, "cblas_gemm_f16f16f32");
  const size_t suffix = library_.path().rfind(".so");
  const std::string core = library_.folder() + "/libmkl_core" + library_.path().substr(suffix);
  if (access(core.c_str(), R_OK) != 0)
    return library_.reject(core + " is missing, and MKL would end the process");
  // MKL and Intel's OpenMP count the cores in the affinity mask of the thread that first calls
  // them. Another OpenMP run time may have narrowed that mask to one core.
  const ScopedAffinity all(topology().cpus_for_threads(topology().hardware_threads()));
  if (choose_layers()) read_version();
}

// Selects 32-bit integers whatever MKL_INTERFACE_LAYER says, because the calls here pass them. The
// user's MKL_THREADING_LAYER selects the threads; otherwise Intel's OpenMP if it is installed, or
// else GCC's.
bool Api::choose_layers() {
  int (*set_interface)(int) = nullptr;
  int (*set_threading)(int) = nullptr;
  if (library_.bind(set_interface, "MKL_Set_Interface_Layer")) set_interface(kInterfaceLp64);
  if (std::getenv("MKL_THREADING_LAYER")) return true;
  const SharedLibrary intel({library_.folder() + "/libiomp5.so", "libiomp5.so"}, "");
  if (intel.loaded()) {
    int (*count_places)() = nullptr;
    // This call starts the run time.
    if (intel.bind(count_places, "omp_get_num_places")) count_places();
    return true;
  }
  // libgomp must be loaded first, because MKL 2020's threading layer does not list it as a
  // dependency.
  if (SharedLibrary({"libgomp.so.1"}, "", SharedLibrary::SymbolScope::kGlobal).loaded() &&
      library_.bind(set_threading, "MKL_Set_Threading_Layer")) {
    set_threading(kThreadingGnu);
    return true;
  }
  library_.reject("MKL needs an OpenMP run time: pip install intel-openmp, or install libgomp");
  return false;
}

void Api::read_version() {
  void (*get)(char*, int) = nullptr;
  if (!library_.bind(get, "MKL_Get_Version_String")) return;
  char text[256] = {};
  get(text, int(sizeof text) - 1);  // "... Math Kernel Library Version 2025.3-Product Build ..."
  const std::string full = text, prefix = "Version ";
  const size_t position = full.find(prefix);
  if (position == std::string::npos) return;
  const size_t begin = position + prefix.size();
  version_ = full.substr(begin, full.find_first_not_of("0123456789.", begin) - begin);
}

void Api::use_threads(int threads) {
  static thread_local int current = 0;  // The value that this thread has set.
  if (current == threads) return;
  current = threads;
  set_threads_(threads);
}

bool Api::has_exact_int8() const {
  return isa().avx512_vnni && isa().vendor == "GenuineIntel" &&
         !std::getenv("MKL_ENABLE_INSTRUCTIONS");
}

}  // namespace deepbench::cpu::mkl
