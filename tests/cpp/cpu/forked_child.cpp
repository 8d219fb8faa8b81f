// Tests that a forked process, which has none of its parent's threads, can destroy what owns them.
// exit() does so in a child that a library forks.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "../forked_process.hpp"
#include "thread_team.hpp"
#include "topology.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu_test {
namespace {

template <class Threads>
bool is_destroyed_in_forked_child() {
  auto* const threads = new Threads(cpu::topology().cpus_for_threads(3));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until they sleep
  testing::ForkedProcess child([&] {
    delete threads;
    return 7;
  });
  const bool is_destroyed = child.end() == 7;
  delete threads;
  return is_destroyed;
}

TEST_CASE("a forked child can destroy a team and a pool") {
  CHECK(is_destroyed_in_forked_child<cpu::ThreadTeam>());
  CHECK(is_destroyed_in_forked_child<cpu::WorkerPool>());
}

}  // namespace
}  // namespace deepbench::cpu_test
