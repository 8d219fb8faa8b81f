// Tests the threads of timed calls.
#include "thread_team.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

TEST_CASE("every member of a team runs every job, whether it spins or sleeps") {
  for (const int size : {1, 2, 3}) {
    cpu::ThreadTeam team(cpu::topology().cpus_for_threads(size));
    CHECK(team.size() == size_t(size));
    std::vector<uint64_t> done(size_t(size) * 16, 0);  // One cache line per member.
    std::vector<uint64_t> seen(size_t(size) * 16, 0);
    for (int job = 0; job < 200; ++job) {
      if (job % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      team.run([&](size_t member) {
        ++done[member * 16];
        team.barrier();
        seen[member * 16] += done[(member + 1) % team.size() * 16];
      });
    }
    for (size_t member = 0; member < team.size(); ++member) {
      CHECK(done[member * 16] == 200);
      CHECK(seen[member * 16] == 200 * 201 / 2);
    }
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
