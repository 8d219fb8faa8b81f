// Sums over ranks: the ring between threads over sockets and shared memory, its sums, and lost
// neighbors.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "deepbench/core/precision.hpp"
#include "harness.hpp"
#include "ops/collective/elementwise_add.hpp"
#include "ops/collective/operands.hpp"
#include "ops/collective/ring_algorithm.hpp"
#include "ops/collective/shared_memory_transport.hpp"
#include "ops/collective/socket_transport.hpp"
#include "ring_of_threads.hpp"

namespace deepbench::cpu {
namespace {

using cpu_test::Ring;
using cpu_test::ring_of;
using cpu_test::run_on_ranks;
using cpu_test::store_element;

using Values = std::vector<std::vector<std::byte>>;  // of each rank

Values summands(int ranks, deepbench_type type, uint64_t elements) {
  Values all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.emplace_back(elements * size_t(size_of(type)));
    for (uint64_t i = 0; i < elements; ++i)
      store_element(type, all.back().data(), i,
                    deepbench_summand(type, 7, uint32_t(rank), uint32_t(ranks), i));
  }
  return all;
}

TEST_CASE("the ring sums exactly, on every rank, in place and out of place") {
  for (const deepbench_type type : {DEEPBENCH_F32, DEEPBENCH_F16, DEEPBENCH_BF16}) {
    for (const int ranks : {2, 3, 4}) {
      Ring ring = ring_of(ranks, type != DEEPBENCH_F16);
      for (const uint64_t elements : {1u, 33u, 4097u, 300001u, 1500001u}) {
        // Larger sizes run in one variant to save time.
        if (elements > 300001 && (type != DEEPBENCH_F32 || ranks != 2)) continue;
        Values input = summands(ranks, type, elements), result = input;
        for (auto& bytes : result) std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
        run_on_ranks(ranks, [&](int rank) {
          const auto index = size_t(rank);
          const RingPosition position = {rank, ranks};
          barrier(*ring[index], position);
          ring_all_reduce(*ring[index], position, type, input[index].data(), result[index].data(),
                          elements);
          ring_all_reduce(*ring[index], position, type, input[index].data(), input[index].data(),
                          elements);
        });
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < elements; ++i) {
          double sum = 0;
          for (int rank = 0; rank < ranks; ++rank)
            sum += double(deepbench_summand(type, 7, uint32_t(rank), uint32_t(ranks), i));
          for (const auto& bytes : result) wrong += element(bytes.data(), type, i) != sum;
        }
        CAPTURE(type);
        CAPTURE(ranks);
        CAPTURE(elements);
        CHECK(wrong == 0);
        CHECK(result == input);
      }
    }
  }
}

TEST_CASE("rounded sums have the same bits on every rank and in every call") {
  constexpr int kRanks = 3;
  constexpr uint64_t kElements = 5000;
  Ring ring = ring_of(kRanks, true);
  Values input(kRanks, std::vector<std::byte>(4 * kElements));
  for (int rank = 0; rank < kRanks; ++rank)
    for (uint64_t i = 0; i < kElements; ++i)
      store_element(DEEPBENCH_F32, input[size_t(rank)].data(), i,
                    deepbench_uniform(3, uint32_t(rank), i));
  Values first = input;
  for (int call = 0; call < 3; ++call) {
    Values result = input;
    run_on_ranks(kRanks, [&](int rank) {
      const auto index = size_t(rank);
      ring_all_reduce(*ring[index], {rank, kRanks}, DEEPBENCH_F32, input[index].data(),
                      result[index].data(), kElements);
    });
    if (call == 0) first = result;
    for (const auto& bytes : result) CHECK(bytes == first[0]);
  }
}

