// A ring whose ranks are threads of the test.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ops/collective/shared_memory_transport.hpp"
#include "ops/collective/socket_transport.hpp"

namespace deepbench::cpu_test {

using cpu::Channel;
using cpu::Connection;
using cpu::RingTransport;
using cpu::SharedMemoryTransport;
using cpu::SocketTransport;

using Ring = std::vector<std::unique_ptr<RingTransport>>;

inline std::unique_ptr<RingTransport> shared_memory_transport(int rank, int size, Connection right,
                                                              Connection left, double timeout_s) {
  const auto key = [](int reader) { return uint64_t(reader) + 7; };
  // The channels of the whole ring exist before any is opened.
  static std::vector<Channel> writers;
  static std::vector<Channel::Place> places;
  if (rank == 0) {
    writers.clear();
    places.clear();
    for (int one = 0; one < size; ++one) {
      writers.push_back(Channel::create(key((one + 1) % size)));
      places.push_back(writers.back().place());
    }
  }
  Channel left_channel = Channel::open(places[size_t((rank + size - 1) % size)], key(rank));
  return std::make_unique<SharedMemoryTransport>(std::move(writers[size_t(rank)]),
                                                 std::move(left_channel), std::move(right),
                                                 std::move(left), timeout_s);
}

inline Ring ring_of(int size, bool by_memory, double timeout_s = 60) {
  std::vector<Connection> rights, lefts(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    std::array<int, 2> descriptors{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, descriptors.data()) == 0);
    rights.emplace_back(descriptors[0]);
    lefts[size_t((rank + 1) % size)] = Connection(descriptors[1]);
  }
  Ring ring;
  for (int rank = 0; rank < size; ++rank) {
    Connection right = std::move(rights[size_t(rank)]), left = std::move(lefts[size_t(rank)]);
    if (by_memory)
      ring.push_back(
          shared_memory_transport(rank, size, std::move(right), std::move(left), timeout_s));
    else
      ring.push_back(
          std::make_unique<SocketTransport>(std::move(right), std::move(left), timeout_s));
  }
  return ring;
}

inline void run_on_ranks(int size, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

inline void store_element(deepbench_type type, std::byte* data, uint64_t index, float value) {
  if (type == DEEPBENCH_F32)
    reinterpret_cast<float*>(data)[index] = value;
  else
    reinterpret_cast<uint16_t*>(data)[index] =
        type == DEEPBENCH_F16 ? deepbench_to_half(value) : deepbench_to_bfloat16(value);
}

}  // namespace deepbench::cpu_test
