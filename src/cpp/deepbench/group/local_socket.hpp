// Connects ranks of one machine through a Unix socket, and finds the process at its other end.
#pragma once

#include <string>
#include <utility>

#include "deepbench/core/export.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// The file of a listening socket. It is removed with this object, which must be destroyed before
// the socket: afterwards the file may belong to another process.
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

// A listening socket and its file. Members are destroyed in reverse order, so that the file is
// removed before the socket is closed.
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
