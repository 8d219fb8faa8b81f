// Tests which processes count as those of one run.
#include "run_processes.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "../forked_process.hpp"
#include "../scoped_environment_variable.hpp"

namespace deepbench::cuda_test {
namespace {

// Until it is killed, or for ten minutes if the test has ended without that.
[[noreturn]] void sleep_until_killed() {
  std::signal(SIGALRM, SIG_DFL);
  alarm(600);
  for (;;) pause();
}

// A process that does nothing: the leader of a session, or one that such a leader started.
class Sleeper {
 public:
  explicit Sleeper(bool leads) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    leader_ = fork();
    REQUIRE(leader_ >= 0);
    if (leader_ == 0) {
      if (leads) setsid();
      const pid_t started = fork();
      if (started != 0) (void)!write(ready[1], &started, sizeof started);
      sleep_until_killed();
    }
    const bool has_read = read(ready[0], &started_, sizeof started_) == sizeof started_;
    close(ready[0]), close(ready[1]);
    REQUIRE((has_read && started_ > 0));  // kill() takes other numbers for many processes
  }
  ~Sleeper() {
    kill(started_, SIGKILL), kill(leader_, SIGKILL);
    waitpid(leader_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t leader() const { return leader_; }
  pid_t started() const { return started_; }

 private:
  pid_t leader_ = 0, started_ = 0;
};

// The answer of a worker that this process starts.
bool worker_says(pid_t process) {
  testing::ForkedProcess worker([&] {
    setsid();
    return cuda::belongs_to_this_run(process) ? 1 : 0;
  });
  const int said = worker.end();
  CHECK(said >= 0);
  return said == 1;
}

TEST_CASE("processes of a run: the workers of one command and the ranks that they start") {
  const Sleeper worker(true), other(false);
  {
    const testing::ScopedEnvironmentVariable mark("_DEEPBENCH_WORKER", "x");
    CHECK(worker_says(worker.leader()));
    CHECK(worker_says(worker.started()));
    CHECK_FALSE(worker_says(other.leader()));
    CHECK_FALSE(worker_says(other.started()));
    CHECK_FALSE(worker_says(getpid()));
    CHECK_FALSE(worker_says(1));
    CHECK_FALSE(worker_says(0));
    CHECK_FALSE(worker_says(-1));
  }
  const testing::ScopedEnvironmentVariable none("_DEEPBENCH_WORKER", std::nullopt);
  CHECK_FALSE(worker_says(worker.leader()));
}

}  // namespace
}  // namespace deepbench::cuda_test
