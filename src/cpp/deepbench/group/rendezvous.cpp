// Greetings, rejections, and the assignment of ranks to machines.
#include "deepbench/group/rendezvous.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/message.hpp"
#include "deepbench/group/pending_connections.hpp"

namespace deepbench {

// The first message of a rank. Every version keeps the first three fields, so that a rank of
// another version can be authenticated and told the reason of its rejection.
struct Greeting {
  std::string magic, version, secret, host, command;
  int64_t rank = 0, size = 0;
};

namespace {

constexpr std::string_view kMagic = "deepbench rank 1";
constexpr uint64_t kMaxGreetingBytes = 1 << 20;
constexpr int kReconnectDelayMs = 50;  // between attempts to connect
constexpr double kRejectTimeoutS = 5;  // for ranks to receive the rejection
// for the answer to arrive after the last rank has connected
constexpr double kAnswerTimeoutS = 10;
constexpr size_t kShownCommand = 300;
constexpr rlim_t kOtherDescriptors = 512;  // descriptors that libraries may need

std::string greeting_text(const LaunchEnvironment& environment, const LaunchIdentity& identity) {
  Packer packer;
  packer.text(kMagic)
      .text(identity.version)
      .text(environment.secret)
      .text(machine_identity())
      .text(identity.command);
  return packer.number(int64_t{environment.rank}).number(int64_t{environment.size}).bytes();
}

Greeting read_greeting(const std::string& text) {
  Unpacker unpacker(text);
  Greeting greeting;
  greeting.magic = unpacker.text();
  greeting.version = unpacker.text();
  greeting.secret = unpacker.text();
  if (greeting.magic != kMagic) return greeting;
  greeting.host = unpacker.text();
  greeting.command = unpacker.text();
  greeting.rank = unpacker.number<int64_t>();
  greeting.size = unpacker.number<int64_t>();
  return greeting;
}

// Compares every character, so that the duration does not reveal how many were right.
bool is_same_secret(const std::string& ours, const std::string& theirs) {
  unsigned difference = ours.size() == theirs.size() ? 0 : 1;
  for (size_t i = 0; i < theirs.size(); ++i)
    difference |= static_cast<unsigned char>(theirs[i] ^ ours.c_str()[std::min(i, ours.size())]);
  return difference == 0;
}

// The greeting of a rank of this run, whatever its version; nothing for a stranger, which does not
// know the secret or sends an invalid message.
std::optional<Greeting> parse_greeting_with_secret(const std::string& message,
                                                   const std::string& secret) {
  constexpr std::string_view kAnyVersion = kMagic.substr(0, kMagic.size() - 1);
  try {
    Greeting greeting = read_greeting(message);
    if (greeting.magic.compare(0, kAnyVersion.size(), kAnyVersion) != 0) return std::nullopt;
    if (is_same_secret(secret, greeting.secret)) return greeting;
  } catch (const ConnectionError&) {
  }
  return std::nullopt;
}

bool is_loopback(const std::string& address) {
  return address.compare(0, 4, "127.") == 0 || address == "::1" || address == "localhost";
}

// The addresses of the other ranks as rank 0 sees them, and rank 0's address as they see it. Ranks
// that connect over the loopback run on rank 0's machine and share its address.
std::vector<std::string> addresses_of(const std::vector<Socket>& ranks) {
  std::vector<std::string> all(ranks.size());
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    all[rank] = ranks[rank].peer_address();
    if (all[0].empty() || is_loopback(all[0])) all[0] = ranks[rank].address();
  }
  for (std::string& address : all)
    if (is_loopback(address)) address = all[0];
  return all;
}

std::vector<Member> members_of(const std::vector<std::string>& hosts,
                               const std::vector<Socket>& ranks) {
  const std::vector<std::string> addresses = addresses_of(ranks);
  std::map<std::string, int> ranks_on_host;
  std::vector<Member> members;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::string name = hosts[rank].substr(0, hosts[rank].find(' '));
    members.push_back({printable(name, 256), addresses[rank], ranks_on_host[hosts[rank]]++, 0});
  }
  for (size_t rank = 0; rank < hosts.size(); ++rank)
    members[rank].local_size = ranks_on_host[hosts[rank]];
  return members;
}

