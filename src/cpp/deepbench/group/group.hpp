// The ranks of a collective as one: what they tell one another goes in rounds, in which every rank
// says one thing to rank 0 and rank 0 gives all of them one answer. What fails on one rank thereby
// fails on all, at the same place, with that rank's reason; whatever depends on a clock or on
// chance is decided by rank 0.
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

// A rank, as all know it.
struct Member {
  std::string host;
  std::string address;  // numeric, at which its machine is reached
  int local_rank = 0, local_size = 1;
};

// A round that does not come about: a rank is gone, or silent. Nothing more can run.
class DEEPBENCH_API RankDisconnected : public RowFailure {
 public:
  explicit RankDisconnected(const std::string& reason) : RowFailure(Status::kDeviceLost, reason) {}
};

// How deep within the making of a row a round is: where one rank fails, the others leave whatever
// they are in, down to the scope that the failing one has reached.
enum class AbortScope { kRow = 0, kStep = 1, kExchange = 2 };

class DEEPBENCH_API Group {
 public:
  // `sockets`: of rank 0 one to each rank, by rank; of the others one to rank 0.
  Group(int rank, std::vector<Member> members, std::vector<Socket> sockets);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const std::vector<Member>& members() const { return members_; }
  const Member& self() const { return members_[static_cast<size_t>(rank_)]; }

  // Every rank says `mine`; `reduce`, on rank 0 alone, makes the answer for all of it, in order of
  // rank. `step` must be the same on all ranks. Throws RowFailure on every rank.
  using Reduce = std::function<std::string(const std::vector<std::string>& all)>;
  std::string reduce_and_broadcast(AbortScope scope, const std::string& step,
                                   const std::string& mine, const Reduce& reduce);
  // The same; until all have spoken, and the answer is there, this rank does `meanwhile` again and
  // again instead of sleeping. What that throws is thrown here, after the round.
  std::string reduce_and_broadcast_while(AbortScope scope, const std::string& step,
                                         const std::string& mine, const Reduce& reduce,
                                         const std::function<void()>& meanwhile);
  // For work of some length between two rounds: throws RowFailure once a rank is gone.
  void check_all_connected();
  // Whether a round has failed and its scope has not been left yet: what is thrown is not a failure
  // of this rank's own.
  bool failing() const { return failure_.has_value(); }
  // The same as reduce_and_broadcast() for a rank that has failed at `step`.
  [[noreturn]] void fail_step(AbortScope scope, const std::string& step, const RowFailure& failure);

  // Does `body` on every rank. Where it throws a RowFailure on any, it does so on all.
  void collective_step(AbortScope scope, const std::string& step,
                       const std::function<void()>& body);

  // Rank 0's row for the others to join in, as the line of a problem; end() tells them that there
  // are no more. next_row() is theirs: nothing after the end. Both throw RankDisconnected.
  void broadcast(const std::string& row);
  void end();
  std::optional<std::string> next_row();

  // Whether a rank is gone. For any thread.
  bool is_disconnected();
  // Whether a call in which all ranks take part will never end: one is gone, or has failed and
  // waits for the others to come out of it. For any thread, at any time.
  bool must_abort_call();

  // Waits until a rank is gone while this one is in a row and does not leave it: it waits for that
  // rank within a library that will wait for ever. The reason then; "" when the group ends. For a
  // thread of the host, which may end the process.
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
  static constexpr int kPollMs = 200;  // between two looks at who else has failed or gone

  std::string run_round(const Message& mine, const Reduce& reduce,
                        const std::function<void()>& meanwhile = nullptr);
  std::exception_ptr run_until_all_ready(const std::function<void()>& meanwhile);
  std::string accept_answer(AbortScope scope, const std::string& bytes);
  bool all_messages_ready() const;
  std::string gather(const Message& mine, const Reduce& reduce);
  std::string make_answer(const std::vector<Message>& all, const Reduce& reduce) const;
  std::string receive(size_t socket, const std::string& whose, Deadline& deadline);
  std::string receive_answer();
  void send(size_t socket, const std::string& whose, const std::string& message);
  [[noreturn]] void fail_group(const std::string& reason);
  [[noreturn]] void rethrow_failure(AbortScope scope);
  std::string name_of(size_t socket) const;

  Message unpacked(size_t socket, const std::string& bytes);

  void run_watchdog();
  bool has_ended();
  bool poll_for_disconnect();
  bool has_failed(size_t rank) const;
  bool any_has_failed(size_t from) const;
  void broadcast_warning();

  const int rank_;
  const std::vector<Member> members_;
  std::vector<Socket> sockets_;
  std::optional<Failure> failure_;  // of the last round, until its scope is left

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string disconnect_reason_;  // why; guarded by mutex_
  bool grace_expired_ = false, ended_ = false;
  bool in_row_ = false, in_round_ = false;
  bool aborting_call_ = false;  // a call, since another rank has failed in it
  bool was_unwinding_ = false;  // giving it up
  Deadline next_poll_{0};
  int wake_[2] = {-1, -1};  // a pipe: what is written into it wakes the watcher
  std::thread watchdog_;
};

// Within a group, or alone where `group` is nullptr.
DEEPBENCH_API void collective_step(Group* group, const std::string& step,
                                   const std::function<void()>& body);
// Rank 0's, for what depends on this process' own clock.
DEEPBENCH_API double value_of_rank_zero(Group* group, const std::string& step, double mine);

}  // namespace deepbench
