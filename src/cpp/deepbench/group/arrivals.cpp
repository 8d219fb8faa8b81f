// One poll() over the port and all connections that have not said who they are.
#include "deepbench/group/arrivals.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace deepbench {
namespace {

constexpr double kGreetingS = 5;  // for a whole message, once connected
// Each may hold a message of the longest size. A rank that loses its place to a crowd tries again.
constexpr size_t kMostPending = 128;
constexpr int kNoDescriptorMs = 20;  // until another attempt where none is free

}  // namespace

Arrivals::Arrivals(Socket listener, uint64_t longest)
    : listener_(std::move(listener)), longest_(longest) {}

std::optional<Arrival> Arrivals::next(Deadline& deadline) {
  for (;;) {
    if (std::optional<Arrival> whole = take_whole()) return whole;
    if (deadline.left_s() == 0) return std::nullopt;
    wait(deadline);
    accept_all();
  }
}

// Until something can be read or accepted, a connection has had its time, or the deadline.
void Arrivals::wait(Deadline& deadline) {
  double left_s = deadline.left_s();
  std::vector<pollfd> all = {{listener_.descriptor(), POLLIN, 0}};
  for (Pending& one : pending_) {
    all.push_back({one.socket.descriptor(), POLLIN, 0});
    left_s = std::min(left_s, one.deadline.left_s());
  }
  poll(all.data(), static_cast<nfds_t>(all.size()),
       static_cast<int>(std::min(std::ceil(left_s * 1e3), 1e9)));
}

void Arrivals::accept_all() {
  for (size_t count = 0; count < kMostPending; ++count) {
    bool none_free = false;
    Socket socket = listener_.accept(&none_free);
    if (none_free) {
      if (!pending_.empty()) pending_.erase(pending_.begin());
      poll(nullptr, 0, kNoDescriptorMs);
    }
    if (!socket.is_open()) return;
    if (pending_.size() == kMostPending) pending_.erase(pending_.begin());
    pending_.push_back({std::move(socket), Deadline(kGreetingS), ""});
  }
}

// The first message that is whole. Connections that ended, sent what cannot be a message or had
// their time are closed without a word.
std::optional<Arrival> Arrivals::take_whole() {
  for (auto one = pending_.begin(); one != pending_.end();) {
    try {
      if (one->socket.receive_part(longest_, &one->part)) {
        Arrival arrival = {std::move(one->socket), std::move(one->part)};
        pending_.erase(one);
        return arrival;
      }
      one = one->deadline.left_s() > 0 ? one + 1 : pending_.erase(one);
    } catch (const ConnectionError&) {
      one = pending_.erase(one);
    }
  }
  return std::nullopt;
}

}  // namespace deepbench
