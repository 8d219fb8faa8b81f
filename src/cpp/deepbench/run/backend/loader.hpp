// Loads plugins and finds them: beside this library, in DEEPBENCH_BACKEND_PATH, where told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace deepbench {

struct FoundBackend {
  std::string name;  // from the file's name, libdeepbench_NAME.so
  std::string path;
};

// The folder that holds this library, the plugins, include/ and lib/cmake/.
DEEPBENCH_API std::string package_directory();

// Plugins that could be loaded, not loaded; the first of a name wins. `paths` are files or
// folders, looked at before DEEPBENCH_BACKEND_PATH and the package.
DEEPBENCH_API std::vector<FoundBackend> find_backends(const std::vector<std::string>& paths = {});

// Places in DEEPBENCH_BACKEND_PATH that hold no backend, one line each with the reason.
DEEPBENCH_API std::vector<std::string> search_warnings();

// Loads the plugin file. Throws BackendUnavailable in one line: not found, not a plugin, another
// major ABI, a table without the slots that every backend has.
DEEPBENCH_API Backend load_plugin(const std::string& path);

// Loads by name or path. "auto" is the first of cuda, cpu that has a device; `why` then says why
// the others were passed over.
DEEPBENCH_API Backend load_backend(const std::string& name,
                                   const std::vector<std::string>& paths = {},
                                   std::string* why = nullptr);

}  // namespace deepbench
