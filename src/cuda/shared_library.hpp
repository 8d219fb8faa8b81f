// Opens other people's shared libraries at run time: where they are looked for, and what came of
// it. Which libraries, and which of several, is loader.hpp's matter.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace deepbench::cuda {

// Where libraries may be.
struct Location {
  std::string path;      // a folder or a file; empty: wherever the system's loader looks
  std::string found_by;  // how reports call it
  int cuda_major = 0;    // what a folder's name or content says; 0: nothing, or several
};

// In order of search. For libraries of the toolkit: the folders and files named by
// DEEPBENCH_CUDA_LIBRARY_PATH (separated by colons), where NVIDIA's Python packages install them in
// this backend's environment, the loader's own places, the toolkit's usual folders. For those of
// the driver: the first and third of these, then the folders in which distributions put them.
std::vector<Location> toolkit_locations();
std::vector<Location> driver_locations();

Location location_of(const std::string& path, const std::string& found_by);

class SharedLibrary {
 public:
  bool loaded() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }  // the file, links resolved
  void* find(const char* symbol) const;              // nullptr if there is none

  // "": loaded. Otherwise the loader's text. A name without a slash is looked for by the loader.
  std::string open(const std::string& file);
  // Only for one that nothing was called of but to see whether it is the right one; all others
  // stay open for ever.
  void close();

 private:
  void* handle_ = nullptr;
  std::string path_;
};

// What a search found, or why nothing.
struct SearchResult {
  SharedLibrary library;
  std::string found_by;
  std::string failure;  // with the first file that was there and could not be used
};

// Opens the first file, by place and then by name, that is no stub and that `reject` returns
// no reason against.
SearchResult find_library(const std::vector<Location>& locations,
                          const std::vector<std::string>& names,
                          const std::function<std::string(const SharedLibrary&)>& reject);

// The file, links resolved, that is there under this name; "" if none, or if the loader looks.
std::string file_at(const Location& location, const std::string& name);

// The toolkit brings stubs of the driver's libraries, to link with where there is no driver. They
// can be loaded, and every function fails.
bool is_stub(const std::string& path);

}  // namespace deepbench::cuda
