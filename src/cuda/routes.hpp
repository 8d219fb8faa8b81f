// The functions and the table of the routes in routes.def.
#pragma once

#include "deepbench/backend/route_table.hpp"

namespace deepbench::cuda {

#define ROUTE DEEPBENCH_DECLARE_ROUTE
#include "routes.def"
#undef ROUTE

inline constexpr plugin::Route kRoutes[] = {
#define ROUTE DEEPBENCH_MAKE_ROUTE
#include "routes.def"
#undef ROUTE
};

}  // namespace deepbench::cuda
