// Decides which files, of which major, are opened in which order.
//
// The driver reports which majors it supports. cudart is the newest supported one in the first
// place that has any. All other libraries are searched in the major of cudart, and in another major
// only if there is none: such a mix usually works, and mixed_major_warnings() reports it.
#include "loader.hpp"

#include <algorithm>

#include "python_packages.hpp"

namespace deepbench::cuda {
namespace {

// The majors with which the declarations in third_party/nvidia are tested, the newest first.
constexpr int kMajors[] = {13, 12};

// The locations that may hold libraries of this major.
std::vector<Location> locations_for(const std::vector<Location>& all, int major) {
  std::vector<Location> locations;
  for (const Location& location : all) {
    const int found = location.path.empty() ? 0 : major_of_folder(location.path);
    if (found == 0 || found == major) locations.push_back(location);
  }
  return locations;
}

std::string stub_reason(const std::string& path) {
  return path + " is the toolkit's stub, not the driver's library";
}

// The folder of a copied stub does not show that it is a stub; all functions of a stub return one
// error.
std::string reject_stub(const SharedLibrary& library) {
  const auto version = reinterpret_cast<decltype(nvidia::Driver::cuDriverGetVersion)>(
      library.find("cuDriverGetVersion"));
  int ignored = 0;
  return version && version(&ignored) == nvidia::CUDA_ERROR_STUB_LIBRARY
             ? stub_reason(library.path())
             : "";
}

// Opens the parts that a library would open by itself during its first call, usually beside the
// library. The library then finds the open parts by name, wherever it searches.
std::string reject_without(const SharedLibrary& library, const std::vector<std::string>& parts) {
  const Location beside = {library.folder(), ""};
  for (const std::string& name : parts) {
    const std::string file = plugin::library_file_at(beside, name);
    const std::string error = SharedLibrary().open(file.empty() ? name : file);
    if (!error.empty()) return library.path() + " needs " + name + ": " + error;
  }
  return "";
}

// cuDNN is a front library. It ends the process if it cannot open a part, even when it is only
// asked for its version.
std::string reject_cudnn_without_parts(const SharedLibrary& front) {
  return reject_without(front, {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9",
                                "libcudnn_adv.so.9"});
}

// NVRTC in CUDA 13.0's Python package has no run path and does not search its own folder.
std::string reject_nvrtc_without_builtins(const SharedLibrary& nvrtc) {
  const auto version =
      reinterpret_cast<decltype(nvidia::Nvrtc::nvrtcVersion)>(nvrtc.find("nvrtcVersion"));
  int major = 0, minor = 0;
  if (!version || version(&major, &minor) != nvidia::NVRTC_SUCCESS) return "";
  return reject_without(
      nvrtc, {"libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor)});
}

std::string reject_nothing(const SharedLibrary&) { return ""; }

// Opens the first file that is not a stub and that `reject` accepts.
SearchResult find_library(const std::vector<Location>& locations,
                          const std::vector<std::string>& names,
                          std::string (*reject)(const SharedLibrary&)) {
  const auto reject_stubs_too = [reject](const SharedLibrary& library) {
    const bool is_stub = library.path().find("/stubs/") != std::string::npos;
    return is_stub ? stub_reason(library.path()) : reject(library);
  };
  return plugin::find_library(locations, names, SharedLibrary::SymbolScope::kLocal,
                              reject_stubs_too);
}

void* find_function(const SharedLibrary& library, const char* name, nvidia::Need need,
                    std::string& missing) {
  void* found = library.find(name);
  if (!found && need == nvidia::Need::kRequired && missing.empty()) missing = name;
  return found;
}

// Fills the table. Returns the first missing function that the backend requires, or "".
template <class Table>
std::string bind_functions(Table& table, const SharedLibrary& library) {
  std::string missing;
  table.for_each([&](const char* name, auto& function, nvidia::Need need) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        find_function(library, name, need, missing));
  });
  return missing;
}

}  // namespace

struct LibraryFiles {
  const char* name;
  std::vector<std::string> files;  // "*" stands for the major of CUDA
  enum Origin { kDriver, kToolkit } origin;
  std::string (*reject)(const SharedLibrary&) = reject_nothing;

