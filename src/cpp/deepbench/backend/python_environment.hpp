// Finds the Python environment that contains the package. Header-only: each backend looks for
// libraries in that environment.
#pragma once

#include <string>

namespace deepbench::plugin {

// The library folder of the environment, which the packages of MKL and conda use: ".../lib" of
// ".../lib/python3.12/site-packages/deepbench". Empty for a package anywhere else: three folders
// above a source tree or the target of `pip install --target` may be /tmp or a home folder, whose
// libraries must not be loaded.
inline std::string environment_library_folder(const std::string& package) {
  const auto parent = [](const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  };
  const std::string packages = parent(package);
  const std::string name = packages.substr(packages.rfind('/') + 1);
  if (name != "site-packages" && name != "dist-packages") return "";
  return parent(parent(packages));
}

}  // namespace deepbench::plugin