TEST_CASE("a neighbor that disconnects or stays silent is reported as lost") {
  for (const int variant : {0, 1, 2, 3}) {
    const bool gone = variant % 2 == 0;
    Ring ring = ring_of(2, variant / 2 == 1, 0.1);
    if (gone) ring[1].reset();
    std::vector<float> input(100);
    auto* const bytes = reinterpret_cast<std::byte*>(input.data());
    try {
      ring_all_reduce(*ring[0], {0, 2}, DEEPBENCH_F32, bytes, bytes, input.size());
      FAIL("the sum completed");
    } catch (const plugin::Error& error) {
      CHECK(error.status() == DEEPBENCH_DEVICE_LOST);
      CHECK(std::string(error.what()).find(gone ? "closed the connection" : "sent no data") !=
            std::string::npos);
    }
  }
}

TEST_CASE("a sum stops immediately when another rank has failed but is still connected") {
  deepbench_group group{};
  group.struct_size = sizeof group;
  group.size = 2;
  group.must_abort = [](void*) { return int32_t{1}; };
  plugin::join_ranks(group);
  for (const bool in_memory : {true, false}) {
    Ring ring = ring_of(2, in_memory, 30);
    std::vector<float> input(100);
    auto* const bytes = reinterpret_cast<std::byte*>(input.data());
    std::string message;
    try {
      ring_all_reduce(*ring[0], {0, 2}, DEEPBENCH_F32, bytes, bytes, input.size());
    } catch (const plugin::Error& error) {
      message = error.what();
    }
    CHECK(message == "the call stopped because another rank has failed");
  }
  plugin::internal::ranks_of_joined_group() = plugin::Ranks();
}

TEST_CASE("shared memory of another key or of another process is refused") {
  Channel channel = Channel::create(1);
  const Channel::Place place = channel.place();
  CHECK_THROWS_AS(Channel::open(place, 2), plugin::Error);
  CHECK_THROWS_AS(Channel::open({place.process, 0}, 1), plugin::Error);
  CHECK_THROWS_AS(Channel::open({place.process, 1 << 20}, 1), plugin::Error);
  CHECK_THROWS_AS(Channel::open({1 << 30, place.descriptor}, 1), plugin::Error);
  const Channel reader = Channel::open(place, 1);
  channel.close_descriptor();
  CHECK(channel.write(reinterpret_cast<const std::byte*>("data"), 4) == 4);
  uint64_t found = 0;
  CHECK(std::memcmp(reader.peek(4, &found), "data", 4) == 0);
  CHECK_THROWS_AS(Channel::open(place, 1), plugin::Error);  // no further reader
}

// A group of two threads. Between the exchange of addresses and the connections, strangers connect
// to each address: silent ones, some that send half of a key, and some that send a wrong one.
class GroupAmongStrangers {
 public:
  explicit GroupAmongStrangers(size_t strangers) : strangers_(strangers) {
    for (int rank = 0; rank < 2; ++rank) {
      places_[size_t(rank)] = {this, rank};
      deepbench_group& group = groups_[size_t(rank)];
      group.struct_size = sizeof group;
      group.rank = rank, group.size = 2, group.local_rank = rank, group.local_size = 2;
      group.address = "127.0.0.1";
      group.context = &places_[size_t(rank)];
      group.exchange = exchange;
    }
  }

  plugin::Ranks ranks(int rank) const { return plugin::Ranks(groups_[size_t(rank)]); }

 private:
  struct Place {
    GroupAmongStrangers* group;
    int rank;
  };

  static deepbench_status exchange(void* context, const void* mine, size_t bytes, void* all) {
    const auto& place = *static_cast<Place*>(context);
    place.group->exchange_bytes(place.rank, mine, bytes, static_cast<char*>(all));
    return DEEPBENCH_OK;
  }

