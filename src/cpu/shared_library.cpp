// dlopen with a search order and reasons.
#include "shared_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "affinity.hpp"
#include "deepbench/backend/python_environment.hpp"
#include "system_files.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string plugin_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&library_folders), &info) || !info.dli_fname) return ".";
  return folder_of(resolved(info.dli_fname));
}

// The loader's text, and what to do when the OpenMP run time is what it misses.
std::string load_error() {
  const char* text = dlerror();
  std::string error = text ? text : "unknown error of the loader";
  if (error.find("libgomp") != std::string::npos)
    error += "; install GCC's OpenMP run time (Debian, Ubuntu: apt install libgomp1)";
  return error;
}

}  // namespace

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("DEEPBENCH_CPU_LIBRARY_PATH"))
    for (const std::string& folder : split(path, ':'))
      if (!folder.empty()) folders.push_back(folder);
  const std::string folder_of_plugin = plugin_folder();
  folders.push_back(folder_of_plugin);
  folders.push_back(folder_of_plugin + "/../scipy_openblas32/lib");
  if (const std::string libraries = plugin::environment_library_folder(folder_of_plugin);
      !libraries.empty())
    folders.push_back(libraries);
  return folders;
}

SharedLibrary::SharedLibrary(std::vector<std::string> names, std::string cure,
                             SymbolScope symbols) {
  for (const std::string& folder : library_folders())
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      if (access(path.c_str(), F_OK) == 0 && open(path, symbols)) return;
    }
  for (const std::string& name : names)
    if (open(name, symbols)) return;
  // A file that is there and broken says more than one that is nowhere.
  if (reason_.empty()) reason_ = names.front() + " was not found; " + cure;
}

bool SharedLibrary::open(const std::string& path, SymbolScope symbols) {
  // Threads of the library inherit the mask of the thread that loads it, which an OpenMP run time
  // may have narrowed to one core by then.
  const ScopedAffinity all(topology().cpus_for_threads(topology().hardware_threads()));
  dlerror();
  handle_ =
      dlopen(path.c_str(), RTLD_NOW | (symbols == SymbolScope::kLocal ? RTLD_LOCAL : RTLD_GLOBAL));
  const bool is_file = path.find('/') != std::string::npos;
  if (!handle_) {
    if (is_file && reason_.empty()) reason_ = load_error();
    return false;
  }
  link_map* map = nullptr;
  const bool known = dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name;
  path_ = resolved(known ? map->l_name : path);
  reason_.clear();
  return true;
}

std::string SharedLibrary::folder() const { return folder_of(path_); }

void* SharedLibrary::find(const std::string& symbol) const {
  return handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
}

void SharedLibrary::reject(const std::string& reason) {
  handle_ = nullptr;
  reason_ = reason;
}

}  // namespace deepbench::cpu
