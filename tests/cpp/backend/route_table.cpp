// Tests the table of routes that a backend makes of one list.
#include "deepbench/backend/route_table.hpp"

#include <doctest/doctest.h>

#include <string>

namespace deepbench::plugin::tested {
namespace {

// The functions of the routes; no test calls them.
[[noreturn]] Implementation& absent() { failed("no test makes an implementation"); }
Implementation& fast_gemm() { absent(); }
Implementation& simple_gemm() { absent(); }
Implementation& reference_rnn() { absent(); }

#define ROUTE DEEPBENCH_DECLARE_ROUTE
#include "tested_routes.def"
#undef ROUTE

constexpr Route kRoutes[] = {
#define ROUTE DEEPBENCH_MAKE_ROUTE
#include "tested_routes.def"
#undef ROUTE
};

TEST_CASE("a table has the routes of the list in their order") {
  std::string names;
  for (const Route& route : kRoutes)
    names += std::string(route.op) + "/" + std::string(route.library) + " ";
  CHECK(names == "gemm/fast gemm/simple rnn/reference ");
  CHECK((kRoutes[0].implementation == fast_gemm));
  CHECK((kRoutes[2].implementation == reference_rnn));
}

TEST_CASE("the kind of a route says who chooses it") {
  CHECK((kRoutes[0].choosable && kRoutes[0].competes));
  CHECK((kRoutes[1].choosable && !kRoutes[1].competes));
  CHECK((!kRoutes[2].choosable && !kRoutes[2].competes));
}

}  // namespace
}  // namespace deepbench::plugin::tested
