// Where the libraries of a Python environment are, by the place of a package in it.
#include "deepbench/backend/python_environment.hpp"

#include <doctest/doctest.h>

namespace deepbench::plugin {
namespace {

TEST_CASE("libraries are looked for three folders up only from a folder of installed packages") {
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
