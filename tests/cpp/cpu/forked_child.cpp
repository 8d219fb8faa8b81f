// Tests that a forked process, which has none of its parent's threads, can destroy what owns them.
// exit() does so in a child that a library forks.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "thread_team.hpp"
#include "topology.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu_test {
namespace {

constexpr unsigned kLimitS = 60;

template <class Threads>
bool is_destroyed_in_forked_child() {
  auto* const threads = new Threads(cpu::topology().cpus_for_threads(3));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until they sleep
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLimitS);
    delete threads;
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  delete threads;
  return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

TEST_CASE("a forked child can destroy a team and a pool") {
  CHECK(is_destroyed_in_forked_child<cpu::ThreadTeam>());
  CHECK(is_destroyed_in_forked_child<cpu::WorkerPool>());
}

}  // namespace
}  // namespace deepbench::cpu_test