std::string welcome_text(const std::vector<Member>& members) {
  Packer packer;
  packer.text("");
  for (const Member& member : members)
    packer.text(member.host)
        .text(member.address)
        .number(int64_t{member.local_rank})
        .number(int64_t{member.local_size});
  return packer.bytes();
}

std::string rank_zero_endpoint(const LaunchEnvironment& environment) {
  return environment.address + ":" + std::to_string(environment.port);
}

// Rank 0 has a connection to each rank, and shells often limit a process to 1,024 files although
// the system permits more.
void raise_descriptor_limit(int ranks) {
  rlimit limit;
  const auto wanted = static_cast<rlim_t>(ranks) + kOtherDescriptors;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string seconds_text(double timeout_s) { return to_text(timeout_s) + " s"; }

}  // namespace

std::string machine_identity() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return std::string(name) + " " + boot;
}

Rendezvous::Rendezvous(const LaunchEnvironment& environment, const LaunchIdentity& identity)
    : environment_(environment), identity_(identity) {
  if (environment.rank != 0) return;
  raise_descriptor_limit(environment.size);
  ranks_.resize(size_t(environment.size));
  hosts_.resize(size_t(environment.size));
  try {
    // If all ranks run on this machine, listening on the loopback keeps other machines out.
    listener_ = Socket::listen(is_loopback(environment.address) ? environment.address : "",
                               environment.port);
  } catch (const ConnectionError& error) {
    throw BackendUnavailable("rank 0 of " + std::to_string(environment.size) + " " + error.what() +
                             " (set MASTER_PORT to use another port)");
  }
  environment_.port = listener_.port();
}

std::shared_ptr<Group> Rendezvous::wait() {
  return environment_.rank == 0 ? gather_ranks() : connect_to_rank_zero();
}

std::string Rendezvous::missing_ranks() const {
  std::string names;
  int count = 0;
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].is_open()) continue;
    if (++count <= 8) names += (names.empty() ? "" : " ") + std::to_string(rank);
  }
  if (count > 8) names += " and " + std::to_string(count - 8) + " more";
  return (count == 1 ? "rank " : "ranks ") + names + " of " + std::to_string(environment_.size);
}

void Rendezvous::reject(const std::string& reason, const std::string& answer) {
  const std::string text = Packer().text(answer).bytes();
  Deadline deadline(kRejectTimeoutS);
  for (const Socket& rank : ranks_) {
    if (!rank.is_open()) continue;
    try {
      rank.send(text, deadline);
    } catch (const ConnectionError&) {  // the closed connection tells the rank
    }
  }
  throw BackendUnavailable(reason);
}

// Why this rank cannot join; empty if it can. `rank_zero_command` describes rank 0's command in the
// reason.
std::string Rendezvous::rejection_reason(const Greeting& greeting,
                                         const std::string& rank_zero_command) const {
  const std::string who = "rank " + std::to_string(greeting.rank);
  if (greeting.magic != kMagic || greeting.version != identity_.version)
    return "a rank runs deepbench " + printable(greeting.version) + ", rank 0 runs " +
           identity_.version + ": all ranks must run the same version";
  if (greeting.size != environment_.size)
    return who + " expects " + std::to_string(greeting.size) + " ranks, rank 0 expects " +
           std::to_string(environment_.size);
  if (greeting.rank < 1 || greeting.rank >= environment_.size)
    return "a process claims to be " + who + " of " + std::to_string(environment_.size);
  if (ranks_[size_t(greeting.rank)].is_open()) return "two processes claim to be " + who;
  if (greeting.command != identity_.command)
    return who + " runs '" + printable(greeting.command, kShownCommand) + "', rank 0 runs " +
           rank_zero_command + ": all ranks must run the same command";
  return "";
}

