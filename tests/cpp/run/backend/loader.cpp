// Finding and loading plugins: broken ones each give one clear line.
#include "deepbench/run/backend/loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "../../paths.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::plugin_path;
using testing::TemporaryFolder;

std::string refusal_message(const std::string& path) {
  try {
    load_plugin(path);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "it was loaded";
}

TEST_CASE("a broken plugin gives one clear line") {
  for (const auto& [name, reason] : std::vector<std::pair<std::string, std::string>>{
           {"wrong_abi",
            ": built for version 100 of the backend interface; this deepbench speaks "
            "version 2"},
           {"no_symbol", ": not a deepbench backend: it exports no deepbench_plugin()"},
           {"no_table", ": deepbench_plugin() returned no table"},
           {"null_slots", ": its table lacks a slot that every backend must have"},
           {"bad_name", ": its name, 'my chip/../x', is not made of letters, digits and '_'"},
           {"long_name", ": its name has more than 64 characters"},
           {"huge_table", ": its table cannot have 18446744073709551608 bytes"},
           {"throwing", ": deepbench_plugin() threw an exception: the chip is out"},
       })
    CHECK(refusal_message(plugin_path(name)) == plugin_path(name) + reason);

  const std::string small = refusal_message(plugin_path("small_table"));
  CHECK(small.find(": its table is too small: 24 bytes of ") != std::string::npos);
  const std::string torn = refusal_message(plugin_path("torn_table"));
  CHECK(torn.find(": its table cannot have ") != std::string::npos);
  const std::string unresolved = refusal_message(plugin_path("unresolved"));
  CHECK(unresolved.find("function_of_a_missing_library") != std::string::npos);
  CHECK(unresolved.find('\n') == std::string::npos);
}

TEST_CASE("files that are no libraries") {
  const TemporaryFolder folder;
  CHECK(refusal_message(folder / "absent.so") == folder.path() + "/absent.so: no such file");
  for (const std::string content : {"", "text",
                                    "\x7f"
                                    "ELF and then nonsense"}) {
    const std::string reason = refusal_message(folder.write("libdeepbench_text.so", content));
    CHECK(reason.find("libdeepbench_text.so") != std::string::npos);
    CHECK(reason.find('\n') == std::string::npos);
  }
  CHECK(refusal_message(folder.path()).find(folder.path()) != std::string::npos);  // a folder
}

TEST_CASE("a refused plugin is refused again, a loaded one is the same table") {
  CHECK(refusal_message(plugin_path("wrong_abi")) == refusal_message(plugin_path("wrong_abi")));
  CHECK(load_plugin(plugin_path("fake")).name() == "fake");
  CHECK(load_plugin(plugin_path("fake")).path() == plugin_path("fake"));
}

TEST_CASE("a later minor version with a larger table works") {
  setenv("DEEPBENCH_FAKE_SCRIPT", "", 1);
  const Backend newer = load_plugin(plugin_path("newer_minor"));
  CHECK(newer.name() == "newer_minor");
  CHECK(newer.device_count() == 1);
}

TEST_CASE("a plugin of version 1 is refused with one line") {
  CHECK(refusal_message(plugin_path("older_major")) ==
        plugin_path("older_major") +
            ": built for version 1 of the backend interface; this deepbench speaks version 2");
}

TEST_CASE("backends are found by the names of their files, the first of a name wins") {
  const TemporaryFolder folder;
  folder.write("libdeepbench_one.so");
  folder.write("libdeepbench_fake.so");
  folder.write("libother_two.so");
  folder.write("libdeepbench_.so");
  folder.write("libdeepbench_three.so.1");
  const std::vector<FoundBackend> found =
      find_backends({folder.path(), testing::plugin_folder(), folder / "absent"});
  const auto path_of = [&](const std::string& name) {
    std::vector<std::string> paths;
    for (const auto& one : found)
      if (one.name == name) paths.push_back(one.path);
    return paths;
  };
  CHECK(path_of("one") == std::vector<std::string>{folder / "libdeepbench_one.so"});
  CHECK(path_of("fake") == std::vector<std::string>{folder / "libdeepbench_fake.so"});
  CHECK(path_of("minimal") == std::vector<std::string>{plugin_path("minimal")});
  CHECK(path_of("").empty());
  CHECK(path_of("two").empty());
  CHECK(path_of("three").empty());
}

TEST_CASE("files whose names cannot be printed are passed over") {
  const TemporaryFolder folder;
  folder.write("libdeepbench_a\xff.so");
  folder.write("libdeepbench_b\x1b[31m.so");
  folder.write("libdeepbench_good.so");
  std::vector<std::string> names;
  for (const FoundBackend& found : find_backends({folder.path()})) names.push_back(found.name);
  CHECK(names.at(0) == "good");
  CHECK(std::none_of(names.begin(), names.end(),
                     [](const std::string& name) { return name[0] == 'a' || name[0] == 'b'; }));

  const std::string evil = folder.write("libdeepbench_\xff\x1b[2J.so");
  setenv("DEEPBENCH_BACKEND_PATH", evil.c_str(), 1);
  const std::vector<std::string> warnings = search_warnings();
  unsetenv("DEEPBENCH_BACKEND_PATH");
  CHECK(warnings == std::vector<std::string>{
                        "DEEPBENCH_BACKEND_PATH: " + folder.path() +
                        "/libdeepbench_\xef\xbf\xbd\xef\xbf\xbd[2J.so: its path is not UTF-8"});
}

TEST_CASE("DEEPBENCH_BACKEND_PATH names files and folders") {
  const TemporaryFolder folder;
  const std::string one = folder.write("libdeepbench_one.so");
  const std::string value = ":" + one + "::" + testing::plugin_folder() + ":";
  setenv("DEEPBENCH_BACKEND_PATH", value.c_str(), 1);
  const std::vector<FoundBackend> found = find_backends();
  unsetenv("DEEPBENCH_BACKEND_PATH");
  REQUIRE(found.size() > 2);
  CHECK(found[0].name == "one");
  CHECK(std::any_of(found.begin(), found.end(),
                    [](const FoundBackend& backend) { return backend.name == "fake"; }));
}

TEST_CASE("places in DEEPBENCH_BACKEND_PATH that hold no backend are named") {
  const TemporaryFolder folder, empty;
  const std::string good = folder.write("libdeepbench_one.so");
  const std::string other = folder.write("libone.so");
  const auto warnings = [](const std::string& value) {
    setenv("DEEPBENCH_BACKEND_PATH", value.c_str(), 1);
    const std::vector<std::string> found = search_warnings();
    unsetenv("DEEPBENCH_BACKEND_PATH");
    return found;
  };
  const std::string about = "DEEPBENCH_BACKEND_PATH: ";
  CHECK(warnings("").empty());
  CHECK(warnings(good + ":" + folder.path() + ":").empty());
  CHECK(warnings(other + ":" + (folder / "absent") + ":" + empty.path()) ==
        std::vector<std::string>{
            about + other + ": a backend's file must be called libdeepbench_NAME.so",
            about + (folder / "absent") + ": no such file or folder",
            about + empty.path() + ": the folder has no libdeepbench_NAME.so",
        });

  setenv("DEEPBENCH_BACKEND_PATH", other.c_str(), 1);
  CHECK_THROWS_WITH_AS(load_backend("one", {testing::plugin_folder()}),
                       doctest::Contains(("; " + about + other + ": a backend's file").c_str()),
                       BackendUnavailable);
  setenv("DEEPBENCH_FAKE_SCRIPT", "", 1);
  const testing::Json hello = testing::JsonReader::read(Runner(plugin_path("fake")).hello());
  unsetenv("DEEPBENCH_BACKEND_PATH");
  CHECK(hello["warnings"].items.at(0).text.find(about + other) == 0);
}

TEST_CASE("a backend is loaded by name or by path") {
  CHECK(load_backend("fake", {testing::plugin_folder()}).path() == plugin_path("fake"));
  CHECK(load_backend(plugin_path("minimal")).name() == "minimal");
  try {
    load_backend("fkae", {testing::plugin_folder()});
    FAIL("it did not throw");
  } catch (const BackendUnavailable& error) {
    const std::string reason = error.what();
    CHECK(reason.find("no backend is called 'fkae' (did you mean 'fake'?); there are auto") == 0);
    CHECK(reason.find(" minimal") != std::string::npos);
  }
}

TEST_CASE("auto passes over backends without a device") {
  const TemporaryFolder folder;
  folder.link("libdeepbench_cuda.so", plugin_path("minimal"));
  folder.link("libdeepbench_cpu.so", plugin_path("fake"));
  std::string why;
  setenv("DEEPBENCH_FAKE_SCRIPT", "devices 1", 1);
  CHECK(load_backend("auto", {folder.path()}, &why).name() == "minimal");
  CHECK(why.empty());
  setenv("DEEPBENCH_FAKE_SCRIPT", "devices 0", 1);
  CHECK_THROWS_WITH_AS(load_backend("auto", {folder.path()}),
                       ("no backend has a device here: no cuda device; no cpu device; looked in " +
                        package_directory())
                           .c_str(),
                       BackendUnavailable);
}

TEST_CASE("auto stops at a device that is there but cannot be used") {
  const TemporaryFolder folder;
  folder.link("libdeepbench_cuda.so", plugin_path("minimal"));
  folder.link("libdeepbench_cpu.so", plugin_path("fake"));
  setenv("DEEPBENCH_FAKE_SCRIPT", "fail device_count unsupported no libcudart: install it", 1);
  CHECK_THROWS_WITH_AS(load_backend("auto", {folder.path()}),
                       "cuda: no libcudart: install it; or take --backend cpu", BackendUnavailable);
  setenv("DEEPBENCH_FAKE_SCRIPT", "devices 1", 1);
}

}  // namespace
}  // namespace deepbench