  void exchange_bytes(int rank, const void* mine, size_t bytes, char* all) {
    std::unique_lock<std::mutex> lock(mutex_);
    bytes_[size_t(rank)].assign(static_cast<const char*>(mine), bytes);
    connect_strangers(bytes_[size_t(rank)]);
    const uint64_t round = rounds_;
    if (++arrived_ == 2) {
      arrived_ = 0, ++rounds_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return rounds_ != round; });
    for (size_t one = 0; one < 2; ++one) std::memcpy(all + one * bytes, bytes_[one].data(), bytes);
  }

  // `endpoint`: 64 bytes of address, then the port.
  void connect_strangers(const std::string& endpoint) {
    int32_t port = 0;
    std::memcpy(&port, endpoint.data() + 64, sizeof port);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < strangers_; ++i) {
      Connection stranger(socket(AF_INET, SOCK_STREAM, 0));
      REQUIRE(connect(stranger.descriptor(), reinterpret_cast<sockaddr*>(&address),
                      sizeof address) == 0);
      const std::string said = std::string("no key at all").substr(0, i % 3 * 4);
      REQUIRE(send(stranger.descriptor(), said.data(), said.size(), 0) == ssize_t(said.size()));
      held_.push_back(std::move(stranger));
    }
  }

  const size_t strangers_;
  std::array<Place, 2> places_{};
  std::array<deepbench_group, 2> groups_{};
  std::array<std::string, 2> bytes_;
  std::vector<Connection> held_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  uint64_t rounds_ = 0;
};

TEST_CASE("strangers that connect first keep no neighbor away") {
  GroupAmongStrangers group(30);
  std::array<std::string, 2> failures;
  run_on_ranks(2, [&](int rank) {
    try {
      const NeighborConnections found = connect_neighbors(group.ranks(rank));
      if (found.left.descriptor() < 0 || found.right.descriptor() < 0) failures[size_t(rank)] = "?";
    } catch (const plugin::Error& error) {
      failures[size_t(rank)] = error.what();
    }
  });
  CHECK(failures[0] == "");
  CHECK(failures[1] == "");
}

TEST_CASE("half and bfloat16 sums round to nearest, ties to even, and overflow to infinity") {
  const auto half = [](uint16_t a, uint16_t b) {
    std::array<uint16_t, 9> x{}, y{}, out{};
    x.fill(a), y.fill(b);
    add(DEEPBENCH_F16, x.data(), y.data(), out.data(), out.size());
    CHECK(out[0] == out[8]);  // Element 0 is computed in a vector and element 8 alone.
    return out[0];
  };
  CHECK(half(0x3c00, 0x3c00) == 0x4000);  // 1 + 1
  CHECK(half(0x6800, 0x3c00) == 0x6800);  // 2048 + 1: a tie, rounds down
  CHECK(half(0x6801, 0x3c00) == 0x6802);  // 2050 + 1: a tie, rounds up
  CHECK(half(0x7bff, 0x7bff) == 0x7c00);
  CHECK(half(0xfbff, 0xfbff) == 0xfc00);
  const auto bfloat16 = [](uint16_t a, uint16_t b) {
    uint16_t out = 0;
    add(DEEPBENCH_BF16, &a, &b, &out, 1);
    return out;
  };
  CHECK(bfloat16(0x3f80, 0x3f80) == 0x4000);
  CHECK(bfloat16(0x4380, 0x3f80) == 0x4380);  // 256 + 1: a tie, rounds down
  CHECK(bfloat16(0x4381, 0x3f80) == 0x4382);
  CHECK((bfloat16(0x7fc1, 0x3f80) & 0x7fc0) == 0x7fc0);
}

TEST_CASE("in-place sums stay in range for the reported number of calls") {
  CHECK(sums_before_overflow(DEEPBENCH_F32, 2) == 104);
  CHECK(sums_before_overflow(DEEPBENCH_F16, 2) == 5);
  CHECK(sums_before_overflow(DEEPBENCH_BF16, 4) == 60);
}

TEST_CASE("the refusal for a single process names the option for several ranks") {
  const auto answer = cpu_test::plan_status("all_reduce", "elements=5 precision=float");
  CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
  CHECK(answer.error.find("--ranks 2") != std::string::npos);
  CHECK(cpu_test::plan_status("all_reduce", "elements=5 precision=int8")
            .error.find("precisions float") != std::string::npos);
}

}  // namespace
}  // namespace deepbench::cpu
