// The reasons for absent, broken and outdated libraries.
#include "shared_library.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "harness.hpp"

namespace deepbench::cpu {
namespace {

using cpu_test::ScopedEnvironmentVariable;
using cpu_test::TemporaryFolder;

TEST_CASE("the reason for an absent library names the remedy") {
  const SharedLibrary library({"libdeepbench_nowhere.so.9"}, "pip install nowhere");
  CHECK_FALSE(library.loaded());
  CHECK(library.reason() == "libdeepbench_nowhere.so.9 was not found; pip install nowhere");
  CHECK(library.find("anything") == nullptr);
}

TEST_CASE("the reason for a broken library names the file") {
  const TemporaryFolder folder;
  folder.write("libdeepbench_broken.so.1", "this is no library");
  const ScopedEnvironmentVariable path("DEEPBENCH_CPU_LIBRARY_PATH",
                                       "/nonexistent::" + folder.path());
  const SharedLibrary library({"libdeepbench_broken.so.1"}, "pip install it");
  CHECK_FALSE(library.loaded());
  CHECK(library.reason().find(folder.path() + "/libdeepbench_broken.so.1") != std::string::npos);
}

TEST_CASE("the user's folders are searched first") {
  const ScopedEnvironmentVariable path("DEEPBENCH_CPU_LIBRARY_PATH", "/first:/second");
  const auto folders = library_folders();
  REQUIRE(folders.size() > 2);
  CHECK(folders[0] == "/first");
  CHECK(folders[1] == "/second");
}

TEST_CASE("the loader's default folders are searched last, and the path is the file's real path") {
  const SharedLibrary library({"libm.so.6"}, "");
  REQUIRE(library.loaded());
  CHECK(library.path().front() == '/');
  CHECK(library.path().find("libm") != std::string::npos);
  CHECK(library.folder() + "/" == library.path().substr(0, library.path().rfind('/') + 1));
  double (*cosine)(double) = nullptr;
  CHECK(library.bind(cosine, "cos"));
  CHECK(cosine(0) == 1);
  CHECK_FALSE(library.bind(cosine, "no_such_function"));
}

TEST_CASE("a rejected library is not used") {
  SharedLibrary library({"libm.so.6"}, "");
  library.reject("too old");
  CHECK_FALSE(library.loaded());
  CHECK(library.reason() == "too old");
  CHECK(library.find("cos") == nullptr);
}

}  // namespace
}  // namespace deepbench::cpu
