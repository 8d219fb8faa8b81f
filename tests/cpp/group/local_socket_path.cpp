// Tests in which folder ranks of one machine meet, and which folders are refused.
#include "deepbench/group/local_socket_path.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "../temporary_folder.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::TemporaryFolder;

std::string user() { return std::to_string(geteuid()); }

// Why ranks cannot meet in `folder`; "" if they can.
std::string refusal_of(const std::string& folder) {
  try {
    make_private_folder_of(folder + "/a socket");
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "";
}

void check_refused(const std::string& folder, const std::string& reason) {
  CHECK(refusal_of(folder) == "ranks cannot meet in the folder '" + folder + "': " + reason +
                                  " (remove it, or set XDG_RUNTIME_DIR to a folder of your own)");
}

TEST_CASE("the socket is in the user's runtime folder, or else in a folder of /tmp") {
  const TemporaryFolder runtime;
  const std::string folder = runtime.path(), in_tmp = "/tmp/deepbench-" + user() + "/";
  const auto starts_with = [](const std::string& text, const std::string& beginning) {
    return text.compare(0, beginning.size(), beginning) == 0;
  };
  REQUIRE(chmod(folder.c_str(), 0700) == 0);
  CHECK(starts_with(local_socket_path(folder, "a"), folder + "/deepbench/ranks-"));
  CHECK(starts_with(local_socket_path("", "a"), in_tmp));
  CHECK(starts_with(local_socket_path("relative", "a"), in_tmp));
  CHECK(starts_with(local_socket_path(folder + "/missing", "a"), in_tmp));
  // Too long for the address of a socket.
  const std::string longer = folder + "/" + std::string(90, 'a');
  std::filesystem::create_directory(longer);
  CHECK(starts_with(local_socket_path(longer, "a"), in_tmp));
  // Others could replace the folder of the socket.
  CHECK(starts_with(local_socket_path("/tmp", "a"), in_tmp));
  REQUIRE(chmod(folder.c_str(), 0775) == 0);
  CHECK(starts_with(local_socket_path(folder, "a"), in_tmp));
}

TEST_CASE("launches have different sockets, and the ranks of a launch the same") {
  CHECK(local_socket_path("", "a") == local_socket_path("", "a"));
  CHECK(local_socket_path("", "a") != local_socket_path("", "b"));
}

TEST_CASE("the folder is created for this user alone") {
  const TemporaryFolder base;
  const std::string folder = base / "deepbench";
  CHECK(refusal_of(folder) == "");
  struct stat facts = {};
  REQUIRE(stat(folder.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
  CHECK(refusal_of(folder) == "");  // it exists
}

TEST_CASE("a folder that others can reach is refused") {
  const TemporaryFolder base;
  const std::string folder = base / "deepbench";
  std::filesystem::create_directory(folder);
  for (const mode_t mode : {0777, 0750, 0701, 0770}) {
    REQUIRE(chmod(folder.c_str(), mode) == 0);
    check_refused(folder, "it is open to other users");
  }
}

TEST_CASE("a link, a file and a folder of another user are refused") {
  const TemporaryFolder base;
  const std::string mine = base / "mine", link = base / "link";
  REQUIRE(refusal_of(mine) == "");
  std::filesystem::create_directory_symlink(mine, link);
  check_refused(link, "it is a link");
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink("/nowhere", link);
  check_refused(link, "it is a link");

  // Root has to make such a folder; for other users, the folders of root are such.
  std::string foreign = "/usr";
  if (geteuid() == 0) {
    foreign = base / "foreign";
    REQUIRE(refusal_of(foreign) == "");
    REQUIRE(chown(foreign.c_str(), 65534, 65534) == 0);
  }
  check_refused(foreign, std::string("it belongs to user ") + (geteuid() == 0 ? "65534" : "0"));
  check_refused("/dev/null", "it is no folder");
}

TEST_CASE("a folder that cannot be created is named") {
  const std::string reason = refusal_of("/nowhere/deepbench");
  CHECK(reason.find("cannot create the folder '/nowhere/deepbench'") == 0);
  CHECK(reason.find("XDG_RUNTIME_DIR") != std::string::npos);
}

}  // namespace
}  // namespace deepbench
