// One operation in one library: the interface that every file of a backend's ops/ implements, and
// the names of its plans' candidates. Header-only, for backends.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"

#ifndef DEEPBENCH_VERSION
#define DEEPBENCH_VERSION "unknown"
#endif

namespace deepbench::plugin {

// Whether a library is usable, as describe() reports it.
struct LibraryFacts {
  std::string version, path;  // of a usable library; the path has no links
  std::string reason;  // the reason why the library is not usable, with the remedy; empty if it is
  std::string found_by = {};  // the place of the search (shared_library.hpp), if there was a search
  bool usable() const { return reason.empty(); }

  // Emits the facts under the library's name.
  void describe(const std::string& name, Sink& sink) const {
    const std::string prefix = "library." + name;
    if (!usable()) return sink.text(prefix + ".reason", reason);
    sink.text(prefix + ".version", version);
    sink.text(prefix + ".path", path);
    if (!found_by.empty()) sink.text(prefix + ".found_by", found_by);
  }
};

inline constexpr const char* kBuiltinLibrary = "builtin";
inline LibraryFacts builtin_library_facts() { return {DEEPBENCH_VERSION, "built in", ""}; }
// The name of a library of built-in kernels in rows, such as "skinny 0.1.0".
inline std::string built_in_library_with_version(const std::string& library) {
  return library + " " DEEPBENCH_VERSION;
}

// One operation in one library.
class Implementation {
 public:
  virtual ~Implementation() = default;

  virtual LibraryFacts library() = 0;
  // Binds the problem to the library's first choice of algorithm. Throws Error with the reason if
  // the library cannot run it.
  virtual std::unique_ptr<Plan> plan(const Problem& problem, const Options& options) = 0;
  // Like plan(), for a library that competes with the chosen one. The plan is asked for candidates,
  // so that a library whose first choice takes long to build may build it, or refuse the problem,
  // when the plan is described or prepared.
  virtual std::unique_ptr<Plan> plan_contender(const Problem& problem, const Options& options) {
    return plan(problem, options);
  }
};

// The result of planning or naming a candidate, or nothing if the library refuses or fails to plan
// it: a failing candidate must not end the selection among the others.
template <class Planning>
auto plan_if_supported(Planning planning) -> std::optional<decltype(planning())> {
  try {
    return planning();
  } catch (const Error& error) {
    if (error.status() == DEEPBENCH_DEVICE_LOST) throw;
    return std::nullopt;
  }
}

// Throws invalid for a candidate that the library does not have.
[[noreturn]] inline void reject_candidate(const std::string& library,
                                          const std::string& candidate) {
  invalid(library + " has no candidate '" + candidate + "' for this problem");
}

// Throws invalid unless `candidate` is one of `ids`.
inline void require_candidate(const std::string& library, const std::vector<std::string>& ids,
                              const std::string& candidate) {
  if (std::find(ids.begin(), ids.end(), candidate) == ids.end())
    reject_candidate(library, candidate);
}

}  // namespace deepbench::plugin
