// Polls the port and all connections that have not sent a greeting.
#include "deepbench/group/pending_connections.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "deepbench/group/local_socket.hpp"

namespace deepbench {
namespace {

constexpr double kGreetingTimeoutS = 5;  // from the connection to its complete greeting
constexpr double kNoGreetingTimeoutS = 1e9;
// Each connection may hold a message of the maximum size. A rank whose connection is dropped in
// favor of newer ones connects again.
constexpr size_t kMaxPending = 128;
constexpr int kDescriptorRetryMs = 20;  // delay before the next attempt if no descriptor is free

}  // namespace

PendingConnections::PendingConnections(Socket listener, uint64_t max_bytes)
    : listener_(std::move(listener)), max_bytes_(max_bytes) {}

PendingConnections::PendingConnections(std::vector<Socket> connected, uint64_t max_bytes)
    : max_bytes_(max_bytes) {
  for (Socket& socket : connected)
    pending_.push_back({std::move(socket), Deadline(kNoGreetingTimeoutS), ""});
}

std::optional<FirstMessage> PendingConnections::next(Deadline& deadline,
                                                     const std::vector<int>& watched) {
  for (bool is_watched_ready = false;;) {
    if (std::optional<FirstMessage> complete = take_complete_message()) return complete;
    if (is_watched_ready || deadline.left_s() == 0) return std::nullopt;
    is_watched_ready = wait(deadline, watched);
    accept_all();
  }
}

// Waits until a connection can be read or accepted, has timed out, or the deadline has passed.
// Returns whether a watched descriptor can be read.
bool PendingConnections::wait(Deadline& deadline, const std::vector<int>& watched) {
  double left_s = deadline.left_s();
  std::vector<pollfd> all = {{listener_.descriptor(), POLLIN, 0}};
  for (Pending& one : pending_) {
    all.push_back({one.socket.descriptor(), POLLIN, 0});
    left_s = std::min(left_s, one.deadline.left_s());
  }
  const auto first_watched = static_cast<std::ptrdiff_t>(all.size());
  for (const int descriptor : watched) all.push_back({descriptor, POLLIN, 0});
  const int ready = poll(all.data(), static_cast<nfds_t>(all.size()),
                         static_cast<int>(std::min(std::ceil(left_s * 1e3), 1e9)));
  return ready > 0 && std::any_of(all.begin() + first_watched, all.end(),
                                  [](const pollfd& one) { return one.revents != 0; });
}

void PendingConnections::accept_all() {
  if (!listener_.is_open()) return;
  for (size_t count = 0; count < kMaxPending; ++count) {
    bool out_of_descriptors = false;
    Socket socket = listener_.accept(&out_of_descriptors);
    if (out_of_descriptors) {
      if (!pending_.empty()) pending_.erase(pending_.begin());
      poll(nullptr, 0, kDescriptorRetryMs);
    }
    if (!socket.is_open()) return;
    if (!is_peer_trusted(socket)) continue;
    if (pending_.size() == kMaxPending) pending_.erase(pending_.begin());
    pending_.push_back({std::move(socket), Deadline(kGreetingTimeoutS), ""});
  }
}

// Returns the first complete message. Connections that have closed, sent an invalid message or
// timed out are closed without an answer.
std::optional<FirstMessage> PendingConnections::take_complete_message() {
  for (auto one = pending_.begin(); one != pending_.end();) {
    try {
      if (one->socket.receive_available(max_bytes_, &one->part)) {
        FirstMessage first = {std::move(one->socket), std::move(one->part)};
        pending_.erase(one);
        return first;
      }
      one = one->deadline.left_s() > 0 ? one + 1 : pending_.erase(one);
    } catch (const ConnectionError&) {
      one = pending_.erase(one);
    }
  }
  return std::nullopt;
}

}  // namespace deepbench
