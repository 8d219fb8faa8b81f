// Tests the fake backend: the language of its scripts, and its faults.
#include "fake_backend.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "deepbench/fill.h"
#include "temporary_folder.hpp"

namespace deepbench::testing {
namespace {

std::vector<double> elapsed_of_batches(const std::string& script, int batches, uint64_t count = 1) {
  Kernel kernel = fake_kernel(script);
  std::vector<double> all;
  for (int i = 0; i < batches; ++i) all.push_back(kernel.time_batch(count).elapsed_ns);
  return all;
}

using Times = std::vector<double>;

TEST_CASE("scripted sequences repeat or hold their last value") {
  CHECK(elapsed_of_batches("time 10 20", 5) == Times{10, 20, 10, 20, 10});
  CHECK(elapsed_of_batches("time 10 20 hold", 5) == Times{10, 20, 20, 20, 20});
  CHECK(elapsed_of_batches("time 10*2 20*3", 7) == Times{10, 10, 20, 20, 20, 10, 10});
  CHECK(elapsed_of_batches("time 10*2 20 hold", 4, 8) == Times{80, 80, 160, 160});
  CHECK(elapsed_of_batches("time 1e3; overhead 50; resolution 100", 1, 3) == Times{3100});
}

TEST_CASE("later lines override earlier ones, conditions choose among them") {
  CHECK(elapsed_of_batches("time 10; time 20", 1) == Times{20});
  CHECK(elapsed_of_batches("# a comment\n\n  time 10\n#time 20", 1) == Times{10});
  CHECK(elapsed_of_batches("time 10; when m=4 time 20; when m=5 time 30", 1) == Times{20});
  CHECK(elapsed_of_batches("time 10; when m=4 n=5 time 20", 1) == Times{10});
  CHECK(elapsed_of_batches("time 10; from 2 time 20; from 3 time 30", 5) ==
        Times{10, 10, 20, 30, 30});
  CHECK(elapsed_of_batches("when op=gemm candidate=default library=fake time 20", 1) == Times{20});
  for (double expected : {10, 20, 30, 30}) {
    CHECK(elapsed_of_batches("time 30; when attempt=0 time 10; when attempt=1 time 20", 1) ==
          Times{expected});
  }
}

TEST_CASE("noise comes from the input generator") {
  const Times noisy = elapsed_of_batches("time 1000; noise 7 0.5", 3),
              same = elapsed_of_batches("time 1000", 3);
  for (uint64_t i = 0; i < 3; ++i)
    CHECK(noisy[i] == 1000 * (1 + 0.5 * double(deepbench_uniform(7, 0, i))));
  CHECK(same == Times{1000, 1000, 1000});
}

TEST_CASE("without a scripted time the model determines it") {
  // 2 * 4 * 4 * 4 operations at 2 per ns; 4 * (16 + 16 + 32) bytes at 8 per ns, or 16 if cached.
  CHECK(elapsed_of_batches("model 100 2 8 16", 1) == Times{100 + 64});
  CHECK(elapsed_of_batches("model 100 100 8 16", 1) == Times{100 + 16});
  CHECK(elapsed_of_batches("model 100 100 8 16; cache 255", 1) == Times{100 + 32});
}

TEST_CASE("a script can be in a file") {
  const TemporaryFolder folder;
  CHECK(elapsed_of_batches("@" + folder.write("script", "time 77\n"), 1) == Times{77});
}

TEST_CASE("a mutant can be limited to batches of several calls") {
  Kernel kernel = fake_kernel("mutant nan batches");
  kernel.time_batch(1);
  CHECK(kernel.scan_output(0, 16).non_finite == 0);
  kernel.time_batch(2);
  CHECK(kernel.scan_output(0, 16).non_finite == 1);
}

// Runs a batch under a script in a child process and returns its status from waitpid.
int exit_status_of(const std::string& script, int wait_ms) {
  Kernel kernel = fake_kernel(script);
  std::cout.flush();  // the child must not print the parent's buffered output
  // doctest's handlers must not catch the signal in the child, not even before they are removed.
  sigset_t blocked, before;
  sigfillset(&blocked);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const pid_t child = fork();
  if (child == 0) {
    for (int number : {SIGSEGV, SIGABRT, SIGTERM}) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    kernel.time_batch(1);
    _exit(0);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  for (int waited = 0; waited < wait_ms; ++waited) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    usleep(1000);
  }
  kill(child, SIGTERM);
  waitpid(child, &status, 0);
  return status;
}

TEST_CASE("scripted faults end the process as described") {
  constexpr int kLong = 20000;
  int status = exit_status_of("crash", kLong);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  status = exit_status_of("abort", kLong);
  CHECK(WTERMSIG(status) == SIGABRT);
  status = exit_status_of("killed", kLong);
  CHECK(WTERMSIG(status) == SIGKILL);
  status = exit_status_of("exit time_batch 5", kLong);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
  status = exit_status_of("hang", 50);
  CHECK(WTERMSIG(status) == SIGTERM);  // the child was still running
  status = exit_status_of("sleep time_batch 5", kLong);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace deepbench::testing
