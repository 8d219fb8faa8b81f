// Runs the rounds of a group: messages, answers and failures.
#include "deepbench/group/group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/start_thread.hpp"
#include "deepbench/group/message.hpp"

namespace deepbench {
namespace {

// One rank may prepare or verify this much longer than another.
constexpr double kRoundTimeoutS = 600;
constexpr double kSendTimeoutS = 30;  // time in which the other side must receive a small message
constexpr double kNoTimeoutS = 1e9;   // no limit between rows, because rank 0 may run rows alone
constexpr uint64_t kMaxMessageBytes = 1u << 30;

constexpr std::string_view kEnd = "end", kRow = "row ", kReady = "ready";

AbortScope abort_scope_from_number(int64_t number) {
  return static_cast<AbortScope>(std::clamp<int64_t>(number, 0, 2));
}

Status status_from_number(int64_t number) {
  return static_cast<Status>(std::clamp<int64_t>(number, 1, int64_t(Status::kFailed)));
}

}  // namespace

// The message of a rank in a round; the answer of rank 0 has the same form.
struct Group::Message {
  AbortScope scope = AbortScope::kRow;
  std::string step;
  bool failed = false;
  Status status = Status::kFailed;
  std::string reason{};
  std::string payload{};
  bool aborted_call = false;     // this rank aborted a call, because another rank had failed
  bool caused_by_abort = false;  // this rank failed only because it aborted the call

  std::string packed() const {
    Packer packer;
    packer.number(int64_t{failed});  // comes first, because has_failed() reads it without the rest
    packer.number(int64_t(scope)).text(step).number(int64_t(status));
    packer.number(int64_t{aborted_call}).number(int64_t{caused_by_abort});
    return packer.text(reason).text(payload).bytes();
  }
  static Message unpacked(const std::string& bytes) {
    Unpacker unpacker(bytes);
    Message message;
    message.failed = unpacker.number<int64_t>() != 0;
    message.scope = abort_scope_from_number(unpacker.number<int64_t>());
    message.step = unpacker.text();
    message.status = status_from_number(unpacker.number<int64_t>());
    message.aborted_call = unpacker.number<int64_t>() != 0;
    message.caused_by_abort = unpacker.number<int64_t>() != 0;
    message.reason = unpacker.text();
    message.payload = unpacker.text();
    return message;
  }
};

// Marks a round. During a round only the round itself reads incoming messages, not
// must_abort_call().
struct Group::RoundGuard {
  explicit RoundGuard(Group* group) : group(group) { set(true); }
  ~RoundGuard() { set(false); }
  void set(bool in_round) {
    if (group->is_forked()) return;  // another thread may have held the lock
    const std::lock_guard<std::mutex> lock(group->mutex_);
    group->in_round_ = in_round;
    group->aborting_call_ = false;
  }
  Group* const group;
};

// Marks the beginning and the end of a row. A new row clears the previous failure. Within a row,
// the watchdog gives ranks time to leave it.
struct Group::RowGuard {
  explicit RowGuard(Group* group) : group(group) {
    if (!group) return;
    group->failure_.reset();
    set(true);
  }
  ~RowGuard() {
    if (group) set(false);
  }
  void set(bool in_row) {
    if (group->is_forked()) return;
    const std::lock_guard<std::mutex> lock(group->mutex_);
    group->in_row_ = in_row;
  }
  Group* const group;
};

Group::Group(int rank, std::vector<Member> members, std::vector<Socket> sockets)
    : rank_(rank),
      members_(std::move(members)),
      sockets_(std::move(sockets)),
      process_(getpid()),
      silence_limit_s_(kRoundTimeoutS) {
  if (pipe(wake_) != 0) throw RankDisconnected("no file descriptor is left for the watchdog");
  for (const int end : wake_) fcntl(end, F_SETFD, FD_CLOEXEC);
  try {
    watchdog_ = start_thread("the watchdog of the ranks", [this] { run_watchdog(); });
  } catch (...) {
    // Rank 0 ends this process once its connection closes, which therefore waits until the process
    // has said why.
    static std::vector<Socket> until_exit;
    until_exit = std::move(sockets_);
    throw;
  }
}

Group::~Group() {
  end();
  for (const int end : wake_) close(end);
}

std::string Group::name_of(size_t socket) const {
  return "rank " + std::to_string(socket) + " of " + std::to_string(size()) + " (" +
         members_[socket].host + ")";
}

std::string Group::reduce_and_broadcast(AbortScope scope, const std::string& step,
                                        const std::string& mine, const Reduce& reduce) {
  Message message{scope, step};
  message.payload = mine;
  return run_round(message, reduce);
}

std::string Group::reduce_and_broadcast_while(AbortScope scope, const std::string& step,
                                              const std::string& mine, const Reduce& reduce,
                                              const std::function<void()>& meanwhile) {
  Message message{scope, step};
  message.payload = mine;
  return run_round(message, reduce, meanwhile);
}

void Group::check_all_connected() {
  refuse_forked_process();
  if (!is_disconnected()) return;
  if (rank_ == 0) fail_group("");  // fail_group() uses the known reason
  // Rank 0 has sent the reason, or is itself gone.
  accept_answer(AbortScope::kStep, receive_answer());
}

void Group::fail_step(AbortScope scope, const std::string& step, const RowFailure& failure) {
  refuse_forked_process();
  if (failure_) rethrow_failure(scope);
  Message message{scope, step, true, failure.status(), failure.what()};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    message.aborted_call = aborting_call_;
    message.caused_by_abort = aborting_call_ && !was_unwinding_;
    // A backend whose exchange() failed does not know the reason.
    if (message.status == Status::kDeviceLost && !disconnect_reason_.empty())
      message.reason = disconnect_reason_;
  }
  run_round(message, [](const std::vector<std::string>&) { return std::string(); });
  rethrow_failure(scope);  // not reached: run_round() throws
}

