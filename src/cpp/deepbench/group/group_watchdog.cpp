// Detects ranks that are gone, or that have failed while others wait for them in a call.
#include <poll.h>

#include <algorithm>
#include <exception>

#include "deepbench/group/group.hpp"

#ifndef POLLRDHUP  // a Linux flag: the other side has closed the connection
#define POLLRDHUP 0
#endif

namespace deepbench {
namespace {

constexpr double kGraceS = 5;            // time to leave a row after a rank is gone
constexpr double kReleaseS = 10;         // time to free a row's resources after rank 0 is gone
constexpr double kPollIntervalS = 5e-3;  // a check takes a few microseconds

}  // namespace

bool Group::end_was_called() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

// What the rank has sent can still be read.
void Group::close_connection(int rank) { sockets_.at(static_cast<size_t>(rank)).shutdown(); }

bool Group::is_disconnected() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !disconnect_reason_.empty();
}

// Whether the next unread message of this rank is a failure.
bool Group::has_failed(size_t rank) const {
  uint64_t begin[2] = {};  // its length, then the first field of Message
  return sockets_[rank].peek_if_arrived(begin, sizeof begin) && begin[1] != 0;
}

bool Group::any_has_failed(size_t from) const {
  for (size_t rank = from; rank < sockets_.size(); ++rank)
    if (has_failed(rank)) return true;
  return false;
}

// Sends a message that precedes the answer to ranks that are within a call, so that they leave the
// call and the round ends.
void Group::broadcast_warning() {
  for (size_t rank = 1; rank < sockets_.size(); ++rank) send(rank, name_of(rank), kWarning);
}

// A rank in a row that has not sent its message receives nothing but a warning. If an exception is
// already propagating, the rank itself has failed and is cleaning up. (Exceptions within a plugin
// are visible only if it shares the C++ runtime.)
bool Group::must_abort_call() {
  if (is_forked()) return true;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!disconnect_reason_.empty() || aborting_call_) return true;
  if (!in_row_ || in_round_ || next_poll_.left_s() > 0) return false;
  next_poll_ = Deadline(kPollIntervalS);
  aborting_call_ = rank_ == 0 ? any_has_failed(1) : sockets_[0].is_readable(0);
  was_unwinding_ = std::uncaught_exceptions() > 0;
  return aborting_call_;
}

// Sleeps until a connection has closed, so that its rank is lost, or the group has ended.
bool Group::poll_for_disconnect() {
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
    if (disconnect_reason_.empty() && !ended_)
      disconnect_reason_ = name_of(i) + " closed the connection";
    return true;
  }
  return false;
}

// Watches until the group ends or a rank is gone. In the latter case a rank that waits for a
// message receives it or an error, whereas a rank that waits in a library has kGraceS to leave it
// within a row, and kReleaseS between rows. Rank 0 may be idle between rows for any time, since its
// command requests the rows.
void Group::run_watchdog() {
  while (!end_was_called() && !poll_for_disconnect()) {
  }
  Deadline grace(kGraceS), release(kReleaseS);
  while (!end_was_called() && grace.left_s() > 0 && (rank_ == 0 || release.left_s() > 0)) {
    pollfd wake = {wake_[0], POLLIN, 0};
    poll(&wake, 1, kPollMs);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!in_row_) grace = Deadline(kGraceS);
  }
  for (const Socket& socket : sockets_)
    if (!end_was_called()) socket.shutdown();
  const std::lock_guard<std::mutex> lock(mutex_);
  grace_expired_ = true;
  changed_.notify_all();
}

std::string Group::wait_for_disconnect() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || grace_expired_; });
  return ended_ ? "" : disconnect_reason_;
}

}  // namespace deepbench
