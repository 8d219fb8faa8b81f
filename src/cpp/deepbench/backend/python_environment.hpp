// What the place of a package says of the Python environment that it is installed in. Header-only:
// each backend looks for libraries in its environment.
#pragma once

#include <string>

namespace deepbench::plugin {

// The folder of the environment's own libraries, where MKL's packages and conda's put theirs:
// ".../lib" of ".../lib/python3.12/site-packages/deepbench". Empty for a package anywhere else:
// three folders above a source tree or the target of `pip install --target` may be /tmp or a home,
// and what lies there is not to be loaded.
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
