// A backend as a table of routes: which library runs which operation. Header-only, for backends
// with several libraries: a backend lists its routes in order of preference and implements
// Implementation once for each route.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/plugin.hpp"

#ifndef DEEPBENCH_VERSION
#define DEEPBENCH_VERSION "unknown"
#endif

namespace deepbench::plugin {

// Whether a library is usable, as describe() reports it.
struct LibraryFacts {
  std::string version, path;  // of a usable library; the path has no links
  std::string reason;         // why the library is not usable, with the cure; empty if it is
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

// For built-in kernels: their facts, and the name of the library in rows.
inline LibraryFacts builtin_library_facts() { return {DEEPBENCH_VERSION, "built in", ""}; }
inline std::string builtin_library_name(const std::string& library) {
  return library + " " DEEPBENCH_VERSION;
}

// One operation in one library.
class Implementation {
 public:
  virtual ~Implementation() = default;

  virtual LibraryFacts library() = 0;
  // Throws Error with the reason if the library cannot run the problem.
  virtual void supports(const Problem& problem, const Options& options) = 0;
  virtual uint64_t memory_needed(const Problem& problem, const Options& options) = 0;
  virtual std::vector<std::string> candidates(const Problem& problem, const Options& options) = 0;
  virtual std::unique_ptr<Kernel> prepare(const Problem& problem, const Options& options) = 0;
};

struct Route {
  std::string_view op;
  std::string_view library;
  bool vendor;  // whether it is a vendor's library, which users can choose and which may be absent
  Implementation& (*implementation)();
  // Whether the library competes with the other libraries of the operation that do. Unless the
  // options name a library, the candidates then come from all competing libraries and are called
  // LIBRARY:ID.
  bool competes = false;
};

// Emits default_library.OP for each operation: the first library of its routes that can be used.
template <class Routes>
void describe_default_libraries(const Routes& routes, Sink& sink) {
  std::string_view op;
  for (const Route& route : routes) {
    if (route.op == op || (route.vendor && !route.implementation().library().usable())) continue;
    op = route.op;
    sink.text("default_library." + std::string(op), std::string(route.library));
  }
}

// The library that verification asks for by name: an independent computation, never a default.
inline constexpr std::string_view kReferenceLibrary = "reference";

// The result of planning or naming a candidate, or nothing if the library refuses or fails to plan
// it: a failing candidate must not end the selection among the others.
template <class Planning>
auto if_possible(Planning planning) -> std::optional<decltype(planning())> {
  try {
    return planning();
  } catch (const Error& error) {
    if (error.status() == DEEPBENCH_DEVICE_LOST) throw;
    return std::nullopt;
  }
}

// The library that the options name, or the first usable library that supports the problem. If
// there is none, the constructor throws the reason of the first usable library.
class RouteSelection {
 public:
  template <class Routes>
  RouteSelection(const char* backend, const Routes& routes, const Problem& problem,
                 const Options& options)
      : backend_(backend), problem_(problem), options_(options) {
    for (const Route& route : routes) {
      routes_.push_back(&route);
      compete_ = compete_ || (route.competes && route.op == problem.op());
    }
    if (compete_) take_library_from_candidate();
    if (!options_.library.empty())
      select_named_library();
    else
      select_first_usable();
  }

  Implementation* operator->() const { return &chosen_->implementation(); }
  const Options& options() const { return options_; }  // as the chosen library takes them

  // The candidates of the chosen library. Where libraries compete and the options name none,
  // LIBRARY:ID of the chosen library and of every other competing library that is usable and
  // supports the problem. The lists are interleaved, the chosen library's first, so that a
  // selection that runs out of time has tried the first candidates of each library.
  std::vector<std::string> candidates() {
    if (!compete_ || !options_.library.empty()) return (*this)->candidates(problem_, options_);
    std::vector<std::vector<std::string>> lists = {ids_of(*chosen_)};
    for (const Route* route : routes_) {
      if (route->op != problem_.op() || !route->competes || route == chosen_) continue;
      std::string refusal;
      Implementation& one = route->implementation();
      if (!one.library().usable() || refuses(one, &refusal)) continue;
      if (auto ids = if_possible([&] { return ids_of(*route); })) lists.push_back(*ids);
    }
    return interleave(lists);
  }

