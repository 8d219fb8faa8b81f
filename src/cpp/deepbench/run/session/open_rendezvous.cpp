// Starts MPI, if the ranks need it to meet, and broadcasts where rank 0 listens.
#include "deepbench/run/session/open_rendezvous.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deepbench/backend/mpi_library.hpp"
#include "deepbench/core/attributes.hpp"
#include "deepbench/core/start_thread.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/handshake.hpp"
#include "deepbench/group/message.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {
namespace {

using plugin::SharedLibrary;

constexpr size_t kContactBytes = 4096;
constexpr size_t kMaxFailureBytes = 1000;
constexpr size_t kMaxAddresses = 16;
constexpr int kPollMs = 10;
constexpr const char* kNeitherByMpi = "; nor can the ranks meet by MPI: ";

// What rank 0 tells the other ranks.
struct Contact {
  std::string failure;  // why rank 0 does not listen; "": it does
  std::vector<std::string> addresses;
  int port = 0;
  std::string secret;
};

std::string packed(const Contact& contact) {
  Packer packer;
  packer.text(contact.failure.substr(0, kMaxFailureBytes)).texts(contact.addresses);
  packer.number(int64_t{contact.port}).text(contact.secret);
  std::string bytes = packer.bytes();
  bytes.resize(kContactBytes);
  return bytes;
}

Contact unpacked(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Contact contact;
  contact.failure = unpacker.text();
  contact.addresses = unpacker.texts();
  contact.port = static_cast<int>(unpacker.number<int64_t>());
  contact.secret = unpacker.text();
  return contact;
}

// Calls a function once the limit is reached, unless it is destroyed before.
class TimeLimit {
 public:
  TimeLimit(double seconds, std::function<void()> at_limit)
      : watcher_(start_thread("the time limit of MPI", [this, seconds, at_limit] {
          Deadline deadline(seconds);
          while (!is_kept_ && deadline.left_s() > 0) poll(nullptr, 0, kPollMs);
          if (!is_kept_) at_limit();
        })) {}
  ~TimeLimit() {
    is_kept_ = true;
    watcher_.join();
  }

 private:
  std::atomic<bool> is_kept_{false};
  std::thread watcher_;
};

std::string numeric_address(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& one = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&one)) inet_ntop(AF_INET6, &one, text, sizeof text);
  }
  return text;
}

// The addresses by which other machines may reach this one. They are of one family, since rank 0
// has one listener. A machine without a network has only its loopback address.
std::vector<std::string> addresses_of_this_machine() {
  std::vector<std::string> ipv4, ipv6;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {"127.0.0.1"};
  for (const ifaddrs* one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK)) continue;
    const std::string text = numeric_address(one->ifa_addr);
    std::vector<std::string>& family = one->ifa_addr->sa_family == AF_INET ? ipv4 : ipv6;
    if (!text.empty() && family.size() < kMaxAddresses) family.push_back(text);
  }
  freeifaddrs(first);
  if (!ipv4.empty()) return ipv4;
  return ipv6.empty() ? std::vector<std::string>{"127.0.0.1"} : ipv6;
}

// A secret that the user has set on all ranks stays in force: MPI sends the other one in the clear.
LaunchEnvironment with_contact(LaunchEnvironment environment, const Contact& contact) {
  environment.address = contact.addresses.at(0);
  environment.further_addresses = {contact.addresses.begin() + 1, contact.addresses.end()};
  environment.port = contact.port;
  if (environment.secret.empty()) environment.secret = contact.secret;
  return environment;
}

// Listens on rank 0. Its failure becomes the contact's, so that the other ranks do not wait for it.
std::unique_ptr<Rendezvous> listen(const LaunchEnvironment& environment,
                                   const LaunchIdentity& identity, Contact& contact) {
  contact = {"", addresses_of_this_machine(), environment.port, random_nonce()};
  try {
    auto rendezvous = std::make_unique<Rendezvous>(with_contact(environment, contact), identity);
    contact.port = rendezvous->port();
    return rendezvous;
  } catch (const BackendUnavailable& error) {
    contact.failure = error.what();
    return nullptr;
  }
}

template <class Kind>
void broadcast(const SharedLibrary& mpi, Contact& contact) {
  using Handle = typename Kind::Handle;
  int (*function)(void*, int, Handle, int, Handle) = nullptr;
  if (!mpi.bind(function, "MPI_Bcast")) throw BackendUnavailable(mpi.path() + " has no MPI_Bcast");
  std::string bytes = packed(contact);
  const int error = function(bytes.data(), static_cast<int>(bytes.size()), Kind::byte_type(mpi), 0,
                             Kind::comm_world(mpi));
  if (error != 0) throw BackendUnavailable("MPI_Bcast: error " + std::to_string(error));
  contact = unpacked(bytes);
}

template <class Kind>
std::unique_ptr<Rendezvous> meet_by_mpi(const LaunchEnvironment& environment,
                                        const LaunchIdentity& identity, const SharedLibrary& mpi) {
  std::string reason = plugin::start_mpi(mpi);
  if (reason.empty())
    reason = plugin::mpi_place_mismatch<Kind>(mpi, environment.rank, environment.size);
  if (!reason.empty())
    throw BackendUnavailable(missing_address_reason(environment) + kNeitherByMpi + reason);
  Contact contact;
  std::unique_ptr<Rendezvous> rendezvous;
  if (environment.rank == 0) rendezvous = listen(environment, identity, contact);
  broadcast<Kind>(mpi, contact);
  if (!contact.failure.empty()) throw BackendUnavailable(contact.failure);
  if (environment.rank != 0)
    rendezvous = std::make_unique<Rendezvous>(with_contact(environment, contact), identity);
  return rendezvous;
}

// The library that the CPU backend takes too. Throws BackendUnavailable if there is none.
SharedLibrary mpi_library(const LaunchEnvironment& environment) {
  const std::vector<std::string> names = plugin::mpi_library_names();
  const plugin::SearchResult found = plugin::find_library(
      plugin::host_library_locations(reinterpret_cast<const void*>(&open_rendezvous)), names,
      SharedLibrary::SymbolScope::kGlobal, [](const SharedLibrary&) { return ""; });
  std::string reason = found.failure;
  if (found.library.loaded())
    reason = plugin::unknown_mpi_reason(found.library);
  else if (reason.empty())
    reason = names.front() + " was not found; " + plugin::kMpiCure;
  if (reason.empty()) return found.library;
  throw BackendUnavailable(missing_address_reason(environment) + kNeitherByMpi + reason);
}

}  // namespace

std::unique_ptr<Rendezvous> open_rendezvous(
    const LaunchEnvironment& environment, const LaunchIdentity& identity,
    const std::function<void(const std::string& message)>& end_process) {
  if (!environment.meets_by_mpi) return std::make_unique<Rendezvous>(environment, identity);
  const SharedLibrary mpi = mpi_library(environment);
  const TimeLimit limit(environment.timeout_s, [&] {
    end_process("MPI has not brought the ranks together within " + to_text(environment.timeout_s) +
                " s; set MASTER_ADDR on every rank to the host of rank 0, which then names the "
                "missing ranks (" +
                mpi.path() + ")");
  });
  return plugin::is_open_mpi(mpi) ? meet_by_mpi<plugin::OpenMpi>(environment, identity, mpi)
                                  : meet_by_mpi<plugin::Mpich>(environment, identity, mpi);
}

}  // namespace deepbench