  std::vector<std::string> files_of_major(int major) const {
    std::vector<std::string> names = files;
    for (std::string& file : names)
      if (file.back() == '*') file.replace(file.size() - 1, 1, std::to_string(major));
    return names;
  }
  // If this is false, the folder must show the major.
  bool name_contains_major() const { return files.front().back() == '*'; }
};

namespace {

template <class Table>
const LibraryFiles& library_files();

// NOLINTNEXTLINE: one line a library.
#define LIBRARY_FILES(Table, ...)                      \
  template <>                                          \
  const LibraryFiles& library_files<nvidia::Table>() { \
    static const LibraryFiles names = {__VA_ARGS__};   \
    return names;                                      \
  }
LIBRARY_FILES(Driver, "driver", {"libcuda.so.1"}, LibraryFiles::kDriver, reject_stub)
LIBRARY_FILES(Cudart, "cudart", {"libcudart.so.*"}, LibraryFiles::kToolkit)
LIBRARY_FILES(Nvrtc, "nvrtc", {"libnvrtc.so.*"}, LibraryFiles::kToolkit,
              reject_nvrtc_without_builtins)
LIBRARY_FILES(NvJitLink, "nvjitlink", {"libnvJitLink.so.*"}, LibraryFiles::kToolkit)
LIBRARY_FILES(CublasLt, "cublaslt", {"libcublasLt.so.*"}, LibraryFiles::kToolkit)
LIBRARY_FILES(Cublas, "cublas", {"libcublas.so.*"}, LibraryFiles::kToolkit)
LIBRARY_FILES(Cudnn, "cudnn", {"libcudnn.so.9"}, LibraryFiles::kToolkit, reject_cudnn_without_parts)
LIBRARY_FILES(Cusparse, "cusparse", {"libcusparse.so.12"}, LibraryFiles::kToolkit)
LIBRARY_FILES(Nccl, "nccl", {"libnccl.so.2"}, LibraryFiles::kToolkit)
LIBRARY_FILES(Nvml, "nvml", {"libnvidia-ml.so.1"}, LibraryFiles::kDriver, reject_stub)
LIBRARY_FILES(Nvtx, "nvtx", {"libnvtx3interop.so.1", "libnvToolsExt.so.1"}, LibraryFiles::kToolkit)
#undef LIBRARY_FILES

}  // namespace

// ---- searching ----------------------------------------------------------------------------------

const LibraryIdentity& Loader::driver() { return get<nvidia::Driver>().identity; }

std::vector<int> Loader::usable_majors() {
  std::vector<int> majors;
  for (const int major : kMajors)
    if (driver().cuda_major == 0 || major <= driver().cuda_major) majors.push_back(major);
  return majors;
}

// cudart is searched by place, so that one installation serves all libraries. The others are
// searched by major.
SearchResult Loader::find(const LibraryFiles& names) {
  if (names.origin == LibraryFiles::kDriver)
    return find_library(driver_, names.files, names.reject);
  std::vector<int> majors = usable_majors();
  if (major_ == 0) {
    std::vector<std::string> files;
    for (const int major : majors)
      for (const std::string& file : names.files_of_major(major)) files.push_back(file);
    return find_library(toolkit_, files, names.reject);
  }
  std::stable_partition(majors.begin(), majors.end(), [&](int major) { return major == major_; });
  SearchResult found;
  for (const int major : majors) {
    const std::string error = found.failure;
    const auto locations = names.name_contains_major() ? toolkit_ : locations_for(toolkit_, major);
    found = find_library(locations, names.files_of_major(major), names.reject);
    if (found.library.loaded()) break;
    if (!error.empty()) found.failure = error;
  }
  return found;
}

// ---- reasons ------------------------------------------------------------------------------------

std::string Loader::install_hint(const LibraryFiles& names) {
  if (names.origin == LibraryFiles::kDriver)
    return "install NVIDIA's driver or, in a container, start it with the host's GPUs";
  const int newest = kMajors[0];
  const int major = driver().cuda_major ? std::min(driver().cuda_major, newest)
                    : major_            ? major_
                                        : newest;
  return install_command(major, names.name);
}

std::string Loader::absence_reason(const LibraryFiles& names, const std::string& error) {
  if (names.origin == LibraryFiles::kDriver)
    return (error.empty() ? names.files.front() + " was not found"
                          : error + "; no other " + names.files.front() + " was found") +
           "; " + install_hint(names);
  const std::vector<int> majors = usable_majors();
  if (majors.empty())
    return "the driver is for CUDA " + driver().version + ", too old for CUDA 12: update it";
  if (!error.empty()) return error + "; " + install_hint(names);
  for (const int major : kMajors)
    for (const Location& location : toolkit_) {
      const std::string file =
          plugin::library_file_at(location, names.files_of_major(major).front());
      if (file.empty() || major <= majors.front()) continue;
      return file + " needs a driver for CUDA " + std::to_string(major) +
             ", this one is for CUDA " + driver().version + "; " + install_hint(names);
    }
  return names.files_of_major(major_ ? major_ : majors.front()).front() + " was not found; " +
         install_hint(names);
}

LibraryReport Loader::make_report(const LibraryFiles& names, const SearchResult& found,
                                  const LibraryIdentity& identity, const std::string& missing) {
  LibraryReport report;
  report.name = names.name;
  if (!found.library.loaded()) {
    report.reason = absence_reason(names, found.failure);
    return report;
  }
  report.version = identity.version;
  report.path = found.library.path();
  report.found_by = found.found_by;
  if (!missing.empty())
    report.reason = report.path + (report.version.empty() ? "" : " (" + report.version + ")") +
                    " is too old: it has no " + missing + "; " + install_hint(names);
  else if (!identity.reason.empty())
    report.reason = report.path + ": " + identity.reason;
  return report;
}

// ---- loading ------------------------------------------------------------------------------------

// Opens the libraries that `Table` loads by name when it is loaded or later.
template <class Table>
void Loader::open_dependencies() {
  if constexpr (std::is_same_v<Table, nvidia::Cudart>) {
    get<nvidia::Driver>();  // otherwise cudart would open any file of that name
  } else if constexpr (std::is_same_v<Table, nvidia::CublasLt>) {
    get<nvidia::Nvrtc>();
  } else if constexpr (std::is_same_v<Table, nvidia::Cublas>) {
    get<nvidia::CublasLt>();
  } else if constexpr (std::is_same_v<Table, nvidia::Cudnn>) {
    get<nvidia::Cublas>();
  } else if constexpr (std::is_same_v<Table, nvidia::Cusparse>) {
    get<nvidia::NvJitLink>();
  }
}

template <class Table>
LoadedLibrary<Table> Loader::load() {
  const LibraryFiles& names = library_files<Table>();
  if (names.origin != LibraryFiles::kDriver && !std::is_same_v<Table, nvidia::Cudart>)
    get<nvidia::Cudart>();  // determines the major
  open_dependencies<Table>();

  LoadedLibrary<Table> loaded;
  const SearchResult found = find(names);
  std::string missing;
  if (found.library.loaded()) {
    missing = bind_functions(loaded.table, found.library);
    loaded.identity = identify(loaded.table, found.library.path());
  }
  loaded.report = make_report(names, found, loaded.identity, missing);
  return loaded;
}

template <class Table>
const LoadedLibrary<Table>& Loader::get() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto& loaded = std::get<std::optional<LoadedLibrary<Table>>>(loaded_);
  if (!loaded) {
    loaded = load<Table>();
    if constexpr (std::is_same_v<Table, nvidia::Cudart>)
      if (loaded->report.usable()) major_ = loaded->identity.cuda_major;
  }
  return *loaded;
}

