// Finds the Python environment that a package is installed in. Header-only: each backend looks for
// libraries in its environment.
#pragma once

#include <string>

namespace deepbench::plugin {

// The folder of libraries of the environment, where the packages of MKL and of conda install them:
// ".../lib" for ".../lib/python3.12/site-packages/deepbench". Empty for a package that is in no
// environment: three folders above a source tree or above the target of `pip install --target` may
// be /tmp or a home folder, from which nothing may be loaded.
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
