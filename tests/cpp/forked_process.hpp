// A copy of this process that runs a function and ends with what it returns, within a limit. It has
// none of this process's threads, and waits forever for what one of them holds, such as a lock of a
// sanitizer's allocator.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace deepbench::testing {

class ForkedProcess {
 public:
  template <class Body>
  explicit ForkedProcess(const Body& body) : process_(fork()) {
    REQUIRE(process_ >= 0);
    if (process_ == 0) run(body);
  }
  ~ForkedProcess() { end(); }
  ForkedProcess(const ForkedProcess&) = delete;
  ForkedProcess& operator=(const ForkedProcess&) = delete;

  bool has_ended() {
    if (!has_ended_) has_ended_ = waitpid(process_, &status_, WNOHANG) != 0;
    return has_ended_;
  }
  // Waits, and returns what the function has returned; -1 where a signal, such as that of the
  // limit, ended the process.
  int end() {
    if (!has_ended_) waitpid(process_, &status_, 0);
    has_ended_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  static constexpr unsigned kLimitS = 600;  // even on a busy machine

  // An exception ends the process: it must not reach this one's tests.
  template <class Body>
  [[noreturn]] static void run(const Body& body) noexcept {
    std::signal(SIGALRM, SIG_DFL);  // main.cpp's handler may wait for the same lock
    alarm(kLimitS);
    _exit(body());
  }

  const pid_t process_;
  int status_ = -1;
  bool has_ended_ = false;
};

}  // namespace deepbench::testing
