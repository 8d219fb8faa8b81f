// Creates and connects Unix sockets with files. A process that creates or removes such a file locks
// its folder, so that a socket between bind() and listen() is not mistaken for one that a killed
// process left.
#include "deepbench/group/local_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "deepbench/core/attributes.hpp"
#include "deepbench/group/local_socket_path.hpp"

namespace deepbench {
namespace {

constexpr double kLockTimeoutS = 30;  // others hold the lock for less than a millisecond

struct Process {
  pid_t id;
  uid_t user;
};

// The process that called connect() or listen() at the other end; nothing where the system does not
// tell.
std::optional<Process> peer_of(const Socket& socket) {
#ifdef SO_PEERCRED
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.descriptor(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
    return Process{peer.pid, peer.uid};
#endif
  return std::nullopt;
}

bool is_unix_socket(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  return getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.ss_family == AF_UNIX;
}

class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    Deadline deadline(kLockTimeoutS);
    // Goes on without a lock where the file system has no locks.
    while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
      if (deadline.left_s() == 0) break;
      poll(nullptr, 0, kRetryDelayMs);
    }
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const int descriptor_;
};

Socket open_unix_socket() {
  Socket socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!socket.is_open()) throw ConnectionError(std::strerror(errno));
  fcntl(socket.descriptor(), F_SETFD, FD_CLOEXEC);
  fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK);
  return socket;
}

// The error number of bind() or connect(); 0 if it succeeded.
template <class Call>
int call_with_path(Call call, const Socket& socket, const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  path.copy(address.sun_path, path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return call(socket.descriptor(), generic, sizeof address) == 0 ? 0 : errno;
}

// Whether this is a socket at which nobody listens any more.
bool is_abandoned(const std::string& path) {
  struct stat facts = {};
  return lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode) &&
         call_with_path(::connect, open_unix_socket(), path) == ECONNREFUSED;
}

void remove_abandoned_sockets(const std::filesystem::path& folder) {
  const std::string prefix = local_socket_prefix();
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.compare(0, prefix.size(), prefix) == 0 && is_abandoned(entry->path().string()))
      unlink(entry->path().c_str());
  }
}

// Describes a process, such as "process 4711 (python3)".
std::string text_of(const Process& process) {
  std::ifstream file("/proc/" + std::to_string(process.id) + "/comm");
  std::string name;
  std::getline(file, name);
  return "process " + std::to_string(process.id) +
         (name.empty() ? "" : " (" + printable(name) + ")");
}

// The reason why bind() failed. Names the process that listens at the path.
std::string reason_against_listening(const std::string& path, int error) {
  const Socket probe = open_unix_socket();
  if (error != EADDRINUSE || call_with_path(::connect, probe, path) != 0)
    return std::strerror(error);
  const std::optional<Process> holder = peer_of(probe);
  return (holder ? text_of(*holder) : "another process") + " already listens there";
}

}  // namespace

void SocketFile::remove() {
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
}

LocalListener listen_at_path(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const FolderLock lock(folder.string());
  remove_abandoned_sockets(folder);
  Socket socket = open_unix_socket();
  int error = call_with_path(::bind, socket, path);
  SocketFile file(error == 0 ? path : "");
  if (error == 0 && ::listen(socket.descriptor(), kBacklog) != 0) error = errno;
  if (error != 0)
    throw ConnectionError("cannot listen at '" + printable(path, 200) +
                          "': " + reason_against_listening(path, error));
  return {std::move(socket), std::move(file)};
}

Socket connect_to_path(const std::string& path, Deadline& deadline) {
  for (;;) {
    Socket socket = open_unix_socket();
    const int error = call_with_path(::connect, socket, path);
    if (error == 0 && is_peer_trusted(socket)) return socket;
    if (error == 0) throw ConnectionError("belongs to another user");
    if (deadline.left_s() == 0)
      throw ConnectionError(std::string("does not answer: ") + std::strerror(error));
    poll(nullptr, 0, kRetryDelayMs);
  }
}

bool is_peer_trusted(const Socket& socket) {
  if (!is_unix_socket(socket)) return true;
  const std::optional<Process> peer = peer_of(socket);
  return !peer || peer->user == geteuid() || peer->user == 0;
}

}  // namespace deepbench
