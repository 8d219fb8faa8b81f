// The messages by which a rank and rank 0 recognize each other, and the keys that authenticate
// them.
//
//   rank    greeting: its version and a random number, with a code that proves the secret
//   rank 0  challenge: a random number, with a code over that of the greeting
//   rank    introduction: its place and command, with a code over both random numbers
//   rank 0  welcome: the members, once all ranks have introduced themselves
//   rank    confirmation
//   rank 0  begin, once all ranks have confirmed
//
// A process that has recorded a greeting can repeat it, but learns only a random number: the
// introduction to another challenge has another code. A rank sends its command only to a rank 0
// that has proved the secret. Instead of each of its messages, rank 0 can send the reason of a
// rejection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"

namespace deepbench {

inline constexpr std::string_view kHandshake = "deepbench rank 3";
inline constexpr size_t kShownCommandBytes = 300;  // bytes of a command that a message shows

// Every version sends these fields first and a code of the whole message last, so that a rank of
// another version can be told the reason of its rejection.
struct Greeting {
  std::string handshake, version, nonce;
};

// The properties of a rank. Of its command, an introduction contains a hash and as much text as
// messages show, so that its size is limited.
struct Introduction {
  int64_t rank = 0, size = 0;
  // Random number that identifies the process when it connects again after a failure.
  std::string process;
  std::string host, command_hash, command_begin;
};

// A message of rank 0 after the challenge: the members, or that all ranks have confirmed them.
struct Welcome {
  static constexpr int64_t kBegin = 0;
  int64_t number = kBegin;  // a confirmation repeats this number
  std::vector<Member> members;
};

// Bytes that differ in each connection.
DEEPBENCH_API std::string random_nonce();

DEEPBENCH_API std::string greeting_text(const Greeting& greeting, const std::string& secret);
// The greeting of a rank, whatever its version. Empty for a stranger, which does not know the
// secret or sends an invalid message.
std::optional<Greeting> parse_greeting(std::string_view message, const std::string& secret);

DEEPBENCH_API std::string introduction_text(const Introduction& introduction);
Introduction parse_introduction(std::string_view message);
DEEPBENCH_API std::string hash_of_command(const std::string& command);

// Each message of rank 0 begins with the reason of a rejection, or with an empty text if rank 0
// does not reject the other rank.
std::string rejection_text(const std::string& reason);
std::string challenge_text(const std::string& nonce);
std::string welcome_text(const Welcome& welcome);
// These throw BackendUnavailable with the reason of a rejection, and ConnectionError for an invalid
// message.
DEEPBENCH_API std::string parse_challenge(std::string_view message);
DEEPBENCH_API Welcome parse_welcome(std::string_view message, int size);

DEEPBENCH_API std::string confirmation_text(int64_t number);
int64_t parse_confirmation(std::string_view message);

// The key of the challenge.
DEEPBENCH_API std::string challenge_key(const std::string& secret, const std::string& nonce);
// The key of all later messages, to which both sides have contributed.
DEEPBENCH_API std::string session_key(const std::string& secret, const std::string& nonce,
                                      const std::string& nonce_of_rank_zero);

}  // namespace deepbench
