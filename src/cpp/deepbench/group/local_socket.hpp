// Connections between ranks of one machine over a Unix socket, and which process is at their other
// end.
#pragma once

#include <string>
#include <utility>

#include "deepbench/core/export.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// The file of a socket that listens. It is removed with this object, which must end ahead of the
// socket: afterwards the file may be that of another process.
class DEEPBENCH_API SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  ~SocketFile() { remove(); }
  SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }
  SocketFile& operator=(SocketFile&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  void remove();

 private:
  std::string path_;
};

// A socket that listens, and its file. Members end in reverse order, so that the file is removed
// ahead of the socket's end.
struct LocalListener {
  Socket socket;
  SocketFile file;
};

// Listens at `path`. The folder must be private, because sockets of killed processes are removed
// from it. Throws ConnectionError, which names the process that listens at `path` already.
DEEPBENCH_API LocalListener listen_at_path(const std::string& path);

// Retries until the other side listens or the deadline passes.
DEEPBENCH_API Socket connect_to_path(const std::string& path, Deadline& deadline);

// Whether the process at the other end of a Unix socket is one of this user or of root. Always true
// for other sockets.
DEEPBENCH_API bool is_peer_trusted(const Socket& socket);

}  // namespace deepbench
