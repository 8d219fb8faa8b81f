// The vendors' libraries of this backend. Each is searched for and opened when it is constructed;
// if it is absent, it has a reason.
#pragma once

#include <string>
#include <vector>

#include "deepbench/backend/implementation.hpp"
#include "deepbench/backend/shared_library.hpp"

namespace deepbench::cpu {

class SharedLibrary : public plugin::SharedLibrary {
 public:
  // Opens the first of `names` that exists and can be loaded, at library_locations(). `cure`
  // becomes part of the reason if none exists. The library stays open until the process ends.
  SharedLibrary(const std::vector<std::string>& names, const std::string& cure,
                SymbolScope scope = SymbolScope::kLocal);

  // The reason why it is not loaded; empty if it is.
  const std::string& reason() const { return reason_; }
  plugin::LibraryFacts facts(const std::string& version) const;

  // Makes a library unusable because it lacks something.
  void reject(const std::string& reason);

 private:
  std::string found_by_, reason_;
};

// The places that are searched, in order: those that the variable DEEPBENCH_CPU_LIBRARY_PATH names,
// this backend's Python environment, and the loader's folders.
std::vector<plugin::LibraryLocation> library_locations();

}  // namespace deepbench::cpu