void Group::collective_step(AbortScope scope, const std::string& step,
                            const std::function<void()>& body) {
  refuse_forked_process();
  const RowGuard guard(scope == AbortScope::kRow ? this : nullptr);
  if (failure_) rethrow_failure(scope);
  try {
    body();
  } catch (const RankDisconnected&) {
    throw;
  } catch (const RowFailure& failure) {
    fail_step(scope, step, failure);
  } catch (const InvalidProblem& error) {
    fail_step(scope, step, RowFailure(Status::kInvalid, error.what()));
  } catch (const std::bad_alloc&) {
    fail_step(scope, step, RowFailure(Status::kOutOfMemory, "out of host memory"));
  } catch (const std::exception& error) {
    fail_step(scope, step, RowFailure(Status::kFailed, error.what()));
  }
  if (failure_) rethrow_failure(scope);  // `body` caught the failure of a nested step
  reduce_and_broadcast(scope, step, "",
                       [](const std::vector<std::string>&) { return std::string(); });
}

// Throws the failure of the last round, which all ranks know. No message is sent until the scope of
// the failure is left.
void Group::rethrow_failure(AbortScope scope) {
  const Failure failure = *failure_;
  if (scope <= failure.scope) failure_.reset();
  throw RowFailure(failure.status, failure.reason);
}

std::string Group::run_round(const Message& mine, const Reduce& reduce,
                             const std::function<void()>& meanwhile) {
  refuse_forked_process();
  if (failure_) rethrow_failure(mine.scope);
  const RoundGuard guard(this);
  if (rank_ != 0) send(0, name_of(0), mine.packed());
  const std::exception_ptr failed = meanwhile ? run_until_all_ready(meanwhile) : nullptr;
  std::string answer =
      accept_answer(mine.scope, rank_ == 0 ? gather(mine, reduce) : receive_answer());
  if (failed) std::rethrow_exception(failed);
  return answer;
}

// Runs `meanwhile` until all messages have arrived. A failure of this rank is returned, because it
// comes too late for this round: the others have been told of success, and their answer must still
// be read.
std::exception_ptr Group::run_until_all_ready(const std::function<void()>& meanwhile) {
  for (Deadline deadline(silence_limit_s_); !all_messages_ready() && deadline.left_s() > 0;) {
    try {
      meanwhile();
    } catch (const RankDisconnected&) {
      throw;
    } catch (...) {
      if (failure_) throw;
      return std::current_exception();
    }
    check_all_connected();
  }
  return nullptr;
}

