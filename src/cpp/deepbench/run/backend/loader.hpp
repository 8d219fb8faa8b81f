// Finds and loads plugins: beside this library, in DEEPBENCH_BACKEND_PATH, and at given paths.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench {

struct FoundBackend {
  std::string name;  // taken from the name of the file, libdeepbench_NAME.so
  std::string path;
};

// The folder that holds this library, the plugins, include/ and lib/cmake/.
DEEPBENCH_API std::string package_directory();

// Lists plugin files without loading them; the first of a name wins. `paths` are files or folders,
// searched before DEEPBENCH_BACKEND_PATH and the package.
DEEPBENCH_API std::vector<FoundBackend> find_backends(const std::vector<std::string>& paths = {});

// The paths in DEEPBENCH_BACKEND_PATH that hold no backend, one line each with the reason.
DEEPBENCH_API std::vector<std::string> search_warnings();

// Loads the plugin file. Throws BackendUnavailable in one line: not found, not a plugin, another
// major ABI, a table without the slots that every backend has.
DEEPBENCH_API Backend load_plugin(const std::string& path);

// Loads a backend by name or path. "auto" selects the backend of the highest priority that has a
// device here, and `why` receives the reason why those of a higher priority were skipped.
DEEPBENCH_API Backend load_backend(const std::string& name,
                                   const std::vector<std::string>& paths = {},
                                   std::string* why = nullptr);

}  // namespace deepbench