template <class Visit>
void Loader::for_each(Visit visit) {
  const auto visit_all = [&](const auto&... loaded) {
    (visit(get<typename std::decay_t<decltype(loaded)>::value_type::Functions>()), ...);
  };
  std::apply(visit_all, loaded_);
}

std::vector<LibraryReport> Loader::all_reports() {
  std::vector<LibraryReport> reports;
  for_each([&](const auto& loaded) { reports.push_back(loaded.report); });
  return reports;
}

std::vector<std::string> Loader::mixed_major_warnings() {
  const LoadedLibrary<nvidia::Cudart>& runtime = get<nvidia::Cudart>();
  std::vector<std::string> lines;
  if (!runtime.report.usable()) return lines;
  for_each([&](const auto& loaded) {
    const LibraryReport& report = loaded.report;
    const int major = loaded.identity.cuda_major;
    if (report.name == "driver" || !report.usable() || major == 0 || major == major_) return;
    lines.push_back(report.name + " " + report.version + " (" + report.path +
                    ") was made for CUDA " + std::to_string(major) + ", cudart " +
                    runtime.report.version + " (" + runtime.report.path + ") for CUDA " +
                    std::to_string(major_) + ": install all of one of the two");
  });
  return lines;
}

template const LoadedLibrary<nvidia::Driver>& Loader::get();
template const LoadedLibrary<nvidia::Cudart>& Loader::get();
template const LoadedLibrary<nvidia::Nvrtc>& Loader::get();
template const LoadedLibrary<nvidia::NvJitLink>& Loader::get();
template const LoadedLibrary<nvidia::CublasLt>& Loader::get();
template const LoadedLibrary<nvidia::Cublas>& Loader::get();
template const LoadedLibrary<nvidia::Cudnn>& Loader::get();
template const LoadedLibrary<nvidia::Cusparse>& Loader::get();
template const LoadedLibrary<nvidia::Nccl>& Loader::get();
template const LoadedLibrary<nvidia::Nvml>& Loader::get();
template const LoadedLibrary<nvidia::Nvtx>& Loader::get();

}  // namespace deepbench::cuda