 private:
  std::vector<std::string> ids_of(const Route& route) const {
    std::vector<std::string> ids = route.implementation().candidates(problem_, options_);
    for (std::string& id : ids) id.insert(0, std::string(route.library) + ":");
    return ids;
  }

  static std::vector<std::string> interleave(const std::vector<std::vector<std::string>>& lists) {
    std::vector<std::string> all;
    bool more = true;
    for (size_t turn = 0; more; ++turn) {
      more = false;
      for (const std::vector<std::string>& list : lists) {
        if (turn < list.size()) all.push_back(list[turn]);
        more = more || turn + 1 < list.size();
      }
    }
    return all;
  }

  void take_library_from_candidate() {
    const size_t colon = options_.candidate.find(':');
    if (colon == std::string::npos) return;
    const std::string library = options_.candidate.substr(0, colon);
    for (const Route* route : routes_) {
      if (route->op != problem_.op() || route->library != library) continue;
      if (!options_.library.empty() && options_.library != library)
        invalid("library=" + options_.library + " has no candidate '" + options_.candidate +
                "', which is one of " + library);
      options_.library = library;
      options_.candidate.erase(0, colon + 1);
      return;
    }
  }

  void select_named_library() {
    bool known = false;
    std::string all, of_op;  // names, for the message
    for (const Route* route : routes_) {
      const std::string name(route->library);
      const bool is_new = (all + " ").find(" " + name + " ") == std::string::npos;
      if (route->vendor && is_new) all += " " + name;  // users cannot choose the other routes
      known = known || name == options_.library;
      if (route->op != problem_.op()) continue;
      if (route->vendor) of_op += " " + name;
      if (name == options_.library) chosen_ = route;
    }
    if (!known) invalid("library=" + options_.library + ": the " + backend_ + " backend has" + all);
    if (!chosen_)
      unsupported(
          options_.library + " does not support " + problem_.op() + " in this backend; " +
          (of_op.empty() ? "no library can be chosen for it" : "its libraries are" + of_op));
    Implementation& named = chosen_->implementation();
    if (const LibraryFacts facts = named.library(); !facts.usable())
      unsupported(options_.library + ": " + facts.reason);
    named.supports(problem_, options_);
  }

  void select_first_usable() {
    // `preferred`: the libraries that are absent and precede the one that refused
    std::string absent, refusal, preferred;
    for (const Route* route : routes_) {
      if (route->op != problem_.op() || route->library == kReferenceLibrary) continue;
      Implementation& candidate = route->implementation();
      if (const LibraryFacts facts = candidate.library(); !facts.usable()) {
        absent += (absent.empty() ? "" : "; ") + std::string(route->library) + ": " + facts.reason;
      } else {
        if (refusal.empty()) preferred = absent;
        if (refuses(candidate, &refusal)) continue;
        chosen_ = route;
        return;
      }
    }
    if (!refusal.empty())
      unsupported(refusal + (preferred.empty() ? "" : "; not usable: " + preferred));
    if (!absent.empty()) unsupported("no library for " + problem_.op() + ": " + absent);
    unsupported("the " + backend_ + " backend does not support " + problem_.op());
  }

  // Whether the library refuses the problem; `reason` keeps the first refusal. Errors other than
  // "unsupported" are thrown, except for an invalid candidate after a refusal: the first library
  // knows the candidate and cannot run it, and the other libraries do not know it.
  bool refuses(Implementation& candidate, std::string* reason) {
    try {
      candidate.supports(problem_, options_);
      return false;
    } catch (const Error& error) {
      const bool unknown = error.status() == DEEPBENCH_INVALID && !reason->empty();
      if (error.status() != DEEPBENCH_UNSUPPORTED && !unknown) throw;
      if (reason->empty()) *reason = error.what();
      return true;
    }
  }

