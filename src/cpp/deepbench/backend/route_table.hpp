/* A backend's routes from one list, so that a route is one line. The list is a macro that applies
 * ROUTE(op, library, kind) to each route, in order of preference within an operation:
 *
 *   #define DEEPBENCH_MYCHIP_ROUTES(ROUTE) \
 *     ROUTE(gemm, fast, kCompeting)        \
 *     ROUTE(gemm, simple, kChoosable)
 *
 * Each route stands for the function library_op(), here fast_gemm() and simple_gemm(), which makes
 * the implementation on first use; implementations live until the process ends. */
#pragma once

#include <string_view>

#include "deepbench/backend/routing.hpp"

namespace deepbench::plugin {

enum class RouteKind {
  kChoosable,  // a library that users can choose and that may be absent
  kCompeting,  // choosable, and its candidates compete with those of other libraries
  kInternal,   // always present; users cannot choose it
};

constexpr Route make_route(std::string_view op, std::string_view library, RouteKind kind,
                           Implementation& (*implementation)()) {
  return {op, library, kind != RouteKind::kInternal, implementation, kind == RouteKind::kCompeting};
}

}  // namespace deepbench::plugin

#define DEEPBENCH_DECLARE_ROUTE(op, library, kind) \
  ::deepbench::plugin::Implementation& library##_##op();

#define DEEPBENCH_MAKE_ROUTE(op, library, kind)                                        \
  ::deepbench::plugin::make_route(#op, #library, ::deepbench::plugin::RouteKind::kind, \
                                  library##_##op),

// Declares the functions of a list of routes and defines its table, kRoutes, in the backend's
// namespace.
#define DEEPBENCH_ROUTE_TABLE(ROUTES) \
  ROUTES(DEEPBENCH_DECLARE_ROUTE)     \
  inline constexpr ::deepbench::plugin::Route kRoutes[] = {ROUTES(DEEPBENCH_MAKE_ROUTE)};
