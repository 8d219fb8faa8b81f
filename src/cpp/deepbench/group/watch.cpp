// Noticing that ranks are gone, or have failed while others wait for them in a call.
#include <poll.h>

#include <algorithm>
#include <exception>

#include "deepbench/group/group.hpp"

#ifndef POLLRDHUP  // Linux has it: the other side has closed
#define POLLRDHUP 0
#endif

namespace deepbench {
namespace {

constexpr double kGraceS = 5;         // to leave a row by oneself once a rank is gone
constexpr double kLookAgainS = 5e-3;  // a look takes some microseconds

}  // namespace

bool Group::is_over() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

bool Group::is_lost() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !lost_.empty();
}

// Whether the message that waits to be read is a failure.
bool Group::has_failed(size_t rank) const {
  uint64_t begin[2] = {};  // its length, then what Message says first
  return sockets_[rank].peek(begin, sizeof begin) && begin[1] != 0;
}

bool Group::one_has_failed(size_t from) const {
  for (size_t rank = from; rank < sockets_.size(); ++rank)
    if (has_failed(rank)) return true;
  return false;
}

// A word before the answer, for those who are in a call: they come out of it, and the round ends.
void Group::warn() {
  for (size_t rank = 1; rank < sockets_.size(); ++rank) send(rank, name_of(rank), kWarning);
}

// Nothing is said to a rank in a row that has not spoken itself, but a warning. Who asks while it
// tidies up after a failure has failed by itself. (Failures that a plugin has thrown and not yet
// returned are seen only where it shares the C++ runtime.)
bool Group::call_is_lost() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!lost_.empty() || giving_up_) return true;
  if (!in_row_ || talking_ || next_look_.left_s() > 0) return false;
  next_look_ = Deadline(kLookAgainS);
  giving_up_ = rank_ == 0 ? one_has_failed(1) : sockets_[0].is_readable(0);
  failed_before_ = std::uncaught_exceptions() > 0;
  return giving_up_;
}

// Sleeps until a connection has ended, whose rank is then lost, or the group has.
bool Group::look_for_the_gone() {
  std::vector<pollfd> all = {{wake_[0], POLLIN, 0}};
  for (const Socket& socket : sockets_)
    if (socket.is_open()) all.push_back({socket.descriptor(), POLLRDHUP, 0});
  if (poll(all.data(), static_cast<nfds_t>(all.size()), -1) <= 0) return false;
  for (size_t i = 0; i < sockets_.size(); ++i) {
    const auto gone = [&](const pollfd& one) {
      return one.fd == sockets_[i].descriptor() && (one.revents & (POLLRDHUP | POLLHUP | POLLERR));
    };
    if (std::none_of(all.begin(), all.end(), gone)) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lost_.empty() && !ended_) lost_ = name_of(i) + " closed the connection";
    return true;
  }
  return false;
}

// Watches until the group ends or a rank is gone. Then whoever waits for a message gets it or an
// error; whoever waits in a library has kGraceS to find out.
void Group::watch() {
  while (!is_over() && !look_for_the_gone()) {
  }
  for (Deadline grace(kGraceS); !is_over() && grace.left_s() > 0;) {
    pollfd wake = {wake_[0], POLLIN, 0};
    poll(&wake, 1, kLookMs);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!in_row_) grace = Deadline(kGraceS);
  }
  for (const Socket& socket : sockets_)
    if (!is_over()) socket.shut();
  const std::lock_guard<std::mutex> lock(mutex_);
  given_up_ = true;
  changed_.notify_all();
}

std::string Group::wait_for_loss() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || given_up_; });
  return ended_ ? "" : lost_;
}

}  // namespace deepbench
