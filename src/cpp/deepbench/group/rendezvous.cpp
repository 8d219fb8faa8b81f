// Greetings, rejections, and the assignment of ranks to machines.
#include "deepbench/group/rendezvous.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/blake2s.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/local_socket_path.hpp"
#include "deepbench/group/machine_identity.hpp"
#include "deepbench/group/message.hpp"
#include "deepbench/group/pending_connections.hpp"

namespace deepbench {

// The first message of a rank: these fields, then a code of them that proves the secret. Every
// version keeps the first three fields and the code, so that a rank of another version can be
// authenticated and told the reason of its rejection.
struct Greeting {
  std::string magic, version, nonce, host, command;
  int64_t rank = 0, size = 0;
};

namespace {

constexpr std::string_view kMagic = "deepbench rank 2";
constexpr uint64_t kMaxGreetingBytes = 1 << 20;
constexpr int kReconnectDelayMs = 50;  // between attempts to connect
constexpr double kRejectTimeoutS = 5;  // for ranks to receive the rejection
// for the answer to arrive after the last rank has connected
constexpr double kAnswerTimeoutS = 10;
constexpr size_t kShownCommand = 300;
constexpr rlim_t kOtherDescriptors = 512;  // descriptors that libraries may need
constexpr size_t kKeyBytes = 32, kCodeBytes = 16, kNonceBytes = 16;

// Bytes that differ in each connection.
std::string random_nonce() {
  std::random_device random;
  std::string nonce(kNonceBytes, '\0');
  for (char& byte : nonce) byte = static_cast<char>(random());
  return nonce;
}

// A key made of the secret, whatever its length. Without a secret everyone can make it.
std::string derived_key(const std::string& secret, const std::string& purpose) {
  return blake2s(secret.empty() ? "" : blake2s("", secret, kKeyBytes), purpose, kKeyBytes);
}

std::string greeting_code(std::string_view fields, const std::string& secret) {
  return blake2s(derived_key(secret, "greeting"), fields, kCodeBytes);
}

// The key of rank 0's answer to a greeting.
std::string answer_key(const std::string& secret, const std::string& nonce) {
  return derived_key(secret, "answer" + nonce);
}

// The key of all messages after the answer, to which both sides have contributed.
std::string session_key(const std::string& secret, const std::string& nonce,
                        const std::string& nonce_of_rank_zero) {
  return derived_key(secret, "session" + nonce + nonce_of_rank_zero);
}

std::string greeting_text(const LaunchEnvironment& environment, const LaunchIdentity& identity,
                          const std::string& nonce) {
  Packer packer;
  packer.text(kMagic).text(identity.version).text(nonce);
  packer.text(machine_identity()).text(identity.command);
  packer.number(int64_t{environment.rank}).number(int64_t{environment.size});
  return packer.bytes() + greeting_code(packer.bytes(), environment.secret);
}

Greeting read_greeting(std::string_view fields) {
  Unpacker unpacker(fields);
  Greeting greeting;
  greeting.magic = unpacker.text();
  greeting.version = unpacker.text();
  greeting.nonce = unpacker.text();
  if (greeting.magic != kMagic) return greeting;
  greeting.host = unpacker.text();
  greeting.command = unpacker.text();
  greeting.rank = unpacker.number<int64_t>();
  greeting.size = unpacker.number<int64_t>();
  return greeting;
}

// The greeting of a rank of this run, whatever its version; nothing for a stranger, which does not
// know the secret or sends an invalid message.
std::optional<Greeting> parse_greeting_with_secret(std::string_view message,
                                                   const std::string& secret) {
  constexpr std::string_view kAnyVersion = kMagic.substr(0, kMagic.size() - 1);
  if (message.size() < kCodeBytes) return std::nullopt;
  const std::string_view code = message.substr(message.size() - kCodeBytes);
  message.remove_suffix(kCodeBytes);
  if (!is_equal_in_constant_time(code, greeting_code(message, secret))) return std::nullopt;
  try {
    Greeting greeting = read_greeting(message);
    if (greeting.magic.compare(0, kAnyVersion.size(), kAnyVersion) == 0) return greeting;
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

std::string welcome_text(const std::vector<Member>& members, const std::string& nonce) {
  Packer packer;
  packer.text("").text(nonce);
  for (const Member& member : members)
    packer.text(member.host)
        .text(member.address)
        .number(int64_t{member.local_rank})
        .number(int64_t{member.local_size});
  return packer.bytes();
}

std::string rank_zero_endpoint(const LaunchEnvironment& environment) {
  if (!environment.sockets.empty()) return "this machine";
  if (!environment.socket_path.empty()) return environment.socket_path;
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

Rendezvous::Rendezvous(const LaunchEnvironment& environment, const LaunchIdentity& identity)
    : environment_(environment), identity_(identity) {
  if (!environment.socket_path.empty()) make_private_folder_of(environment.socket_path);
  if (environment.rank != 0) return;
  raise_descriptor_limit(environment.size);
  ranks_.resize(size_t(environment.size));
  hosts_.resize(size_t(environment.size));
  nonces_.resize(size_t(environment.size));
  listen();
}

void Rendezvous::listen() {
  std::string cure;
  try {
    if (environment_.uses_tcp()) {
      cure =
          "MASTER_ADDR must name an address of this machine; set MASTER_PORT to use another port";
      // No other address of this machine is opened than the one that the ranks use.
      listener_ = Socket::listen(environment_.address, environment_.port);
      environment_.port = listener_.port();
      listening_address_ = listener_.address();
    } else if (!environment_.socket_path.empty()) {
      cure = "set MASTER_PORT to another number for one of two runs at the same time";
      LocalListener local = listen_at_path(environment_.socket_path);
      listener_ = std::move(local.socket);
      socket_file_ = std::move(local.file);
    }
  } catch (const ConnectionError& error) {
    throw BackendUnavailable("rank 0 of " + std::to_string(environment_.size) + " " + error.what() +
                             " (" + cure + ")");
  }
}

bool Rendezvous::is_reachable_from_this_machine_only() const {
  return !environment_.uses_tcp() || is_loopback(listening_address_);
}

std::string Rendezvous::warning() const {
  if (environment_.rank != 0 || !environment_.secret.empty() ||
      is_reachable_from_this_machine_only())
    return "";
  return "the ranks have no secret: whoever reaches port " + std::to_string(port()) + " of " +
         listening_address_ +
         " can join or end this run; set DEEPBENCH_RANKS_SECRET to the same value on all ranks";
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

// A name of this machine often stands for a loopback address in /etc/hosts.
void Rendezvous::reject_missing_ranks() {
  std::string cure;
  if (environment_.uses_tcp() && is_reachable_from_this_machine_only() &&
      !is_loopback(environment_.address))
    cure = "; it listens at " + listening_address_ +
           ", which other machines do not reach: MASTER_ADDR must name an address of the network";
  reject(missing_ranks() + " did not connect to " + rank_zero_endpoint(environment_) + " within " +
         seconds_text(environment_.timeout_s) + cure);
}

void Rendezvous::reject(const std::string& reason, const std::string& answer) {
  const std::string text = Packer().text(answer).bytes();
  Deadline deadline(kRejectTimeoutS);
  for (Socket& rank : ranks_) {
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
  first->socket.authenticate(answer_key(environment_.secret, greeting->nonce),
                             ConnectionEnd::kRankZero);
  const std::string rank_zero_command = "'" + printable(identity_.command, kShownCommand) + "'";
  const std::string reason = rejection_reason(*greeting, rank_zero_command);
  const std::string answer =
      environment_.secret.empty() ? rejection_reason(*greeting, "another command") : reason;
  if (reason.empty()) {
    hosts_[size_t(greeting->rank)] = greeting->host;
    nonces_[size_t(greeting->rank)] = greeting->nonce;
    ranks_[size_t(greeting->rank)] = std::move(first->socket);
    return;
  }
  ranks_.push_back(std::move(first->socket));  // the rejected rank receives the answer too
  reject(reason, answer);
}

// The connections on which rank 0 expects greetings. The port closes with them.
PendingConnections Rendezvous::pending_connections() {
  if (environment_.sockets.empty()) return {std::move(listener_), kMaxGreetingBytes};
  std::vector<Socket> connected;
  for (const int descriptor : environment_.sockets)
    connected.push_back(Socket::inherited(descriptor));
  return {std::move(connected), kMaxGreetingBytes};
}

std::shared_ptr<Group> Rendezvous::gather_ranks() {
  PendingConnections connections = pending_connections();
  SocketFile file = std::move(socket_file_);  // removed ahead of the end of its socket
  hosts_[0] = machine_identity();
  Deadline deadline(environment_.timeout_s);
  const auto is_connected = [](const Socket& rank) { return rank.is_open(); };
  while (!std::all_of(ranks_.begin() + 1, ranks_.end(), is_connected)) {
    if (deadline.left_s() == 0) reject_missing_ranks();
    receive_greeting(connections, deadline);
  }
  file.remove();
  std::vector<Member> members = members_of(hosts_, ranks_);
  welcome_ranks(members);
  return std::make_shared<Group>(0, std::move(members), std::move(ranks_));
}

void Rendezvous::welcome_ranks(const std::vector<Member>& members) {
  const std::string nonce = random_nonce();
  const std::string welcome = welcome_text(members, nonce);
  Deadline deadline(kAnswerTimeoutS);
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    try {
      ranks_[rank].send(welcome, deadline);
    } catch (const ConnectionError& error) {
      ranks_[rank] = Socket();
      reject("rank " + std::to_string(rank) + " " + error.what() +
             " before all ranks had connected");
    }
    ranks_[rank].authenticate(session_key(environment_.secret, nonces_[rank], nonce),
                              ConnectionEnd::kRankZero);
  }
}

Socket Rendezvous::connection_to_rank_zero(Deadline& deadline) const {
  if (!environment_.sockets.empty()) return Socket::inherited(environment_.sockets[0]);
  if (!environment_.socket_path.empty()) return connect_to_path(environment_.socket_path, deadline);
  return Socket::connect(environment_.address, environment_.port, deadline);
}

// Rank 0 may have closed the connection because it was too slow, so a closed connection is retried.
std::shared_ptr<Group> Rendezvous::connect_to_rank_zero() {
  Deadline deadline(environment_.timeout_s);
  std::string answer, nonce, cure;
  Socket socket;
  for (std::string reason; answer.empty();) {
    try {
      socket = connection_to_rank_zero(deadline);
      cure = "; DEEPBENCH_RANKS_SECRET must be the same on all ranks";
      Deadline answer_deadline(environment_.timeout_s + kAnswerTimeoutS);
      nonce = random_nonce();
      socket.send(greeting_text(environment_, identity_, nonce), answer_deadline);
      socket.authenticate(answer_key(environment_.secret, nonce), ConnectionEnd::kOtherRank);
      answer = socket.receive(kMaxGreetingBytes * 16, answer_deadline);
    } catch (const ConnectionError& error) {
      reason = error.what();
      poll(nullptr, 0, kReconnectDelayMs);
      if (deadline.left_s() == 0 || !environment_.sockets.empty())
        throw BackendUnavailable("rank " + std::to_string(environment_.rank) + ": rank 0 at " +
                                 rank_zero_endpoint(environment_) + " " + reason + ", within " +
                                 seconds_text(environment_.timeout_s) + cure);
    }
  }
  Unpacker unpacker(answer);
  const std::string rejection = unpacker.text();
  if (!rejection.empty()) throw BackendUnavailable(rejection);
  socket.authenticate(session_key(environment_.secret, nonce, unpacker.text()),
                      ConnectionEnd::kOtherRank);
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
