// A backend as a table of routes: which library runs which operation. Header-only, for backends
// with several libraries: a backend lists its routes in order of preference (route_table.hpp) and
// implements Implementation once for each route.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepbench/backend/implementation.hpp"
#include "deepbench/backend/ranks.hpp"
#include "deepbench/backend/route_table.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// Emits default_library.OP for each operation: the first library of its routes that can be used.
template <class Routes>
void describe_default_libraries(const Routes& routes, Sink& sink) {
  std::string_view op;
  for (const Route& route : routes) {
    if (route.op == op || (route.choosable && !route.implementation().library().usable())) continue;
    op = route.op;
    sink.text("default_library." + std::string(op), std::string(route.library));
  }
}

// The library that verification asks for by name: an independent computation, never a default.
inline constexpr std::string_view kReferenceLibrary = "reference";

// A problem that outlives the call that passed it.
class StoredProblem {
 public:
  explicit StoredProblem(const Problem& problem) : op_(problem.op()) {
    const deepbench_values given = problem.values().raw();
    items_.assign(given.items, given.items + given.count);
    for (deepbench_value& item : items_) {
      item.name = keep(item.name);
      if (item.kind == DEEPBENCH_TEXT) item.text = keep(item.text);
    }
  }
  StoredProblem(const StoredProblem&) = delete;  // items_ points into texts_
  StoredProblem& operator=(const StoredProblem&) = delete;

  Problem view() const { return Problem({op_.c_str(), {items_.data(), items_.size()}}); }

 private:
  const char* keep(const char* text) { return texts_.emplace_back(text).c_str(); }

  std::string op_;
  std::deque<std::string> texts_;  // a deque, because its elements do not move
  std::vector<deepbench_value> items_;
};

// Throws unsupported if the library is not usable.
inline Implementation& usable_implementation(const Route& route) {
  Implementation& library = route.implementation();
  if (const LibraryFacts facts = library.library(); !facts.usable())
    unsupported(std::string(route.library) + ": " + facts.reason);
  return library;
}

// The libraries that compete for a problem. Each plans it once, when its plan is first asked for.
class Contenders {
 public:
  // `routes` begins with the route that made `first`.
  Contenders(std::vector<const Route*> routes, std::shared_ptr<const Plan> first,
             const Problem& problem, const Options& options)
      : routes_(std::move(routes)), problem_(problem), options_(options) {
    plans_[routes_.front()] = std::move(first);
  }

  const std::vector<const Route*>& routes() const { return routes_; }

  // Throws the reason why the library has no plan.
  const Plan& plan(const Route* route) {
    std::shared_ptr<const Plan>& plan = plans_[route];
    if (!plan) plan = usable_implementation(*route).plan_contender(problem_.view(), options_);
    return *plan;
  }

 private:
  const std::vector<const Route*> routes_;
  const StoredProblem problem_;
  const Options options_;
  std::map<const Route*, std::shared_ptr<const Plan>> plans_;
};

// The plan of a problem that several libraries compete for. Its candidates are called LIBRARY:ID
// and come from all libraries that support the problem. The lists of the libraries are interleaved,
// the chosen library's first, so that a selection that runs out of time has tried the first
// candidates of each.
class CompetingPlan final : public Plan {
 public:
  // `plan` is that of the first contender or of any candidate.
  CompetingPlan(std::shared_ptr<Contenders> contenders, std::shared_ptr<const Plan> plan)
      : contenders_(std::move(contenders)), plan_(std::move(plan)) {}

  void describe(Sink& sink) const override { plan_->describe(sink); }
  std::unique_ptr<Kernel> prepare() const override { return plan_->prepare(); }

  std::vector<std::string> candidates(int64_t limit) const override {
    compiling_ns_ = 0;
    std::vector<std::vector<std::string>> lists;
    for (const Route* route : contenders_->routes()) {
      const auto ids = [&] { return candidates_of(route, limit); };
      if (lists.empty())
        lists.push_back(ids());
      else if (auto others = plan_if_supported(ids))
        lists.push_back(*others);
    }
    return interleave(lists);
  }
  double listing_compiling_ns() const override { return compiling_ns_; }

  // An id without a library belongs to the chosen library.
  std::unique_ptr<Plan> with_candidate(const std::string& id) const override {
    const size_t colon = id.find(':');
    for (const Route* route : contenders_->routes())
      if (colon != std::string::npos && route->library == id.substr(0, colon))
        return bound_to(contenders_->plan(route).with_candidate(id.substr(colon + 1)));
    return bound_to(contenders_->plan(contenders_->routes().front()).with_candidate(id));
  }

 private:
  std::unique_ptr<Plan> bound_to(std::unique_ptr<Plan> candidate) const {
    return std::make_unique<CompetingPlan>(contenders_, std::move(candidate));
  }

