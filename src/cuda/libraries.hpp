// NVIDIA's libraries in this process. Each is opened, and its table of functions filled, on first
// use. If a library or a symbol is absent, there is a reason.
#pragma once

#include <string>
#include <vector>

#include "deepbench/backend/implementation.hpp"
#include "nvidia/cublas.hpp"
#include "nvidia/cublaslt.hpp"
#include "nvidia/cudart.hpp"
#include "nvidia/cudnn.hpp"
#include "nvidia/cusparse.hpp"
#include "nvidia/driver.hpp"
#include "nvidia/nccl.hpp"
#include "nvidia/nvjitlink.hpp"
#include "nvidia/nvml.hpp"
#include "nvidia/nvrtc.hpp"
#include "nvidia/nvtx.hpp"

namespace deepbench::cuda {

class Loader;
Loader& loader();  // the only loader of the process

struct LibraryReport : plugin::LibraryFacts {
  std::string name;  // "cudart", "nvrtc", "cublaslt", ...
};

// The table of functions of a library. Throws plugin::Error (unsupported) with the reason if the
// library is not usable. Only the first call takes time.
template <class Table>
const Table& api();
// The facts that describe() emits. Opens the library; never throws.
template <class Table>
const LibraryReport& report();

// The reports of all libraries, in the order of loading.
std::vector<LibraryReport> all_reports();

// One line for each library that was built for another major of CUDA than cudart.
std::vector<std::string> mixed_major_warnings();

inline const nvidia::Driver& driver() { return api<nvidia::Driver>(); }
inline const nvidia::Cudart& cudart() { return api<nvidia::Cudart>(); }
inline const nvidia::Nvrtc& nvrtc() { return api<nvidia::Nvrtc>(); }
inline const nvidia::CublasLt& cublaslt() { return api<nvidia::CublasLt>(); }
inline const nvidia::Cublas& cublas() { return api<nvidia::Cublas>(); }
inline const nvidia::Cudnn& cudnn() { return api<nvidia::Cudnn>(); }
inline const nvidia::Cusparse& cusparse() { return api<nvidia::Cusparse>(); }
inline const nvidia::Nccl& nccl() { return api<nvidia::Nccl>(); }
inline const nvidia::Nvml& nvml() { return api<nvidia::Nvml>(); }

}  // namespace deepbench::cuda