std::string Group::accept_answer(AbortScope scope, const std::string& bytes) {
  const Message answer = unpack_message(0, bytes);
  if (!answer.failed) return answer.payload;
  failure_ = Failure{answer.scope, answer.status, answer.reason};
  rethrow_failure(scope);
}

// Whether gather() or receive() would return without waiting. A closed connection counts as ready.
bool Group::all_messages_ready() const {
  std::vector<pollfd> all;
  for (const Socket& socket : sockets_)
    if (socket.is_open()) all.push_back({socket.descriptor(), POLLIN, 0});
  return poll(all.data(), static_cast<nfds_t>(all.size()), 0) == static_cast<int>(all.size());
}

Group::Message Group::unpack_message(size_t socket, const std::string& bytes) {
  if (bytes == kEnd) fail_group(name_of(socket) + " has ended");
  try {
    return Message::unpacked(bytes);
  } catch (const ConnectionError& error) {
    fail_group(name_of(socket) + " " + error.what());
  }
}

std::string Group::gather(const Message& mine, const Reduce& reduce) {
  std::vector<Message> all = {mine};
  bool failed = mine.failed, warned = false;
  for (size_t rank = 1; rank < sockets_.size(); ++rank) {
    Deadline deadline(kRoundTimeoutS);
    while (!sockets_[rank].is_readable(kPollMs) && deadline.left_s() > 0)
      if (!warned && (failed || any_has_failed(rank + 1))) warned = true, broadcast_warning();
    all.push_back(unpack_message(rank, receive(rank, name_of(rank), deadline)));
    failed = failed || all.back().failed;
  }
  const std::string answer = combine_messages(all, reduce);
  for (size_t rank = 1; rank < sockets_.size(); ++rank) send(rank, name_of(rank), answer);
  return answer;
}

// The first failure becomes the failure of all ranks. A rank that aborted a call because of it adds
// no reason, but it may have left the library that made the call in an undefined state, so that no
// further row can run. If ranks are at different steps and none has failed, they have made
// different decisions, which is a bug in deepbench.
std::string Group::combine_messages(const std::vector<Message>& all, const Reduce& reduce) const {
  Message answer = all[0];
  answer.failed = answer.aborted_call = answer.caused_by_abort = false;
  bool aborted_call = false;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Message& one = all[rank];
    answer.scope = std::min(answer.scope, one.scope);
    aborted_call = aborted_call || one.aborted_call;
    if (!one.failed || one.caused_by_abort || answer.failed) continue;
    answer.failed = true;
    answer.status = one.status;
    answer.reason = rank == 0 ? one.reason : "rank " + std::to_string(rank) + ": " + one.reason;
  }
  if (aborted_call) answer.failed = true, answer.status = Status::kDeviceLost;
  for (size_t rank = 0; rank < all.size() && !answer.failed; ++rank) {
    if (all[rank].step == all[0].step) continue;
    answer.failed = true;
    answer.scope = AbortScope::kRow;
    answer.reason = "rank " + std::to_string(rank) + " is at '" + printable(all[rank].step) +
                    "' while rank 0 is at '" + printable(all[0].step) + "'";
  }
  answer.payload.clear();
  if (answer.failed) return answer.packed();
  std::vector<std::string> payloads;
  for (const Message& one : all) payloads.push_back(one.payload);
  try {
    answer.payload = reduce(payloads);
  } catch (const std::exception& error) {
    // The other ranks wait for this answer, so that the failure is part of it.
    const auto* const failure = dynamic_cast<const RowFailure*>(&error);
    answer.failed = true;
    answer.scope = AbortScope::kRow;
    answer.status = failure ? failure->status() : Status::kFailed;
    answer.reason = "the ranks' messages at '" + printable(all[0].step) +
                    "' cannot be combined: " + error.what();
  }
  return answer.packed();
}

