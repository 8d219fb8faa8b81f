// Rounds.
#include "deepbench/group/group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "deepbench/core/attributes.hpp"
#include "deepbench/group/message.hpp"

namespace deepbench {
namespace {

// One rank may prepare or verify so much longer than another.
constexpr double kRoundS = 600;
constexpr double kLineS = 30;            // for a small message to be taken
constexpr double kForEver = 1e9;         // between rows; rank 0 may be busy with rows of its own
constexpr uint64_t kLongest = 1u << 30;  // message

constexpr std::string_view kEnd = "end", kRow = "row ";

Level level_of(int64_t number) { return static_cast<Level>(std::clamp<int64_t>(number, 0, 2)); }

Status status_of(int64_t number) {
  return static_cast<Status>(std::clamp<int64_t>(number, 1, int64_t(Status::kFailed)));
}

}  // namespace

// What a rank says in a round; as an answer, what rank 0 says to it.
struct Group::Message {
  Level level = Level::kRow;
  std::string step;
  bool failed = false;
  Status status = Status::kFailed;
  std::string reason{};
  std::string payload{};
  bool gave_up = false;  // a call, since another had failed
  bool follows = false;  // that is why it has failed

  std::string packed() const {
    Packer packer;
    packer.number(int64_t{failed});  // first: has_failed() looks there
    packer.number(int64_t(level)).text(step).number(int64_t(status));
    packer.number(int64_t{gave_up}).number(int64_t{follows});
    return packer.text(reason).text(payload).bytes();
  }
  static Message unpacked(const std::string& bytes) {
    Unpacker unpacker(bytes);
    Message message;
    message.failed = unpacker.number<int64_t>() != 0;
    message.level = level_of(unpacker.number<int64_t>());
    message.step = unpacker.text();
    message.status = status_of(unpacker.number<int64_t>());
    message.gave_up = unpacker.number<int64_t>() != 0;
    message.follows = unpacker.number<int64_t>() != 0;
    message.reason = unpacker.text();
    message.payload = unpacker.text();
    return message;
  }
};

// What comes in is read by the round alone: call_is_lost() keeps away.
struct Group::TalkGuard {
  explicit TalkGuard(Group* group) : group(group) { set(true); }
  ~TalkGuard() { set(false); }
  void set(bool talking) {
    const std::lock_guard<std::mutex> lock(group->mutex_);
    group->talking_ = talking;
    group->giving_up_ = false;
  }
  Group* const group;
};

// A row begins and ends: what the last one left is forgotten, and a lost rank is waited for.
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
    const std::lock_guard<std::mutex> lock(group->mutex_);
    group->in_row_ = in_row;
  }
  Group* const group;
};

Group::Group(int rank, std::vector<Member> members, std::vector<Socket> sockets)
    : rank_(rank), members_(std::move(members)), sockets_(std::move(sockets)) {
  if (pipe(wake_) != 0) throw RankLost("no descriptor is left for its watcher");
  for (const int end : wake_) fcntl(end, F_SETFD, FD_CLOEXEC);
  watcher_ = std::thread([this] { watch(); });
}

Group::~Group() {
  end();
  watcher_.join();
  for (const int end : wake_) close(end);
}

std::string Group::name_of(size_t socket) const {
  return "rank " + std::to_string(socket) + " of " + std::to_string(size()) + " (" +
         members_[socket].host + ")";
}

// ---- rounds -------------------------------------------------------------------------------------

std::string Group::round(Level level, const std::string& step, const std::string& mine,
                         const Decide& decide) {
  Message message{level, step};
  message.payload = mine;
  return talk(message, decide);
}

std::string Group::round_while(Level level, const std::string& step, const std::string& mine,
                               const Decide& decide, const std::function<void()>& meanwhile) {
  Message message{level, step};
  message.payload = mine;
  return talk(message, decide, meanwhile);
}

void Group::check_all_there() {
  if (!is_lost()) return;
  if (rank_ == 0) lose("");           // the reason is known
  heard(Level::kStep, hear_first());  // rank 0 has said why, or is itself gone
}

void Group::fail(Level level, const std::string& step, const RowFailure& failure) {
  if (failure_) leave(level);
  Message message{level, step, true, failure.status(), failure.what()};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    message.gave_up = giving_up_;
    message.follows = giving_up_ && !failed_before_;
  }
  talk(message, [](const std::vector<std::string>&) { return std::string(); });
  leave(level);  // talk() has thrown
}

