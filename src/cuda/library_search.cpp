// Defines the search order, and finds the major of CUDA of a folder.
#include "library_search.hpp"

#include <cctype>
#include <cstdlib>

namespace deepbench::cuda {
namespace {

// The number after `text` in a path, such as 13 for ".../cuda-13.0/lib64" or ".../nvidia/cu13/lib";
// 0 if the path does not contain `text`.
int number_after(const std::string& path, const std::string& text) {
  const size_t at = path.find(text);
  const size_t digits = at + text.size();
  if (at == std::string::npos || digits >= path.size() || !std::isdigit(path[digits])) return 0;
  return std::atoi(path.c_str() + digits);
}

std::vector<Location> variable_locations() {
  return plugin::user_locations("DEEPBENCH_CUDA_LIBRARY_PATH");
}

}  // namespace

int major_of_folder(const std::string& folder) {
  const std::string real = plugin::resolve_links(folder);
  for (const char* text : {"/nvidia/cu", "/cuda-"})
    if (const int major = number_after(real, text)) return major;
  for (const char* package : {"cublas", "cuda_nvrtc", "cuda_runtime", "cusparse", "nvjitlink"})
    if (real.find("/nvidia/" + std::string(package) + "/lib") != std::string::npos) return 12;
  const std::vector<std::string> runtimes = plugin::glob_paths(folder + "/libcudart.so.[0-9][0-9]");
  return runtimes.size() == 1 ? number_after(runtimes.front(), "libcudart.so.") : 0;
}

std::vector<Location> toolkit_locations() {
  std::vector<Location> locations = variable_locations();
  for (const Location& location :
       plugin::backend_locations(reinterpret_cast<const void*>(&toolkit_locations), "nvidia/*/lib"))
    locations.push_back(location);
  locations.push_back(plugin::loader_location());
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root && *root)
      locations.push_back({std::string(root) + "/lib64", variable});
  locations.push_back({"/usr/local/cuda/lib64", "the toolkit's usual folder"});
  return locations;
}

std::vector<Location> driver_locations() {
  std::vector<Location> locations = variable_locations();
  locations.push_back(plugin::loader_location());
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"})
    locations.push_back({folder, plugin::loader_location().found_by});
  return locations;
}

}  // namespace deepbench::cuda
