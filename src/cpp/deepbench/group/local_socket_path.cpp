// Chooses, creates and checks the folder of sockets.
#include "deepbench/group/local_socket_path.hpp"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/blake2s.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/machine_identity.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr size_t kMachineBytes = 4, kLaunchBytes = 8;  // lengths of the hashes in a name
constexpr mode_t kOthers = S_IRWXG | S_IRWXO, kOthersWrite = S_IWGRP | S_IWOTH;

std::string hexadecimal_hash(const std::string& text, size_t bytes) {
  std::string digits;
  for (const char byte : blake2s("", text, bytes)) {
    digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

// Whether no other user can replace the contents of the folder.
bool is_folder_of_this_user(const std::string& folder) {
  struct stat facts = {};
  return !folder.empty() && folder[0] == '/' && stat(folder.c_str(), &facts) == 0 &&
         S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && !(facts.st_mode & kOthersWrite);
}

// The reason why other users may access the contents of the folder; "" if they cannot.
std::string reason_against(const std::string& folder) {
  struct stat facts = {};
  // lstat() does not follow a link, which may lead to a folder of another user.
  if (lstat(folder.c_str(), &facts) != 0) return std::strerror(errno);
  if (S_ISLNK(facts.st_mode)) return "it is a link";
  if (!S_ISDIR(facts.st_mode)) return "it is no folder";
  if (facts.st_uid != geteuid()) return "it belongs to user " + std::to_string(facts.st_uid);
  if (facts.st_mode & kOthers) return "it is open to other users";
  return "";
}

}  // namespace

std::string local_socket_prefix() {
  return "ranks-" + hexadecimal_hash(boot_id(), kMachineBytes) + "-";
}

std::string local_socket_path(const std::string& runtime_folder, const std::string& launch_id) {
  const std::string name = "/" + local_socket_prefix() + hexadecimal_hash(launch_id, kLaunchBytes);
  const std::string path = runtime_folder + "/deepbench" + name;
  if (path.size() <= kMaxPath && is_folder_of_this_user(runtime_folder)) return path;
  return "/tmp/deepbench-" + std::to_string(geteuid()) + name;
}

// Nobody can replace the folder after the check: it is in a folder of this user or in /tmp, whose
// sticky bit keeps the files of different users apart.
void make_private_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw BackendUnavailable("cannot create the folder '" + printable(folder, 200) +
                             "', in which ranks meet: " + std::strerror(errno) +
                             " (XDG_RUNTIME_DIR may name another place)");
  if (const std::string reason = reason_against(folder); !reason.empty())
    throw BackendUnavailable("ranks cannot meet in the folder '" + printable(folder, 200) +
                             "': " + reason +
                             " (remove it, or set XDG_RUNTIME_DIR to a folder of your own)");
}

}  // namespace deepbench
