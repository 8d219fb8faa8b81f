// Greets and rejects ranks, and assigns them to machines.
#include "deepbench/group/rendezvous.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/handshake.hpp"
#include "deepbench/group/local_socket_path.hpp"
#include "deepbench/group/machine_identity.hpp"
#include "deepbench/group/pending_connections.hpp"

namespace deepbench {

namespace {

// Limit that the greetings of earlier versions, which include their command, do not exceed.
constexpr uint64_t kMaxGreetingBytes = 1 << 20;
constexpr uint64_t kMaxIntroductionBytes = 1 << 13;
constexpr uint64_t kMaxConfirmationBytes = 8;
constexpr uint64_t kMaxAnswerBytes = 1 << 24;
constexpr int kReconnectDelayMs = 50;   // between attempts to connect
constexpr double kAddressTimeoutS = 1;  // for one of several addresses of rank 0, until the next
constexpr double kRejectTimeoutS = 5;   // time for ranks to receive the rejection
// The limits between greeting and challenge, between challenge and introduction, and between a
// welcome and its confirmation.
constexpr double kAnswerTimeoutS = 10;
constexpr double kLeastAnswerTimeoutS = 1;
// The most connections that have not answered the challenge. A rank whose connection is dropped
// connects again.
constexpr size_t kMaxCandidates = 256;
// For connections of strangers and for the needs of libraries.
constexpr rlim_t kOtherDescriptors = 768;

bool is_loopback(const std::string& address) {
  return address.compare(0, 4, "127.") == 0 || address == "::1" || address == "localhost";
}

std::string rank_zero_endpoint(const LaunchEnvironment& environment) {
  if (!environment.sockets.empty()) return "this machine";
  if (!environment.socket_path.empty()) return printable(environment.socket_path, 200);
  const std::string port = ":" + std::to_string(environment.port);
  std::string all = printable(environment.address, 80) + port;
  for (const std::string& address : environment.further_addresses) all += ", " + address + port;
  return all;
}

// The address at which rank 0 listens: the only one that it has, or all of the same family.
std::string listening_address(const LaunchEnvironment& environment) {
  if (environment.further_addresses.empty()) return environment.address;
  return environment.address.find(':') == std::string::npos ? "0.0.0.0" : "::";
}

bool is_on_this_machine(const Socket& connection) {
  const std::string peer = connection.peer_address();
  return is_loopback(peer) || peer == connection.address();
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
    : environment_(environment), identity_(identity), process_(random_nonce()) {
  if (!environment.socket_path.empty()) make_private_folder_of(environment.socket_path);
  if (environment.rank != 0) return;
  raise_descriptor_limit(environment.size);
  seats_.resize(size_t(environment.size));
  listen();
}

void Rendezvous::listen() {
  std::string cure;
  try {
    if (environment_.uses_tcp()) {
      cure =
          "MASTER_ADDR must name an address of this machine; set MASTER_PORT to use another port";
      // Listens only at the address that the ranks use, if they use one.
      listener_ = Socket::listen(listening_address(environment_), environment_.port);
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
  for (size_t rank = 1; rank < seats_.size(); ++rank) {
    if (seats_[rank].socket.is_open()) continue;
    if (++count <= 8) names += (names.empty() ? "" : " ") + std::to_string(rank);
  }
  if (count > 8) names += " and " + std::to_string(count - 8) + " more";
  return (count == 1 ? "rank " : "ranks ") + names + " of " + std::to_string(environment_.size);
}

// What is known about the missing ranks besides their absence.
std::string Rendezvous::hints_about_missing_ranks() const {
  std::string hints;
  for (size_t rank = 1; rank < seats_.size() && hints.empty(); ++rank)
    if (const Seat& seat = seats_[rank]; !seat.socket.is_open() && !seat.loss.empty())
      hints =
          "; rank " + std::to_string(rank) + " " + seat.loss + " before all ranks had connected";
  if (!other_version_.empty()) hints += "; " + other_version_;
  // A name of this machine often stands for a loopback address in /etc/hosts.
  if (environment_.uses_tcp() && is_reachable_from_this_machine_only() &&
      !is_loopback(environment_.address))
    hints += "; it listens at " + listening_address_ +
             ", which other machines do not reach: MASTER_ADDR must name an address of the network";
  return hints;
}

void Rendezvous::reject_missing_ranks() {
  reject(missing_ranks() + " did not connect to " + rank_zero_endpoint(environment_) + " within " +
         seconds_text(environment_.timeout_s) + hints_about_missing_ranks());
}

void Rendezvous::reject(const std::string& reason, const std::string& answer, Socket also) {
  const std::string text = rejection_text(answer);
  Deadline deadline(kRejectTimeoutS);
  const auto tell = [&](Socket& rank) {
    if (!rank.is_open()) return;
    try {
      rank.send(text, deadline);
    } catch (const ConnectionError&) {  // the rank sees that the connection is closed
    }
  };
  tell(also);
  for (Seat& seat : seats_) tell(seat.socket);
  throw BackendUnavailable(reason);
}

std::string Rendezvous::other_version_reason(const std::string& version) const {
  return "a rank runs deepbench " + printable(version) + ", rank 0 runs " + identity_.version +
         ": all ranks must run the same version";
}

// The reason why this rank cannot join; empty if it can. `rank_zero_command` describes rank 0's
// command in the reason.
std::string Rendezvous::rejection_reason(const std::string& version,
                                         const Introduction& introduction,
                                         const std::string& rank_zero_command) const {
  const std::string who = "rank " + std::to_string(introduction.rank);
  if (version != identity_.version) return other_version_reason(version);
  if (introduction.size != environment_.size)
    return who + " expects " + std::to_string(introduction.size) + " ranks, rank 0 expects " +
           std::to_string(environment_.size);
  if (introduction.rank < 1 || introduction.rank >= environment_.size)
    return "a process claims to be " + who + " of " + std::to_string(environment_.size);
  const Seat& seat = seats_[size_t(introduction.rank)];
  if (seat.socket.is_open() && seat.process != introduction.process)
    return "two processes claim to be " + who;
  if (introduction.command_hash != hash_of_command(identity_.command))
    return who + " runs '" + printable(introduction.command_begin, kShownCommandBytes) +
           "', rank 0 runs " + rank_zero_command + ": all ranks must run the same command";
  return "";
}

// A stranger's connection is closed without an answer and has no other effect.
void Rendezvous::receive_greeting(FirstMessage first) {
  const std::optional<Greeting> greeting = parse_greeting(first.message, environment_.secret);
  if (!greeting) return;
  first.socket.authenticate(challenge_key(environment_.secret, greeting->nonce),
                            ConnectionEnd::kRankZero);
  if (greeting->handshake != kHandshake)
    return refuse_other_handshake(std::move(first.socket), greeting->version);
  challenge(std::move(first.socket), *greeting);
}

// With a secret, a greeting alone has no effect: a stranger may have recorded it and may repeat it.
void Rendezvous::refuse_other_handshake(Socket socket, const std::string& version) {
  const std::string reason = other_version_reason(version);
  if (environment_.secret.empty()) reject(reason, reason, std::move(socket));
  other_version_ = reason;
  try {
    Deadline at_once(0);
    socket.send(rejection_text(reason), at_once);
  } catch (const ConnectionError&) {  // the rank is gone
  }
}

void Rendezvous::challenge(Socket socket, const Greeting& greeting) {
  const std::string nonce = random_nonce();
  try {
    Deadline at_once(0);  // a new connection has room for a small message
    socket.send(challenge_text(nonce), at_once);
  } catch (const ConnectionError&) {
    return;
  }
  socket.authenticate(session_key(environment_.secret, greeting.nonce, nonce),
                      ConnectionEnd::kRankZero);
  if (candidates_.size() == kMaxCandidates && environment_.sockets.empty())
    candidates_.erase(candidates_.begin());
  candidates_.push_back({std::move(socket), "", greeting.version, Deadline(silence_limit_s())});
}

// The limit is longer on an inherited connection, of which only rank 0 and its rank have the ends,
// and which cannot be replaced.
double Rendezvous::silence_limit_s() const {
  if (!environment_.sockets.empty()) return environment_.timeout_s;
  return std::min(kAnswerTimeoutS, environment_.timeout_s);
}

void Rendezvous::receive_introductions() {
  for (Candidate& one : std::exchange(candidates_, {})) {
    try {
      if (one.socket.receive_available(kMaxIntroductionBytes, &one.part))
        take_seat(std::move(one.socket), one.version, parse_introduction(one.part));
      else if (one.silence.left_s() > 0)
        candidates_.push_back(std::move(one));
    } catch (const ConnectionError&) {  // the connection is closed and dropped
    }
  }
}

// Gives a rank its seat. Without a secret a stranger cannot be distinguished from a rank; a
// rejection then omits rank 0's command, because a process that knows the command can join. A
// process that has a seat already has lost its connection and connected again.
void Rendezvous::take_seat(Socket socket, const std::string& version,
                           const Introduction& introduction) {
  const std::string command = "'" + printable(identity_.command, kShownCommandBytes) + "'";
  const std::string reason = rejection_reason(version, introduction, command);
  if (!reason.empty())
    reject(reason,
           environment_.secret.empty() ? rejection_reason(version, introduction, "another command")
                                       : reason,
           std::move(socket));
  const auto rank = size_t(introduction.rank);
  free_seat(rank, "");
  seats_[rank].socket = std::move(socket);
  seats_[rank].process = introduction.process;
  seats_[rank].host = introduction.host;
}

// Frees a seat. A welcome that was sent becomes void, since the members change.
void Rendezvous::free_seat(size_t rank, const std::string& loss) {
  seats_[rank] = Seat();
  seats_[rank].loss = loss;
  confirmation_.reset();
}

// Receives confirmations, and frees the seats of ranks that are gone.
void Rendezvous::receive_from_seats() {
  const bool is_late = confirmation_ && confirmation_->left_s() == 0;
  for (size_t rank = 1; rank < seats_.size(); ++rank) {
    Seat& seat = seats_[rank];
    if (!seat.socket.is_open()) continue;
    try {
      if (seat.socket.receive_available(kMaxConfirmationBytes, &seat.part))
        seat.confirmed = parse_confirmation(std::exchange(seat.part, ""));
      if (is_late && seat.confirmed != welcome_) free_seat(rank, "was silent");
    } catch (const ConnectionError& error) {
      free_seat(rank, error.what());
    }
  }
}

bool Rendezvous::all_seats_are_taken() const {
  return std::all_of(seats_.begin() + 1, seats_.end(),
                     [](const Seat& seat) { return seat.socket.is_open(); });
}

bool Rendezvous::all_have_confirmed() const {
  return confirmation_ && std::all_of(seats_.begin() + 1, seats_.end(),
                                      [&](const Seat& seat) { return seat.confirmed == welcome_; });
}

// The addresses of the other ranks as rank 0 sees them, and rank 0's address as they see it. Ranks
// on rank 0's machine share its address, as ranks on other machines see it if there are any.
std::vector<std::string> Rendezvous::addresses() const {
  std::vector<std::string> all(seats_.size());
  for (size_t rank = 1; rank < seats_.size(); ++rank) {
    const Socket& connection = seats_[rank].socket;
    const bool is_elsewhere = !is_on_this_machine(connection);
    if (is_elsewhere) all[rank] = connection.peer_address();
    if (all[0].empty() || is_loopback(all[0]) || is_elsewhere) all[0] = connection.address();
  }
  for (std::string& address : all)
    if (address.empty()) address = all[0];
  return all;
}

std::vector<Member> Rendezvous::members() const {
  const std::vector<std::string> all_addresses = addresses();
  std::map<std::string, int> ranks_on_host;
  std::vector<Member> members;
  for (size_t rank = 0; rank < seats_.size(); ++rank) {
    const std::string& host = seats_[rank].host;
    const std::string name = host.substr(0, host.find(' '));
    members.push_back({printable(name, 256), all_addresses[rank], ranks_on_host[host]++, 0});
  }
  for (size_t rank = 0; rank < seats_.size(); ++rank)
    members[rank].local_size = ranks_on_host[seats_[rank].host];
  return members;
}

// The connections on which rank 0 expects greetings. The port closes with them.
PendingConnections Rendezvous::pending_connections() {
  if (environment_.sockets.empty()) return {std::move(listener_), kMaxGreetingBytes};
  std::vector<Socket> connected;
  for (const int descriptor : environment_.sockets)
    connected.push_back(Socket::inherited(descriptor));
  return {std::move(connected), kMaxGreetingBytes};
}

// Waits until a connection has something to read or has been silent for too long.
void Rendezvous::wait_for_messages(PendingConnections& connections, Deadline& deadline) {
  double left_s = confirmation_ ? confirmation_->left_s() : deadline.left_s();
  std::vector<int> watched;
  for (Candidate& one : candidates_) {
    watched.push_back(one.socket.descriptor());
    left_s = std::min(left_s, one.silence.left_s());
  }
  for (const Seat& seat : seats_)
    if (seat.socket.is_open()) watched.push_back(seat.socket.descriptor());
  Deadline until(left_s);
  if (std::optional<FirstMessage> first = connections.next(until, watched))
    receive_greeting(std::move(*first));
  receive_introductions();
  receive_from_seats();
}

std::shared_ptr<Group> Rendezvous::gather_ranks() {
  PendingConnections connections = pending_connections();
  SocketFile file = std::move(socket_file_);  // destroyed, and removed, before its socket
  seats_[0].host = machine_identity();
  Deadline deadline(environment_.timeout_s);
  while (!all_have_confirmed()) {
    if (!confirmation_ && all_seats_are_taken())
      welcome_ranks();
    else if (!confirmation_ && deadline.left_s() == 0)
      reject_missing_ranks();
    else
      wait_for_messages(connections, deadline);
  }
  file.remove();
  candidates_.clear();  // connections without a seat do not belong to the group
  return begin();
}

// Sends every rank its welcome. A rank that cannot receive it loses its seat.
void Rendezvous::welcome_ranks() {
  const std::string welcome = welcome_text({++welcome_, members()});
  confirmation_.emplace(silence_limit_s());
  Deadline deadline(kAnswerTimeoutS);
  for (size_t rank = 1; rank < seats_.size(); ++rank) {
    try {
      seats_[rank].socket.send(welcome, deadline);
    } catch (const ConnectionError& error) {
      free_seat(rank, error.what());
    }
  }
}

// Begins the group, which itself notices ranks that are gone by now.
std::shared_ptr<Group> Rendezvous::begin() {
  const std::string text = welcome_text({Welcome::kBegin, {}});
  std::vector<Member> all = members();
  std::vector<Socket> sockets;
  Deadline deadline(kAnswerTimeoutS);
  for (Seat& seat : seats_) {
    try {
      if (seat.socket.is_open()) seat.socket.send(text, deadline);
    } catch (const ConnectionError&) {
      seat.socket.shutdown();
    }
    sockets.push_back(std::move(seat.socket));
  }
  return std::make_shared<Group>(0, std::move(all), std::move(sockets));
}

Socket Rendezvous::connection_to_rank_zero(Deadline& deadline) const {
  if (!environment_.sockets.empty()) return Socket::inherited(environment_.sockets[0]);
  if (!environment_.socket_path.empty()) return connect_to_path(environment_.socket_path, deadline);
  if (environment_.further_addresses.empty())
    return Socket::connect(environment_.address, environment_.port, deadline);
  Deadline attempt(std::min(kAddressTimeoutS, deadline.left_s()));
  return Socket::connect(environment_.address, environment_.port, attempt);
}

// The next attempt goes to the next address: a stranger may listen at one that other machines have
// too.
void Rendezvous::take_next_address() {
  if (environment_.further_addresses.empty()) return;
  environment_.further_addresses.push_back(std::move(environment_.address));
  environment_.address = std::move(environment_.further_addresses.front());
  environment_.further_addresses.erase(environment_.further_addresses.begin());
}

// Greets rank 0, which answers at once. A process that does not is a stranger at rank 0's address,
// and the rank connects again.
void Rendezvous::greet_rank_zero(Socket& socket, Deadline& deadline) const {
  const double limit_s = std::min(deadline.left_s(), silence_limit_s());
  Deadline answer(std::max(limit_s, kLeastAnswerTimeoutS));
  const Greeting greeting = {std::string(kHandshake), identity_.version, random_nonce()};
  std::string nonce;
  try {
    socket.send(greeting_text(greeting, environment_.secret), answer);
    socket.authenticate(challenge_key(environment_.secret, greeting.nonce),
                        ConnectionEnd::kOtherRank);
    nonce = parse_challenge(socket.receive(kMaxAnswerBytes, answer));
  } catch (const ConnectionTimeout&) {
    throw ConnectionError("sent no answer");
  }
  socket.authenticate(session_key(environment_.secret, greeting.nonce, nonce),
                      ConnectionEnd::kOtherRank);
  const Introduction introduction = {environment_.rank,
                                     environment_.size,
                                     process_,
                                     machine_identity(),
                                     hash_of_command(identity_.command),
                                     identity_.command.substr(0, kShownCommandBytes + 4)};
  socket.send(introduction_text(introduction), answer);
}

// Confirms each welcome until all ranks have confirmed the same one.
std::shared_ptr<Group> Rendezvous::join_group(Socket socket) const {
  // Includes the time for the other ranks to arrive, for a last welcome, and for all confirmations.
  Deadline deadline(environment_.timeout_s * (environment_.sockets.empty() ? 1 : 2) +
                    3 * kAnswerTimeoutS);
  std::vector<Member> members;
  for (;;) {
    Welcome welcome = parse_welcome(socket.receive(kMaxAnswerBytes, deadline), environment_.size);
    if (welcome.number == Welcome::kBegin) break;
    members = std::move(welcome.members);
    socket.send(confirmation_text(welcome.number), deadline);
  }
  if (members.empty()) throw ConnectionError("sent an invalid message");
  std::vector<Socket> to_rank_zero;
  to_rank_zero.push_back(std::move(socket));
  return std::make_shared<Group>(environment_.rank, std::move(members), std::move(to_rank_zero));
}

std::shared_ptr<Group> Rendezvous::connect_to_rank_zero() {
  Deadline deadline(environment_.timeout_s);
  const std::string who = "rank " + std::to_string(environment_.rank) + ": rank 0 at " +
                          rank_zero_endpoint(environment_) + " ";
  // Why the latest connection ended that rank 0 had accepted. Rank 0 stops listening at its own
  // limit, after which connections are refused.
  std::string reason;
  for (;;) {
    bool is_greeting = false;
    try {
      Socket socket = connection_to_rank_zero(deadline);
      is_greeting = true;
      greet_rank_zero(socket, deadline);
      is_greeting = false;
      reason.clear();
      return join_group(std::move(socket));
    } catch (const ConnectionTimeout& error) {
      throw BackendUnavailable(who + error.what());
    } catch (const ConnectionError& error) {
      poll(nullptr, 0, kReconnectDelayMs);
      std::string latest = error.what() + (", within " + seconds_text(environment_.timeout_s));
      if (is_greeting) latest += "; DEEPBENCH_RANKS_SECRET must be the same on all ranks";
      if (is_greeting || reason.empty()) reason = std::move(latest);
      if (deadline.left_s() == 0 || !environment_.sockets.empty())
        throw BackendUnavailable(who + reason);
      take_next_address();
    }
  }
}

}  // namespace deepbench
