// The ranks of a collective as one group. They communicate in rounds: each rank sends one message
// to rank 0, and rank 0 sends one answer to all. A failure on one rank thus becomes the failure of
// all ranks at the same step, with that rank's reason. Rank 0 decides everything that depends on a
// clock or on chance.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// A rank as known to all ranks.
struct Member {
  std::string host;
  std::string address;  // numeric address at which other ranks reach its machine
  int local_rank = 0, local_size = 1;
};

// A round cannot be completed because a rank is gone or silent. No further row can run.
class DEEPBENCH_API RankDisconnected : public RowFailure {
 public:
  explicit RankDisconnected(const std::string& reason) : RowFailure(Status::kDeviceLost, reason) {}
};

// How deep within a row a round is nested. When one rank fails, the others leave all nested steps
// down to the scope of the failed round.
enum class AbortScope { kRow = 0, kStep = 1, kExchange = 2 };

class DEEPBENCH_API Group {
 public:
  // `sockets`: on rank 0 one connection to each rank, indexed by rank; on other ranks one to rank
  // 0.
  Group(int rank, std::vector<Member> members, std::vector<Socket> sockets);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Limits the time for which this rank waits within a row for an answer of rank 0, which then
  // counts as lost. Must not be called during a row.
  void limit_silence_of_rank_zero(double seconds) { silence_limit_s_ = seconds; }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const std::vector<Member>& members() const { return members_; }
  const Member& self() const { return members_[static_cast<size_t>(rank_)]; }

  // Every rank contributes `mine`. `reduce` runs on rank 0 only and computes the answer from all
  // contributions, in the order of the ranks. `step` must be the same on all ranks. Throws
  // RowFailure on every rank.
  using Reduce = std::function<std::string(const std::vector<std::string>& all)>;
  std::string reduce_and_broadcast(AbortScope scope, const std::string& step,
                                   const std::string& mine, const Reduce& reduce);
  // Works like reduce_and_broadcast(), but this rank calls `meanwhile` repeatedly until all
  // messages and the answer have arrived, instead of sleeping. An exception from `meanwhile` is
  // rethrown after the round.
  std::string reduce_and_broadcast_while(AbortScope scope, const std::string& step,
                                         const std::string& mine, const Reduce& reduce,
                                         const std::function<void()>& meanwhile);
  // Throws RowFailure once a rank is gone. For long work between two rounds.
  void check_all_connected();
  // Whether a round has failed and its scope has not been left yet: an exception thrown meanwhile
  // is not a failure of this rank.
  bool failing() const { return failure_.has_value(); }
  // Takes part in the round at `step` with a failure instead of a contribution.
  [[noreturn]] void fail_step(AbortScope scope, const std::string& step, const RowFailure& failure);

  // Runs `body` on every rank. If it throws a RowFailure on any rank, this call throws on all
  // ranks.
  void collective_step(AbortScope scope, const std::string& step,
                       const std::function<void()>& body);

  // broadcast_row() sends a row, as a problem line, from rank 0 to the others; end() announces that
  // no row follows, and ends the watchdog: a group outlives its rows where a backend has joined it.
  // The others call next_row(), which returns nothing after end(). On rank 0,
  // wait_until_all_are_ready() returns when all others have called next_row(). These functions
  // throw RankDisconnected, except end().
  void wait_until_all_are_ready();
  void broadcast_row(const std::string& row);
  void end();
  std::optional<std::string> next_row();

  // On rank 0, closes the connection to a rank whose process has ended. A process that it has
  // forked may hold the other end open, which hides the loss. Any thread may call this.
  void close_connection(int rank);
  // Whether a rank is gone. Any thread may call this.
  bool is_disconnected();
  // Whether a call that involves all ranks can never end, because a rank is gone, or has failed and
  // waits for the others to leave the call. Any thread may call this at any time.
  bool must_abort_call();

  // Waits until a rank is gone while this rank remains in a row, because it waits for the lost rank
  // within a library that never returns. Returns the reason, or "" when the group ends. The host
  // calls it in a thread of its own and may end the process.
  std::string wait_for_disconnect();

 private:
  struct Failure {
    AbortScope scope;
    Status status;
    std::string reason;
  };
  struct Message;
  struct RowGuard;
  struct RoundGuard;

  static constexpr const char* kWarning = "warning";
  static constexpr int kPollMs = 200;  // interval of checks for failed or lost ranks

  std::string run_round(const Message& mine, const Reduce& reduce,
                        const std::function<void()>& meanwhile = nullptr);
  std::exception_ptr run_until_all_ready(const std::function<void()>& meanwhile);
  std::string accept_answer(AbortScope scope, const std::string& bytes);
  bool all_messages_ready() const;
  std::string gather(const Message& mine, const Reduce& reduce);
  std::string combine_messages(const std::vector<Message>& all, const Reduce& reduce) const;
  std::string receive(size_t socket, const std::string& whose, Deadline& deadline);
  std::string receive_answer();
  void send(size_t socket, const std::string& whose, const std::string& message);
  bool is_forked() const;
  void refuse_forked_process() const;
  [[noreturn]] void fail_group(const std::string& reason);
  [[noreturn]] void rethrow_failure(AbortScope scope);
  std::string name_of(size_t socket) const;

  Message unpack_message(size_t socket, const std::string& bytes);

  void run_watchdog();
  bool end_was_called();
  bool poll_for_disconnect();
  bool has_failed(size_t rank) const;
  bool any_has_failed(size_t from) const;
  void broadcast_warning();

  const int rank_;
  const std::vector<Member> members_;
  std::vector<Socket> sockets_;
  const int process_;
  double silence_limit_s_;          // for an answer of rank 0, within a row
  std::optional<Failure> failure_;  // failure of the last round, until its scope is left

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string disconnect_reason_;  // guarded by mutex_
  bool grace_expired_ = false, ended_ = false;
  bool in_row_ = false, in_round_ = false;
  // This rank is aborting a call, because another rank has failed in it.
  bool aborting_call_ = false;
  bool was_unwinding_ = false;  // an exception was already propagating when the call was aborted
  Deadline next_poll_{0};
  int wake_[2] = {-1, -1};  // a pipe; a write wakes the watchdog
  std::thread watchdog_;
};

// Runs `body` as a step of the group, or directly if `group` is nullptr.
DEEPBENCH_API void collective_step(Group* group, const std::string& step,
                                   const std::function<void()>& body);
// Rank 0's value on all ranks, for decisions that depend on each process's clock.
DEEPBENCH_API double value_of_rank_zero(Group* group, const std::string& step, double mine);

}  // namespace deepbench
