// Holds the only loader of the process, and its tables.
#include "libraries.hpp"

#include "deepbench/plugin.hpp"
#include "loader.hpp"

namespace deepbench::cuda {
namespace {

template <class Table>
const LoadedLibrary<Table>& loaded_library() {
  static const LoadedLibrary<Table>& entry = loader().get<Table>();
  return entry;
}

}  // namespace

Loader& loader() {
  // Never destroyed, because the libraries stay open.
  static Loader* instance = new Loader(toolkit_locations(), driver_locations());
  return *instance;
}

template <class Table>
const Table& api() {
  const LoadedLibrary<Table>& entry = loaded_library<Table>();
  if (!entry.report.usable()) plugin::unsupported(entry.report.reason);
  return entry.table;
}

template <class Table>
const LibraryReport& report() {
  return loaded_library<Table>().report;
}

std::vector<LibraryReport> all_reports() { return loader().all_reports(); }
std::vector<std::string> mixed_major_warnings() { return loader().mixed_major_warnings(); }

// NOLINTNEXTLINE: two lines a library.
#define DEFINE(Table)                  \
  template const nvidia::Table& api(); \
  template const LibraryReport& report<nvidia::Table>();
DEFINE(Driver)
DEFINE(Cudart)
DEFINE(Nvrtc)
DEFINE(NvJitLink)
DEFINE(CublasLt)
DEFINE(Cublas)
DEFINE(Cudnn)
DEFINE(Cusparse)
DEFINE(Nccl)
DEFINE(Nvml)
DEFINE(Nvtx)
#undef DEFINE

}  // namespace deepbench::cuda
