// A backend as a table of routes from operations to libraries. Header-only, for backends with
// several libraries: they list routes in order of preference and derive from Implementation for
// each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/plugin.hpp"

#ifndef DEEPBENCH_VERSION
#define DEEPBENCH_VERSION "unknown"
#endif

namespace deepbench::plugin {

// Whether a library is usable, as describe() reports it.
struct LibraryFacts {
  std::string version, path;  // of a usable library
  std::string reason;         // why it is unusable; empty if it is usable
  bool usable() const { return reason.empty(); }
};

// The facts of the built-in kernels, and their name in rows.
inline LibraryFacts builtin_library_facts() { return {DEEPBENCH_VERSION, "built in", ""}; }
inline std::string builtin_library_name(const std::string& library) {
  return library + " " DEEPBENCH_VERSION;
}

// One operation in one library.
class Implementation {
 public:
  virtual ~Implementation() = default;

  virtual LibraryFacts library() = 0;
  // Throws Error with the reason if it cannot run the problem.
  virtual void supports(const Problem& problem, const Options& options) = 0;
  virtual uint64_t memory_needed(const Problem& problem, const Options& options) = 0;
  virtual std::vector<std::string> candidates(const Problem& problem, const Options& options) = 0;
  virtual std::unique_ptr<Kernel> prepare(const Problem& problem, const Options& options) = 0;
};

struct Route {
  std::string_view op;
  std::string_view library;
  bool vendor;  // a vendor's library, which may be absent
  Implementation& (*implementation)();
  // The library competes with others of the same operation: candidates of all competing libraries
  // are listed together, as LIBRARY:ID unless the options name a library.
  bool competes = false;
};

// The name of the reference for verification: an independent computation that is never a default.
inline constexpr std::string_view kReferenceLibrary = "reference";

// The result of planning or naming a candidate. A candidate that a library cannot plan is skipped,
// so that the others remain available.
template <class Planning>
auto if_possible(Planning planning) -> std::optional<decltype(planning())> {
  try {
    return planning();
  } catch (const Error& error) {
    if (error.status() == DEEPBENCH_DEVICE_LOST) throw;
    return std::nullopt;
  }
}

// Chooses the requested library, or the first usable one that supports the problem. If there is
// none, throws the reason of the first usable one.
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
  const Options& options() const { return options_; }  // as the library receives them

  // The library's candidates. If libraries compete and the options name none, the candidates of all
  // usable competitors as LIBRARY:ID, alternating and starting with the chosen library, so that a
  // search that ends early has tried the first of each.
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
      if (route->vendor && is_new) all += " " + name;  // users cannot choose the others
      known = known || name == options_.library;
      if (route->op != problem_.op()) continue;
      if (route->vendor) of_op += " " + name;
      if (name == options_.library) chosen_ = route;
    }
    if (!known) invalid("library=" + options_.library + ": the " + backend_ + " backend has" + all);
    if (!chosen_)
      unsupported(options_.library + " does not do " + problem_.op() + " here; " +
                  (of_op.empty() ? "it takes no library" : "there is" + of_op));
    Implementation& named = chosen_->implementation();
    if (const LibraryFacts facts = named.library(); !facts.usable())
      unsupported(options_.library + ": " + facts.reason);
    named.supports(problem_, options_);
  }

  void select_first_usable() {
    std::string absent, refusal, preferred;  // absent libraries that precede the refusing one
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
      unsupported(refusal + (preferred.empty() ? "" : "; there is no " + preferred));
    if (!absent.empty()) unsupported("no library for " + problem_.op() + ": " + absent);
    unsupported("the " + backend_ + " backend does not do " + problem_.op());
  }

  // Keeps the first reason. A failure other than "unsupported" ends the choice, unless a library
  // has refused already: then the other libraries do not know the candidate of the first one.
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

// A backend that forwards each problem's slots to the library chosen for the problem.
class RoutedBackend : public Backend {
 public:
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

 private:
  virtual RouteSelection select_route(const Problem& problem, const Options& options) const = 0;
};

// Completes the reason of a problem whose precision is unsupported by those of `precisions` that
// are supported, as "; bfloat16 and float work here", or by nothing. `supports` throws Error for an
// unsupported problem.
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

// Rejects a candidate that the library does not have.
[[noreturn]] inline void reject_candidate(const std::string& library,
                                          const std::string& candidate) {
  invalid(library + " has no candidate '" + candidate + "' for this problem");
}

// Throws unless `candidate` is one of them; "" is the library's default.
inline void require_candidate(const std::string& library, const std::vector<std::string>& ids,
                              const std::string& candidate) {
  if (!candidate.empty() && std::find(ids.begin(), ids.end(), candidate) == ids.end())
    reject_candidate(library, candidate);
}

}  // namespace deepbench::plugin