void Group::together(Level level, const std::string& step, const std::function<void()>& body) {
  const RowGuard guard(level == Level::kRow ? this : nullptr);
  if (failure_) leave(level);
  try {
    body();
  } catch (const RankLost&) {
    throw;
  } catch (const RowFailure& failure) {
    fail(level, step, failure);
  } catch (const InvalidProblem& error) {
    fail(level, step, RowFailure(Status::kInvalid, error.what()));
  } catch (const std::bad_alloc&) {
    fail(level, step, RowFailure(Status::kOutOfMemory, "out of host memory"));
  } catch (const std::exception& error) {
    fail(level, step, RowFailure(Status::kFailed, error.what()));
  }
  if (failure_) leave(level);  // somebody within it kept the failure to himself
  round(level, step, "", [](const std::vector<std::string>&) { return std::string(); });
}

// The failure of the last round, which all ranks know of: no word more until its level is left.
void Group::leave(Level level) {
  const Failure failure = *failure_;
  if (level <= failure.level) failure_.reset();
  throw RowFailure(failure.status, failure.reason);
}

std::string Group::talk(const Message& mine, const Decide& decide,
                        const std::function<void()>& meanwhile) {
  if (failure_) leave(mine.level);
  const TalkGuard guard(this);
  if (rank_ != 0) send(0, name_of(0), mine.packed());
  const std::exception_ptr failed = meanwhile ? pass_time(meanwhile) : nullptr;
  std::string answer = heard(mine.level, rank_ == 0 ? gather(mine, decide) : hear_first());
  if (failed) std::rethrow_exception(failed);
  return answer;
}

// Until all have spoken. A failure of this rank's own is returned, since it comes too late for this
// round: the others have been told that all is well, and their answer is still to be heard.
std::exception_ptr Group::pass_time(const std::function<void()>& meanwhile) {
  for (Deadline deadline(kRoundS); !all_have_spoken() && deadline.left_s() > 0;) {
    try {
      meanwhile();
    } catch (const RankLost&) {
      throw;
    } catch (...) {
      if (failure_) throw;
      return std::current_exception();
    }
    check_all_there();
  }
  return nullptr;
}

std::string Group::heard(Level level, const std::string& bytes) {
  const Message answer = unpacked(0, bytes);
  if (!answer.failed) return answer.payload;
  failure_ = Failure{answer.level, answer.status, answer.reason};
  leave(level);
}

// Whether gather() or receive() would find what they wait for. Who is gone has spoken, too.
bool Group::all_have_spoken() const {
  std::vector<pollfd> all;
  for (const Socket& socket : sockets_)
    if (socket.is_open()) all.push_back({socket.descriptor(), POLLIN, 0});
  return poll(all.data(), static_cast<nfds_t>(all.size()), 0) == static_cast<int>(all.size());
}

Group::Message Group::unpacked(size_t socket, const std::string& bytes) {
  if (bytes == kEnd) lose(name_of(socket) + " has ended");
  try {
    return Message::unpacked(bytes);
  } catch (const ConnectionError& error) {
    lose(name_of(socket) + " " + error.what());
  }
}

std::string Group::gather(const Message& mine, const Decide& decide) {
  std::vector<Message> all = {mine};
  bool failed = mine.failed, warned = false;
  for (size_t rank = 1; rank < sockets_.size(); ++rank) {
    Deadline deadline(kRoundS);
    while (!sockets_[rank].is_readable(kLookMs) && deadline.left_s() > 0)
      if (!warned && (failed || one_has_failed(rank + 1))) warned = true, warn();
    all.push_back(unpacked(rank, receive(rank, name_of(rank), deadline)));
    failed = failed || all.back().failed;
  }
  const std::string answer = answer_to(all, decide);
  for (size_t rank = 1; rank < sockets_.size(); ++rank) send(rank, name_of(rank), answer);
  return answer;
}