// A stranger's connection is closed without an answer and has no other effect. Without a secret a
// stranger cannot be told from a rank; the answer then omits rank 0's command, because a process
// that knows the command can join.
void Rendezvous::receive_greeting(PendingConnections& connections, Deadline& deadline) {
  std::optional<FirstMessage> first = connections.next(deadline);
  if (!first) return;
  const std::optional<Greeting> greeting =
      parse_greeting_with_secret(first->message, environment_.secret);
  if (!greeting) return;
  const std::string rank_zero_command = "'" + printable(identity_.command, kShownCommand) + "'";
  const std::string reason = rejection_reason(*greeting, rank_zero_command);
  const std::string answer =
      environment_.secret.empty() ? rejection_reason(*greeting, "another command") : reason;
  if (reason.empty()) {
    hosts_[size_t(greeting->rank)] = greeting->host;
    ranks_[size_t(greeting->rank)] = std::move(first->socket);
    return;
  }
  ranks_.push_back(std::move(first->socket));  // the rejected rank receives the answer too
  reject(reason, answer);
}

std::shared_ptr<Group> Rendezvous::gather_ranks() {
  PendingConnections connections(std::move(listener_),
                                 kMaxGreetingBytes);  // the port closes with `connections`
  hosts_[0] = machine_identity();
  Deadline deadline(environment_.timeout_s);
  const auto is_connected = [](const Socket& rank) { return rank.is_open(); };
  while (!std::all_of(ranks_.begin() + 1, ranks_.end(), is_connected)) {
    if (deadline.left_s() == 0)
      reject(missing_ranks() + " did not connect to " + rank_zero_endpoint(environment_) +
             " within " + seconds_text(environment_.timeout_s));
    receive_greeting(connections, deadline);
  }
  std::vector<Member> members = members_of(hosts_, ranks_);
  const std::string welcome = welcome_text(members);
  Deadline answers(kAnswerTimeoutS);
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    try {
      ranks_[rank].send(welcome, answers);
    } catch (const ConnectionError& error) {
      ranks_[rank] = Socket();
      reject("rank " + std::to_string(rank) + " " + error.what() +
             " before all ranks had connected");
    }
  }
  return std::make_shared<Group>(0, std::move(members), std::move(ranks_));
}

// Rank 0 may have closed the connection because it was too slow, so a closed connection is retried.
std::shared_ptr<Group> Rendezvous::connect_to_rank_zero() {
  Deadline deadline(environment_.timeout_s);
  std::string answer;
  Socket socket;
  std::string cure;
  for (std::string reason; answer.empty();) {
    try {
      socket = Socket::connect(environment_.address, environment_.port, deadline);
      cure = "; DEEPBENCH_RANKS_SECRET must be the same on all ranks";
      Deadline answer_deadline(environment_.timeout_s + kAnswerTimeoutS);
      socket.send(greeting_text(environment_, identity_), answer_deadline);
      answer = socket.receive(kMaxGreetingBytes * 16, answer_deadline);
    } catch (const ConnectionError& error) {
      reason = error.what();
      poll(nullptr, 0, kReconnectDelayMs);
      if (deadline.left_s() == 0)
        throw BackendUnavailable("rank " + std::to_string(environment_.rank) + ": rank 0 at " +
                                 rank_zero_endpoint(environment_) + " " + reason + ", within " +
                                 seconds_text(environment_.timeout_s) + cure);
    }
  }
  Unpacker unpacker(answer);
  const std::string rejection = unpacker.text();
  if (!rejection.empty()) throw BackendUnavailable(rejection);
  std::vector<Member> members(static_cast<size_t>(environment_.size));
  for (Member& member : members) {
    member.host = unpacker.text();
    member.address = unpacker.text();
    member.local_rank = static_cast<int>(unpacker.number<int64_t>());
    member.local_size = static_cast<int>(unpacker.number<int64_t>());
  }
  std::vector<Socket> to_rank_zero;
  to_rank_zero.push_back(std::move(socket));
  return std::make_shared<Group>(environment_.rank, std::move(members), std::move(to_rank_zero));
}

}  // namespace deepbench
