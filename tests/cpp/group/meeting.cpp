// Ranks find one another, or are all told why not.
#include "deepbench/group/meeting.hpp"

#include <doctest/doctest.h>

#include <array>

#include "met.hpp"

namespace deepbench {
namespace {

using testing::Arrival;
using testing::arrive;
using testing::met;
using testing::place_of;

const Terms kTerms = {"1.0", "all_reduce half"};

struct Both {
  Arrival first, second;
};

// Rank 0 of two, and somebody with this place and these terms.
Both meet(int rank, int size, const Terms& terms, const std::string& secret = "secret",
          double limit_s = 20) {
  Both both;
  Meeting first(place_of(0, 2, 0, limit_s), kTerms);
  std::thread thread([&] {
    Placement place = place_of(rank, size, first.port(), limit_s);
    place.secret = secret;
    Meeting second(place, terms);
    both.second = arrive(second);
  });
  both.first = arrive(first);
  { const Meeting closed = std::move(first); }  // nobody is to knock in vain
  thread.join();
  return both;
}

void check_refused(const Both& both, const std::string& reason) {
  CHECK(both.first.refusal == reason);
  CHECK(both.second.refusal == reason);
}

TEST_CASE("ranks know themselves and one another") {
  const testing::Groups groups = met(3);
  for (int rank = 0; rank < 3; ++rank) {
    const Group& group = *groups[size_t(rank)];
    CHECK(group.rank() == rank);
    CHECK(group.size() == 3);
    CHECK(group.self().local_rank == rank);
    CHECK(group.self().local_size == 3);
    CHECK(group.self().address == "127.0.0.1");
    CHECK(group.members()[0].host == groups[0]->self().host);
  }
}

TEST_CASE("what does not belong together is refused on both sides") {
  check_refused(meet(1, 2, {"1.1", "all_reduce half"}),
                "a rank runs deepbench 1.1, rank 0 runs 1.0: all ranks must run the same");
  check_refused(meet(1, 2, {"1.0", "all_reduce float"}),
                "rank 1 was asked for 'all_reduce float', rank 0 for 'all_reduce half': all ranks "
                "must be asked for the same");
  check_refused(meet(1, 3, kTerms), "rank 1 was told of 3 ranks, rank 0 of 2");
}

TEST_CASE("two processes with one rank are refused") {
  Meeting first(place_of(0, 3, 0), kTerms);
  std::array<Arrival, 2> twins;
  std::vector<std::thread> threads;
  for (Arrival& twin : twins)
    threads.emplace_back([&] {
      Meeting meeting(place_of(1, 3, first.port()), kTerms);
      twin = arrive(meeting);
    });
  const std::string refusal = arrive(first).refusal;
  for (std::thread& thread : threads) thread.join();
  CHECK(refusal == "two processes say that they are rank 1");
  for (const Arrival& twin : twins) CHECK(twin.refusal == refusal);
}

TEST_CASE("who does not come is named") {
  Meeting first(place_of(0, 4, 0, 0.2), kTerms);
  const std::string refusal = arrive(first).refusal;
  CHECK(refusal == "ranks 1 2 3 of 4 did not come to 127.0.0.1:" + std::to_string(first.port()) +
                       " within 0.2 s");
}

TEST_CASE("rank 0 that is not there is named, too") {
  const int port = Meeting(place_of(0, 2, 0), kTerms).port();  // free again
  Meeting second(place_of(1, 2, port, 0.2), kTerms);
  const std::string refusal = arrive(second).refusal;
  CHECK(refusal.find("rank 1: rank 0 at 127.0.0.1:" + std::to_string(port) +
                     " does not answer: ") == 0);
  CHECK(refusal.find("within 0.2 s") != std::string::npos);
}

TEST_CASE("strangers are nobody") {
  const Both both = meet(1, 2, kTerms, "another secret", 0.5);
  CHECK(both.first.refusal.find("rank 1 of 2 did not come") == 0);
  CHECK(both.second.refusal != "");
}

TEST_CASE("talk that is none of ours does not disturb the meeting") {
  Meeting first(place_of(0, 2, 0), kTerms);
  Deadline deadline(20);
  const Socket silent = Socket::connect("127.0.0.1", first.port(), deadline);
  const Socket rude = Socket::connect("127.0.0.1", first.port(), deadline);
  rude.send("GET / HTTP/1.1", deadline);
  Arrival second;
  std::thread thread([&] {
    Meeting meeting(place_of(1, 2, first.port()), kTerms);
    second = arrive(meeting);
  });
  CHECK(arrive(first).refusal == "");
  thread.join();
  CHECK(second.group->rank() == 1);
}

TEST_CASE("a port that is taken is said with the variable that names another") {
  const Meeting first(place_of(0, 2, 0), kTerms);
  try {
    const Meeting again(place_of(0, 2, first.port()), kTerms);
    FAIL("two listen on one port");
  } catch (const BackendUnavailable& error) {
    CHECK(std::string(error.what()).find("MASTER_PORT") != std::string::npos);
  }
}

}  // namespace
}  // namespace deepbench
