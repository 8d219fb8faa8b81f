// The search order for NVIDIA's libraries. loader.hpp decides which libraries to search, and which
// of several to take.
#pragma once

#include <string>
#include <vector>

#include "deepbench/backend/shared_library.hpp"

namespace deepbench::cuda {

using Location = plugin::LibraryLocation;
using plugin::SearchResult;
using plugin::SharedLibrary;

// The locations in order of search. For libraries of the toolkit: the folders and files in the
// variable DEEPBENCH_CUDA_LIBRARY_PATH, the Python environment of this backend with NVIDIA's
// packages, the folders of the loader, and the usual folders of the toolkit. For libraries of the
// driver: the folders and files in the variable, the folders of the loader, and the folders in
// which distributions install them.
std::vector<Location> toolkit_locations();
std::vector<Location> driver_locations();

// The major of CUDA that the name or the content of a folder shows; 0 if neither shows one. cuDNN,
// NCCL and cuSPARSE have the same file name for every major.
int major_of_folder(const std::string& folder);

}  // namespace deepbench::cuda