void Group::wait_until_all_are_ready() {
  const std::string ready(kReady);
  for (size_t rank = 1; rank < sockets_.size(); ++rank) send(rank, name_of(rank), ready);
  for (size_t rank = 1; rank < sockets_.size(); ++rank) {
    Deadline deadline(kRoundTimeoutS);
    if (receive(rank, name_of(rank), deadline) != ready)
      fail_group(name_of(rank) + " is not ready for a row");
  }
}

void Group::broadcast_row(const std::string& row) {
  for (size_t rank = 1; rank < sockets_.size(); ++rank)
    send(rank, name_of(rank), std::string(kRow) + row);
}

void Group::end() {
  if (is_forked()) {  // the thread and the connections are the other process's
    if (watchdog_.joinable()) watchdog_.detach();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    ended_ = true;
    changed_.notify_all();
  }
  while (write(wake_[1], "", 1) < 0 && errno == EINTR) {
  }
  watchdog_.join();
  if (rank_ != 0) return;
  Deadline deadline(kSendTimeoutS);
  for (size_t rank = 1; rank < sockets_.size(); ++rank) {
    try {
      sockets_[rank].send(kEnd, deadline);
    } catch (const ConnectionError&) {  // the rank is already gone
    }
  }
}

std::optional<std::string> Group::next_row() {
  refuse_forked_process();
  Deadline deadline(kNoTimeoutS);
  std::string message;
  try {
    while ((message = sockets_[0].receive(kMaxMessageBytes, deadline)) == kReady)
      send(0, name_of(0), message);
  } catch (const ConnectionError& error) {
    fail_group(name_of(0) + " " + error.what());
  }
  if (message == kEnd) return std::nullopt;
  if (message.compare(0, kRow.size(), kRow) != 0) fail_group(name_of(0) + " sent no row");
  return message.substr(kRow.size());
}

// Rank 0 sends the reason to the others, which would otherwise wait for its answer.
void Group::fail_group(const std::string& reason) {
  refuse_forked_process();
  std::string why;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (disconnect_reason_.empty()) disconnect_reason_ = reason;
    why = disconnect_reason_;
  }
  const std::string answer = Message{AbortScope::kRow, "", true, Status::kDeviceLost, why}.packed();
  Deadline deadline(1);
  for (size_t rank = 1; rank_ == 0 && rank < sockets_.size(); ++rank) {
    try {
      sockets_[rank].send(answer, deadline);
    } catch (const ConnectionError&) {  // the lost rank, or another one that is gone
    }
    sockets_[rank].shutdown();
  }
  throw RankDisconnected(why);
}

bool Group::is_forked() const { return getpid() != process_; }

// A process that a backend has forked shares the connections, on which one process may speak.
void Group::refuse_forked_process() const {
  if (is_forked()) throw RankDisconnected("the backend forked; the second process takes no part");
}

void Group::send(size_t socket, const std::string& whose, const std::string& message) {
  refuse_forked_process();
  Deadline deadline(kSendTimeoutS);
  try {
    sockets_[socket].send(message, deadline);
  } catch (const ConnectionError& error) {
    fail_group(whose + " " + error.what());
  }
}

std::string Group::receive(size_t socket, const std::string& whose, Deadline& deadline) {
  refuse_forked_process();
  try {
    return sockets_[socket].receive(kMaxMessageBytes, deadline);
  } catch (const ConnectionError& error) {
    fail_group(whose + " " + error.what());
  }
}

// Receives rank 0's answer. Skips a warning, which matters only to a rank within a call.
std::string Group::receive_answer() {
  Deadline deadline(silence_limit_s_);
  for (;;) {
    const std::string message = receive(0, name_of(0), deadline);
    if (message != kWarning) return message;
  }
}

void collective_step(Group* group, const std::string& step, const std::function<void()>& body) {
  if (group)
    group->collective_step(AbortScope::kStep, step, body);
  else
    body();
}

double value_of_rank_zero(Group* group, const std::string& step, double mine) {
  if (!group) return mine;
  const std::string answer =
      group->reduce_and_broadcast(AbortScope::kStep, step, Packer().number(mine).bytes(),
                                  [](const std::vector<std::string>& all) { return all[0]; });
  return Unpacker(answer).number<double>();
}

}  // namespace deepbench
