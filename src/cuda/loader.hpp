// Chooses among NVIDIA's installed libraries, all of one major of CUDA if possible, and fills their
// tables of functions. The driver must support that major.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libraries.hpp"
#include "library_identity.hpp"
#include "library_search.hpp"

namespace deepbench::cuda {

struct LibraryFiles;  // the names of one library's files

template <class Table>
struct LoadedLibrary {
  using Functions = Table;
  Table table;
  LibraryReport report;
  LibraryIdentity identity;
};

class Loader {
 public:
  Loader(std::vector<Location> toolkit, std::vector<Location> driver)
      : toolkit_(std::move(toolkit)), driver_(std::move(driver)) {}

  // Opens the library on first use, after the libraries that it needs. If it is absent, the report
  // has the reason.
  template <class Table>
  const LoadedLibrary<Table>& get();

  std::vector<LibraryReport> all_reports();
  std::vector<std::string> mixed_major_warnings();

 private:
  template <class Table>
  void open_dependencies();
  template <class Table>
  LoadedLibrary<Table> load();
  template <class Visit>
  void for_each(Visit visit);  // each library, in the order of loading

  SearchResult find(const LibraryFiles& names);
  LibraryReport make_report(const LibraryFiles& names, const SearchResult& found,
                            const LibraryIdentity& identity, const std::string& missing);
  std::string absence_reason(const LibraryFiles& names, const std::string& error);
  std::string install_hint(const LibraryFiles& names);
  const LibraryIdentity& driver();
  std::vector<int> usable_majors();

  std::recursive_mutex mutex_;
  std::vector<Location> toolkit_, driver_;
  int major_ = 0;  // major of the runtime that was found
  std::tuple<
      std::optional<LoadedLibrary<nvidia::Driver>>, std::optional<LoadedLibrary<nvidia::Cudart>>,
      std::optional<LoadedLibrary<nvidia::Nvrtc>>, std::optional<LoadedLibrary<nvidia::NvJitLink>>,
      std::optional<LoadedLibrary<nvidia::CublasLt>>, std::optional<LoadedLibrary<nvidia::Cublas>>,
      std::optional<LoadedLibrary<nvidia::Cudnn>>, std::optional<LoadedLibrary<nvidia::Cusparse>>,
      std::optional<LoadedLibrary<nvidia::Nccl>>, std::optional<LoadedLibrary<nvidia::Nvml>>,
      std::optional<LoadedLibrary<nvidia::Nvtx>>>
      loaded_;
};

}  // namespace deepbench::cuda
