// Searches for libraries with all cores in the thread's mask, and reports reasons.
#include "shared_library.hpp"

#include "affinity.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

std::vector<plugin::LibraryLocation> library_locations() {
  return plugin::host_library_locations(reinterpret_cast<const void*>(&library_locations));
}

SharedLibrary::SharedLibrary(const std::vector<std::string>& names, const std::string& cure,
                             SymbolScope scope) {
  // Threads of the library inherit the mask of the thread that loads it, which an OpenMP run time
  // may have narrowed to one core.
  const ScopedAffinity all(topology().cpus_for_threads(topology().hardware_threads()));
  const plugin::SearchResult found = plugin::find_library(
      library_locations(), names, scope, [](const plugin::SharedLibrary&) { return ""; });
  plugin::SharedLibrary::operator=(found.library);
  found_by_ = found.found_by;
  if (found.library.loaded()) return;
  reason_ = found.failure;
  if (reason_.empty()) reason_ = names.front() + " was not found; " + cure;
  if (found.failure.find("libgomp") != std::string::npos)
    reason_ += "; install GCC's OpenMP run time (Debian, Ubuntu: apt install libgomp1)";
}

plugin::LibraryFacts SharedLibrary::facts(const std::string& version) const {
  if (!loaded()) return {"", "", reason_};
  return {version, path(), "", found_by_};
}

void SharedLibrary::reject(const std::string& reason) {
  plugin::SharedLibrary::operator=(plugin::SharedLibrary());  // the library stays open
  reason_ = reason;
}

}  // namespace deepbench::cpu
