// The library folder of a Python environment, derived from the folder of a package in it.
#include "deepbench/backend/python_environment.hpp"

#include <doctest/doctest.h>

namespace deepbench::plugin {
namespace {

TEST_CASE("only a package folder of a Python environment implies a library folder") {
  CHECK(environment_library_folder("/env/lib/python3.12/site-packages/deepbench") == "/env/lib");
  CHECK(environment_library_folder("/usr/lib/python3/dist-packages/deepbench") == "/usr/lib");
  CHECK(environment_library_folder("/site-packages/deepbench") == "");
  for (const char* elsewhere :
       {"/tmp/build/libraries/deepbench", "/tmp/tree/python/deepbench", "/deepbench", "deepbench",
        "site-packages/deepbench", ".", "", "/tmp/site-packages/more/deepbench",
        "/tmp/my-site-packages/deepbench"})
    CHECK(environment_library_folder(elsewhere) == "");
}

}  // namespace
}  // namespace deepbench::plugin