  std::string backend_;
  std::vector<const Route*> routes_;
  bool compete_ = false;
  const Problem& problem_;
  Options options_;
  const Route* chosen_ = nullptr;
};

// A backend that answers every question about a problem with the library that it chooses for the
// problem. Collectives use the ranks that join() receives (ranks.hpp).
class RoutedBackend : public Backend {
 public:
  void join(const deepbench_group& group) override { join_ranks(group); }
  void supports(const Problem& problem, const Options& options) final {
    select_route(problem, options);
  }
  uint64_t memory_needed(const Problem& problem, const Options& options) final {
    const RouteSelection chosen = select_route(problem, options);
    return chosen->memory_needed(problem, chosen.options());
  }
  std::vector<std::string> candidates(const Problem& problem, const Options& options) final {
    return select_route(problem, options).candidates();
  }
  std::unique_ptr<Kernel> prepare(const Problem& problem, const Options& options) final {
    const RouteSelection chosen = select_route(problem, options);
    return chosen->prepare(problem, chosen.options());
  }

 protected:
  // `routes` is in order of preference within an operation.
  RoutedBackend(const char* name, std::vector<Route> routes)
      : name_(name), routes_(std::move(routes)) {}

  RouteSelection route(const Problem& problem, const Options& options) const {
    return {name_, routes_, problem, options};
  }
  // Override it to check the device first, or to add to the reason of a refusal.
  virtual RouteSelection select_route(const Problem& problem, const Options& options) const {
    return route(problem, options);
  }

  // Emits the facts of the vendors' libraries, except the libraries in `described`.
  void describe_libraries(Sink& sink, const std::vector<std::string>& described = {}) const {
    for (const Route& route : routes_) {
      const std::string name(route.library);
      if (route.vendor && std::find(described.begin(), described.end(), name) == described.end())
        route.implementation().library().describe(name, sink);
    }
  }

 private:
  const char* const name_;
  const std::vector<Route> routes_;
};

// Completes the reason for a problem that is unsupported in its precision: lists those of
// `precisions` in which it is supported, as "; bfloat16 and float work here", or returns "".
// `supports` throws Error for an unsupported problem.
template <class Supports>
std::string working_precisions(const Problem& problem, const std::vector<const char*>& precisions,
                               Supports supports) {
  const deepbench_values given = problem.values().raw();
  std::vector<deepbench_value> items(given.items, given.items + given.count);
  const auto precision = std::find_if(items.begin(), items.end(), [](const auto& item) {
    return std::string_view(item.name) == "precision";
  });
  if (precision == items.end()) return "";
  std::string names;
  size_t count = 0;
  for (const char* name : precisions) {
    if (problem.text("precision") == name) continue;
    precision->text = name;
    const Problem other({problem.op().c_str(), {items.data(), items.size()}});
    if (!if_possible([&] { return supports(other), true; })) continue;
    names += (count ? " and " : "") + std::string(name);
    ++count;
  }
  return count ? "; " + names + (count > 1 ? " work" : " works") + " here" : "";
}

// Throws invalid for a candidate that the library does not have.
[[noreturn]] inline void reject_candidate(const std::string& library,
                                          const std::string& candidate) {
  invalid(library + " has no candidate '" + candidate + "' for this problem");
}

// Throws invalid unless `candidate` is one of `ids` or "", the library's default.
inline void require_candidate(const std::string& library, const std::vector<std::string>& ids,
                              const std::string& candidate) {
  if (!candidate.empty() && std::find(ids.begin(), ids.end(), candidate) == ids.end())
    reject_candidate(library, candidate);
}

}  // namespace deepbench::plugin
