// dlopen with a search order and reasons.
//
// RTLD_LOCAL: what one library needs of another (cuBLAS of cuBLASLt, cuDNN of NVRTC) the loader
// finds by its file's name among those that are open already, whatever their flags, which is why
// the order of loading matters; and two majors of CUDA in one process do not see each other's
// symbols. RTLD_NOW: what is missing is a reason here and not the end of the process in a call.
#include "shared_library.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <memory>

#include "deepbench/backend/python_environment.hpp"

namespace deepbench::cuda {
namespace {

constexpr char kSystemLoader[] = "the loader";

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string resolve_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string backend_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&toolkit_locations), &info) || !info.dli_fname) return ".";
  const std::string file = resolve_links(info.dli_fname);
  return file.substr(0, file.rfind('/'));
}

std::vector<std::string> glob_paths(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// 13 from ".../cuda-13.0/lib64" or ".../nvidia/cu13/lib"; 0 if `text` is not there.
int number_after(const std::string& path, const std::string& text) {
  const size_t at = path.find(text);
  const size_t digits = at + text.size();
  if (at == std::string::npos || digits >= path.size() || !std::isdigit(path[digits])) return 0;
  return std::atoi(path.c_str() + digits);
}

// cuDNN, NCCL and cuSPARSE have one file name on every major: the folder tells.
int major_of_folder(const std::string& folder) {
  const std::string real = resolve_links(folder);
  for (const char* text : {"/nvidia/cu", "/cuda-"})
    if (const int major = number_after(real, text)) return major;
  for (const char* package : {"cublas", "cuda_nvrtc", "cuda_runtime", "cusparse", "nvjitlink"})
    if (real.find("/nvidia/" + std::string(package) + "/lib") != std::string::npos) return 12;
  const std::vector<std::string> runtimes = glob_paths(folder + "/libcudart.so.[0-9][0-9]");
  return runtimes.size() == 1 ? number_after(runtimes.front(), "libcudart.so.") : 0;
}

void add(std::vector<Location>& locations, const std::string& path, const std::string& found_by) {
  if (exists(path)) locations.push_back(location_of(path, found_by));
}

void add_user_locations(std::vector<Location>& locations) {
  constexpr char kVariable[] = "DEEPBENCH_CUDA_LIBRARY_PATH";
  const char* value = std::getenv(kVariable);
  std::string rest = value ? value : "";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    if (const std::string path = rest.substr(0, colon); !path.empty())
      add(locations, path, kVariable);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
}

// NVIDIA's wheels are beside our folder, conda's packages in the environment's folder of libraries.
void add_backend_environment(std::vector<Location>& locations) {
  constexpr char kFoundBy[] = "beside the backend";
  const std::string backend = backend_folder();
  add(locations, backend, kFoundBy);
  for (const std::string& folder : glob_paths(backend + "/../nvidia/*/lib"))
    add(locations, folder, kFoundBy);
  if (const std::string libraries = plugin::environment_library_folder(backend); !libraries.empty())
    add(locations, libraries, kFoundBy);
}

void add_toolkit(std::vector<Location>& locations) {
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root && *root)
      add(locations, std::string(root) + "/lib64", variable);
  add(locations, "/usr/local/cuda/lib64", "the toolkit's usual folder");
}

std::string try_to_open(SharedLibrary& library, const std::string& file,
                        const std::function<std::string(const SharedLibrary&)>& reject) {
  const auto stub = [](const std::string& path) {
    return path + " is the toolkit's stub, not the driver's library";
  };
  if (is_stub(file)) return stub(file);
  if (const std::string error = library.open(file); !error.empty())
    return error.find(file) == std::string::npos ? file + ": " + error : error;
  return is_stub(library.path()) ? stub(library.path()) : reject(library);
}

}  // namespace

bool is_stub(const std::string& path) { return path.find("/stubs/") != std::string::npos; }

std::string file_at(const Location& location, const std::string& name) {
  if (location.path.empty()) return "";
  const std::string file = base_name(location.path);
  const bool is_it = file == name || file.rfind(name + ".", 0) == 0;  // libcudart.so.13.0.96
  const std::string path = is_it ? location.path : location.path + "/" + name;
  // Resolved, since what it loads itself is beside the file and not beside a link.
  return exists(path) ? resolve_links(path) : "";
}

Location location_of(const std::string& path, const std::string& found_by) {
  return {path, found_by, major_of_folder(path)};
}

std::vector<Location> toolkit_locations() {
  std::vector<Location> locations;
  add_user_locations(locations);
  add_backend_environment(locations);
  locations.push_back({"", kSystemLoader, 0});
  add_toolkit(locations);
  return locations;
}

std::vector<Location> driver_locations() {
  std::vector<Location> locations;
  add_user_locations(locations);
  locations.push_back({"", kSystemLoader, 0});
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"})
    add(locations, folder, kSystemLoader);
  return locations;
}

void* SharedLibrary::find(const char* symbol) const {
  return handle_ ? dlsym(handle_, symbol) : nullptr;
}

std::string SharedLibrary::open(const std::string& file) {
  dlerror();
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    const char* text = dlerror();
    return text ? text : "unknown error of the loader";
  }
  link_map* map = nullptr;
  const bool known = dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name;
  path_ = resolve_links(known ? map->l_name : file);
  return "";
}

void SharedLibrary::close() {
  if (handle_) dlclose(handle_);
  handle_ = nullptr;
}

SearchResult find_library(const std::vector<Location>& locations,
                          const std::vector<std::string>& names,
                          const std::function<std::string(const SharedLibrary&)>& reject) {
  std::string failure;
  for (const Location& location : locations)
    for (const std::string& name : names) {
      const std::string file = location.path.empty() ? name : file_at(location, name);
      if (file.empty()) continue;
      SharedLibrary library;
      const std::string reason = try_to_open(library, file, reject);
      if (reason.empty()) return {library, location.found_by, ""};
      const bool not_found = location.path.empty() && reason.rfind(name + ": cannot open", 0) == 0;
      library.close();
      if (failure.empty() && !not_found) failure = reason;
    }
  return {{}, "", failure};
}

}  // namespace deepbench::cuda