// The first failure is everybody's. Who gave up a call for it tells nothing of its own, but what
// the call was made through may be left halfway: nothing more can run. Ranks that are not at the
// same step, none of which has failed, have taken different decisions: a fault of ours.
std::string Group::answer_to(const std::vector<Message>& all, const Decide& decide) const {
  Message answer = all[0];
  answer.failed = answer.gave_up = answer.follows = false;
  bool gave_up = false;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Message& one = all[rank];
    answer.level = std::min(answer.level, one.level);
    gave_up = gave_up || one.gave_up;
    if (!one.failed || one.follows || answer.failed) continue;
    answer.failed = true;
    answer.status = one.status;
    answer.reason = rank == 0 ? one.reason : "rank " + std::to_string(rank) + ": " + one.reason;
  }
  if (gave_up) answer.failed = true, answer.status = Status::kDeviceLost;
  for (size_t rank = 0; rank < all.size() && !answer.failed; ++rank) {
    if (all[rank].step == all[0].step) continue;
    answer.failed = true;
    answer.level = Level::kRow;
    answer.reason = "rank " + std::to_string(rank) + " is at '" + printable(all[rank].step) +
                    "' while rank 0 is at '" + printable(all[0].step) + "'";
  }
  answer.payload.clear();
  if (answer.failed) return answer.packed();
  std::vector<std::string> payloads;
  for (const Message& one : all) payloads.push_back(one.payload);
  answer.payload = decide(payloads);
  return answer.packed();
}

// ---- rows ---------------------------------------------------------------------------------------

void Group::tell(const std::string& row) {
  for (size_t rank = 1; rank < sockets_.size(); ++rank)
    send(rank, name_of(rank), std::string(kRow) + row);
}

void Group::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    ended_ = true;
    changed_.notify_all();
  }
  while (write(wake_[1], "", 1) < 0 && errno == EINTR) {
  }
  if (rank_ != 0) return;
  Deadline deadline(kLineS);
  for (size_t rank = 1; rank < sockets_.size(); ++rank) {
    try {
      sockets_[rank].send(kEnd, deadline);
    } catch (const ConnectionError&) {  // gone already
    }
  }
}

std::optional<std::string> Group::next_row() {
  Deadline deadline(kForEver);
  std::string message;
  try {
    message = sockets_[0].receive(kLongest, deadline);
  } catch (const ConnectionError& error) {
    lose(name_of(0) + " " + error.what());
  }
  if (message == kEnd) return std::nullopt;
  if (message.compare(0, kRow.size(), kRow) != 0) lose(name_of(0) + " told of no row");
  return message.substr(kRow.size());
}

// ---- connections --------------------------------------------------------------------------------

// Rank 0 tells the others, who else would wait for its answer.
void Group::lose(const std::string& reason) {
  std::string why;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lost_.empty()) lost_ = reason;
    why = lost_;
  }
  const std::string answer = Message{Level::kRow, "", true, Status::kDeviceLost, why}.packed();
  Deadline deadline(1);
  for (size_t rank = 1; rank_ == 0 && rank < sockets_.size(); ++rank) {
    try {
      sockets_[rank].send(answer, deadline);
    } catch (const ConnectionError&) {  // it is the one, or gone as well
    }
    sockets_[rank].shut();
  }
  throw RankLost(why);
}

void Group::send(size_t socket, const std::string& whose, const std::string& message) {
  Deadline deadline(kLineS);
  try {
    sockets_[socket].send(message, deadline);
  } catch (const ConnectionError& error) {
    lose(whose + " " + error.what());
  }
}

std::string Group::receive(size_t socket, const std::string& whose, Deadline& deadline) {
  try {
    return sockets_[socket].receive(kLongest, deadline);
  } catch (const ConnectionError& error) {
    lose(whose + " " + error.what());
  }
}

// Rank 0's answer. Its warning has served where this rank was in a call.
std::string Group::hear_first() {
  Deadline deadline(kRoundS);
  for (;;) {
    const std::string message = receive(0, name_of(0), deadline);
    if (message != kWarning) return message;
  }
}

// ---- free functions -----------------------------------------------------------------------------

void together(Group* group, const std::string& step, const std::function<void()>& body) {
  if (group)
    group->together(Level::kStep, step, body);
  else
    body();
}

double of_first_rank(Group* group, const std::string& step, double mine) {
  if (!group) return mine;
  const std::string answer =
      group->round(Level::kStep, step, Packer().number(mine).bytes(),
                   [](const std::vector<std::string>& all) { return all[0]; });
  return Unpacker(answer).number<double>();
}

}  // namespace deepbench
