// Opens the vendors' shared libraries at run time: where to search, which file to take, and the
// reason if no file is usable. Header-only, for backends.
//
// RTLD_NOW: a missing symbol is an error of open() instead of the end of the process in a later
// call. RTLD_LOCAL: two versions of a library in one process do not see each other's symbols. The
// loader still resolves the dependencies of a library by file name among the open libraries,
// whatever their flags, so that the order of opening matters.
#pragma once

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/backend/python_environment.hpp"

namespace deepbench::plugin {

inline std::string resolve_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

inline std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

inline std::vector<std::string> glob_paths(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

class SharedLibrary {
 public:
  // kGlobal: libraries that are opened later, such as this one's own plugins, find its symbols.
  enum class SymbolScope { kLocal, kGlobal };

  bool loaded() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }  // the path of the file, with links resolved
  std::string folder() const { return folder_of(path_); }

  // nullptr if the library has no such symbol.
  void* find(const std::string& symbol) const {
    return handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
  }
  template <class Function>
  bool bind(Function& function, const std::string& symbol) const {
    function = reinterpret_cast<Function>(find(symbol));
    return function != nullptr;
  }

  // Returns "" for success, otherwise the loader's error. The loader searches its own folders for a
  // name without a slash.
  std::string open(const std::string& file, SymbolScope scope = SymbolScope::kLocal) {
    dlerror();
    handle_ =
        dlopen(file.c_str(), RTLD_NOW | (scope == SymbolScope::kLocal ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!handle_) {
      const char* const text = dlerror();
      return text ? text : "unknown error of the loader";
    }
    link_map* map = nullptr;
    const bool known = dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name;
    path_ = resolve_links(known ? map->l_name : file);
    return "";
  }
  // Closes a rejected library. A library that is used stays open until the process ends.
  void close() {
    if (handle_) dlclose(handle_);
    handle_ = nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

// A place where libraries may be.
struct LibraryLocation {
  std::string path;      // a folder or a file; empty: wherever the system's loader looks
  std::string found_by;  // the name of the place in reports
};

// The folders and files that the user names in an environment variable, separated by colons.
inline std::vector<LibraryLocation> user_locations(const char* variable) {
  std::vector<LibraryLocation> locations;
  const char* const value = std::getenv(variable);
  std::string rest = value ? value : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    if (colon != 0) locations.push_back({rest.substr(0, colon), variable});
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return locations;
}

// The folder of the backend, the folders of Python packages beside it ("nvidia/*/lib"), and the
// libraries of its Python environment. `in_backend` is the address of one of the backend's
// functions.
inline std::vector<LibraryLocation> backend_locations(const void* in_backend,
                                                      const std::string& packages) {
  constexpr char kFoundBy[] = "beside the backend";
  Dl_info info{};
  const bool known = dladdr(in_backend, &info) != 0 && info.dli_fname;
  const std::string backend = known ? folder_of(resolve_links(info.dli_fname)) : ".";
  std::vector<LibraryLocation> locations = {{backend, kFoundBy}};
  for (const std::string& folder : glob_paths(backend + "/../" + packages))
    locations.push_back({folder, kFoundBy});
  if (const std::string libraries = environment_library_folder(backend); !libraries.empty())
    locations.push_back({libraries, kFoundBy});
  return locations;
}

inline LibraryLocation loader_location() { return {"", "the loader"}; }

// Where the libraries of the host are searched, in order: the places that the variable
// DEEPBENCH_CPU_LIBRARY_PATH names, the Python environment, and the loader's folders. `in_package`
// is the address of a function of the core or of the CPU backend, which lie in one folder.
inline std::vector<LibraryLocation> host_library_locations(const void* in_package) {
  std::vector<LibraryLocation> all = user_locations("DEEPBENCH_CPU_LIBRARY_PATH");
  for (const LibraryLocation& one : backend_locations(in_package, "scipy_openblas32/lib"))
    all.push_back(one);
  all.push_back(loader_location());
  return all;
}

// The file of this name at the location, with links resolved: a library looks for its parts beside
// the file, not beside a link to it. Empty if there is no such file. A location that is itself a
// file matches every name with which its own name begins: "libcudart.so.13.0.96" matches
// "libcudart.so.13".
inline std::string library_file_at(const LibraryLocation& location, const std::string& name) {
  if (location.path.empty()) return "";
  const std::string file = location.path.substr(location.path.rfind('/') + 1);
  const bool is_it = file == name || file.rfind(name + ".", 0) == 0;
  const std::string path = is_it ? location.path : location.path + "/" + name;
  return access(path.c_str(), F_OK) == 0 ? resolve_links(path) : "";
}

// The result of a search, or the reason why nothing was found.
struct SearchResult {
  SharedLibrary library;
  std::string found_by;
  // The reason why the first existing file is not usable; empty: there is no file.
  std::string failure;
};

// Opens the first usable file, in the order of locations and then of names. `reject` returns the
// reason why an open library is not usable, or "".
inline SearchResult find_library(const std::vector<LibraryLocation>& locations,
                                 const std::vector<std::string>& names,
                                 SharedLibrary::SymbolScope scope,
                                 const std::function<std::string(const SharedLibrary&)>& reject) {
  std::string failure;
  for (const LibraryLocation& location : locations)
    for (const std::string& name : names) {
      const std::string file = location.path.empty() ? name : library_file_at(location, name);
      if (file.empty()) continue;
      SharedLibrary library;
      std::string reason = library.open(file, scope);
      const bool is_absent = location.path.empty() && reason.rfind(name + ": cannot open", 0) == 0;
      if (library.loaded())
        reason = reject(library);
      else if (reason.find(file) == std::string::npos)
        reason = file + ": " + reason;
      if (reason.empty()) return {library, location.found_by, ""};
      library.close();
      if (failure.empty() && !is_absent) failure = reason;
    }
  return {{}, "", failure};
}

}  // namespace deepbench::plugin
