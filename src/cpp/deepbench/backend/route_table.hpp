/* A backend's routes from one list, so that a route is one line. The list is a file routes.def of
 * lines ROUTE(op, library, kind), in order of preference within an operation:
 *
 *   ROUTE(gemm, fast, kCompeting)
 *   ROUTE(gemm, simple, kChoosable)
 *
 * The backend includes it twice, in its namespace:
 *
 *   #define ROUTE DEEPBENCH_DECLARE_ROUTE
 *   #include "routes.def"
 *   #undef ROUTE
 *
 *   inline constexpr plugin::Route kRoutes[] = {
 *   #define ROUTE DEEPBENCH_MAKE_ROUTE
 *   #include "routes.def"
 *   #undef ROUTE
 *   };
 *
 * Each route stands for the function library_op(), here fast_gemm() and simple_gemm(), which makes
 * the implementation on first use; implementations live until the process ends. */
#pragma once

#include <string_view>

#include "deepbench/backend/implementation.hpp"

namespace deepbench::plugin {

struct Route {
  std::string_view op;
  std::string_view library;
  bool choosable;  // whether users can choose the library; others are always present
  Implementation& (*implementation)();
  // Whether the library competes with other libraries of the operation. Unless the options name a
  // library, the candidates come from all competing libraries and are called LIBRARY:ID.
  bool competes = false;
};

enum class RouteKind {
  kChoosable,  // users can choose it with --library, as a vendor's library or a built-in loop
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
