// Where NVIDIA's libraries are looked for. Which libraries, and which of several, loader.hpp
// decides.
#pragma once

#include <string>
#include <vector>

#include "deepbench/backend/shared_library.hpp"

namespace deepbench::cuda {

using Location = plugin::LibraryLocation;
using plugin::SearchResult;
using plugin::SharedLibrary;

// In order of search. For libraries of the toolkit: the folders and files that the variable
// DEEPBENCH_CUDA_LIBRARY_PATH names, this backend's Python environment with NVIDIA's packages, the
// loader's folders, the toolkit's usual folders. For libraries of the driver: the first and third
// of these, then the folders in which distributions put them.
std::vector<Location> toolkit_locations();
std::vector<Location> driver_locations();

// The major of CUDA that a folder's name or content shows: cuDNN, NCCL and cuSPARSE have one file
// name on every major. 0: neither shows one.
int major_of_folder(const std::string& folder);

}  // namespace deepbench::cuda
