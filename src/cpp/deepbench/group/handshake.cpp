// Packs and reads the messages of the handshake.
#include "deepbench/group/handshake.hpp"

#include <random>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/blake2s.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/message.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {
namespace {

constexpr size_t kKeyBytes = 32, kNonceBytes = 16;
constexpr size_t kMaxReasonBytes = 4096, kMaxNameBytes = 256;

// Derives a key from the secret, which may have any length. Without a secret, everyone can derive
// it.
std::string derived_key(const std::string& secret, const std::string& purpose) {
  return blake2s(secret.empty() ? "" : blake2s("", secret, kKeyBytes), purpose, kKeyBytes);
}

std::string greeting_code(std::string_view fields, const std::string& secret) {
  return blake2s(derived_key(secret, "greeting"), fields, kCodeBytes);
}

// Reads the reason of a rejection from a message of rank 0, and throws it if there is one. Returns
// the rest of the message.
Unpacker after_rejection(std::string_view message) {
  Unpacker unpacker(message);
  const std::string rejection = unpacker.text();
  if (!rejection.empty()) throw BackendUnavailable(printable(rejection, kMaxReasonBytes));
  return unpacker;
}

}  // namespace

std::string random_nonce() {
  std::random_device random;
  std::string nonce(kNonceBytes, '\0');
  for (char& byte : nonce) byte = static_cast<char>(random());
  return nonce;
}

std::string greeting_text(const Greeting& greeting, const std::string& secret) {
  Packer packer;
  packer.text(greeting.handshake).text(greeting.version).text(greeting.nonce);
  return packer.bytes() + greeting_code(packer.bytes(), secret);
}

std::optional<Greeting> parse_greeting(std::string_view message, const std::string& secret) {
  constexpr std::string_view kAnyVersion = kHandshake.substr(0, kHandshake.size() - 1);
  if (message.size() < kCodeBytes) return std::nullopt;
  const std::string_view code = message.substr(message.size() - kCodeBytes);
  message.remove_suffix(kCodeBytes);
  if (!is_equal_in_constant_time(code, greeting_code(message, secret))) return std::nullopt;
  try {
    Unpacker unpacker(message);
    Greeting greeting = {unpacker.text(), unpacker.text(), unpacker.text()};
    if (greeting.handshake.compare(0, kAnyVersion.size(), kAnyVersion) == 0) return greeting;
  } catch (const ConnectionError&) {
  }
  return std::nullopt;
}

std::string introduction_text(const Introduction& introduction) {
  Packer packer;
  packer.number(introduction.rank).number(introduction.size).text(introduction.process);
  packer.text(introduction.host).text(introduction.command_hash).text(introduction.command_begin);
  return packer.bytes();
}

Introduction parse_introduction(std::string_view message) {
  Unpacker unpacker(message);
  Introduction introduction;
  introduction.rank = unpacker.number<int64_t>();
  introduction.size = unpacker.number<int64_t>();
  introduction.process = unpacker.text();
  introduction.host = unpacker.text();
  introduction.command_hash = unpacker.text();
  introduction.command_begin = unpacker.text();
  return introduction;
}

std::string hash_of_command(const std::string& command) { return blake2s("", command, kKeyBytes); }

std::string rejection_text(const std::string& reason) { return Packer().text(reason).bytes(); }

std::string challenge_text(const std::string& nonce) {
  return Packer().text("").text(nonce).bytes();
}

std::string parse_challenge(std::string_view message) { return after_rejection(message).text(); }

std::string welcome_text(const Welcome& welcome) {
  Packer packer;
  packer.text("").number(welcome.number);
  for (const Member& member : welcome.members)
    packer.text(member.host)
        .text(member.address)
        .number(int64_t{member.local_rank})
        .number(int64_t{member.local_size});
  return packer.bytes();
}

Welcome parse_welcome(std::string_view message, int size) {
  Unpacker unpacker = after_rejection(message);
  Welcome welcome;
  welcome.number = unpacker.number<int64_t>();
  if (welcome.number == Welcome::kBegin) return welcome;
  welcome.members.resize(static_cast<size_t>(size));
  for (Member& member : welcome.members) {
    member.host = printable(unpacker.text(), kMaxNameBytes);
    member.address = printable(unpacker.text(), kMaxNameBytes);
    member.local_rank = static_cast<int>(unpacker.number<int64_t>());
    member.local_size = static_cast<int>(unpacker.number<int64_t>());
  }
  return welcome;
}

std::string confirmation_text(int64_t number) { return Packer().number(number).bytes(); }

int64_t parse_confirmation(std::string_view message) { return Unpacker(message).number<int64_t>(); }

std::string challenge_key(const std::string& secret, const std::string& nonce) {
  return derived_key(secret, "answer" + nonce);
}

std::string session_key(const std::string& secret, const std::string& nonce,
                        const std::string& nonce_of_rank_zero) {
  return derived_key(secret, "session" + nonce + nonce_of_rank_zero);
}

}  // namespace deepbench