  std::vector<std::string> candidates_of(const Route* route, int64_t limit) const {
    const Plan& plan = contenders_->plan(route);
    std::vector<std::string> ids = plan.candidates(limit);
    compiling_ns_ += plan.listing_compiling_ns();
    for (std::string& id : ids) id.insert(0, std::string(route->library) + ":");
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

  const std::shared_ptr<Contenders> contenders_;
  const std::shared_ptr<const Plan> plan_;
  mutable double compiling_ns_ = 0;  // of all libraries, in the last call of candidates()
};

// A backend that plans a problem with the library that it chooses for it. Collectives use the ranks
// that join() receives (ranks.hpp).
class RoutedBackend : public Backend {
 public:
  const void* extension(std::string_view name) override {
    if (name == DEEPBENCH_COLLECTIVE) return collective_extension<join_ranks>();
    if (name == DEEPBENCH_FORWARD_STATE) return forward_state_extension();
    return nullptr;
  }

  // Plans with the library that the options name, or the first usable library that supports the
  // problem. If there is none, throws the reason of the first usable library.
  std::unique_ptr<Plan> plan(const Problem& problem, const Options& options) override {
    if (!options.library.empty())
      return usable_implementation(named_route(problem.op(), options.library))
          .plan(problem, options);
    ChosenRoute chosen = first_supporting(problem, options);
    const std::vector<const Route*> contenders = competing(*chosen.route);
    if (contenders.size() == 1 && !chosen.route->competes) return std::move(chosen.plan);
    const std::shared_ptr<const Plan> first = std::move(chosen.plan);
    return std::make_unique<CompetingPlan>(
        std::make_shared<Contenders>(contenders, first, problem, options), first);
  }

 protected:
  // `routes` is in order of preference within an operation.
  RoutedBackend(const char* name, std::vector<Route> routes)
      : name_(name), routes_(std::move(routes)) {}

  // Emits the facts of the libraries that users can choose, except those in `described`.
  void describe_libraries(Sink& sink, const std::vector<std::string>& described = {}) const {
    for (const Route& route : routes_) {
      const std::string name(route.library);
      if (route.choosable && std::find(described.begin(), described.end(), name) == described.end())
        route.implementation().library().describe(name, sink);
    }
  }

 private:
  struct ChosenRoute {
    const Route* route = nullptr;
    std::unique_ptr<Plan> plan;
  };

  const Route& named_route(const std::string& op, const std::string& library) const {
    bool known = false;
    std::string all, of_op;  // names that users can choose, for the message
    size_t count_of_op = 0;
    for (const Route& route : routes_) {
      const std::string name(route.library);
      if (route.op == op && name == library) return route;
      known = known || name == library;
      if (!route.choosable) continue;
      if ((all + " ").find(" " + name + " ") == std::string::npos) all += " " + name;
      if (route.op == op) of_op += " " + name, ++count_of_op;
    }
    if (!known) invalid("library=" + library + ": the " + name_ + " backend has" + all);
    const std::string choices = count_of_op == 1 ? "its library is" : "its libraries are";
    unsupported(library + " does not support " + op + " in this backend; " +
                (count_of_op ? choices + of_op : "no library can be chosen for it"));
  }

  ChosenRoute first_supporting(const Problem& problem, const Options& options) const {
    // `preferred` lists the libraries that are absent and precede the one that refused.
    std::string absent, refusal, preferred;
    for (const Route& route : routes_) {
      if (route.op != problem.op() || route.library == kReferenceLibrary) continue;
      if (const LibraryFacts facts = route.implementation().library(); !facts.usable()) {
        absent += (absent.empty() ? "" : "; ") + std::string(route.library) + ": " + facts.reason;
        continue;
      }
      try {
        return {&route, route.implementation().plan(problem, options)};
      } catch (const Error& error) {
        if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
        if (refusal.empty()) refusal = error.what(), preferred = absent;
      }
    }
    if (!refusal.empty())
      unsupported(refusal + (preferred.empty() ? "" : "; not usable: " + preferred));
    if (!absent.empty()) unsupported("no library for " + problem.op() + ": " + absent);
    unsupported("the " + name_ + " backend does not support " + problem.op());
  }

  // The routes of the operation that compete with the chosen one, which comes first.
  std::vector<const Route*> competing(const Route& chosen) const {
    std::vector<const Route*> all = {&chosen};
    for (const Route& route : routes_)
      if (route.op == chosen.op && route.competes && &route != &chosen) all.push_back(&route);
    return all;
  }

  const std::string name_;
  const std::vector<Route> routes_;
};

// Completes the reason for a problem that is unsupported in its precision: lists those of
// `precisions` in which it is supported, as "; bfloat16 and float work here", or returns "".
// `plan` throws Error for an unsupported problem.
template <class Planning>
std::string plannable_precisions(const Problem& problem, const std::vector<const char*>& precisions,
                                 Planning plan) {
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
    if (!plan_if_supported([&] { return plan(other), true; })) continue;
    names += (count ? " and " : "") + std::string(name);
    ++count;
  }
  return count ? "; " + names + (count > 1 ? " work" : " works") + " here" : "";
}

}  // namespace deepbench::plugin
