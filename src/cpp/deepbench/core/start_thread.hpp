// Starts a thread, or says what could not be started and which limits to raise. Header-only, shared
// by the core and the backends.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace deepbench {

// Starts a thread that calls `run`. `what` names it in the error: "a thread of the CPU backend".
// Throws std::runtime_error if the system refuses another thread.
template <class Run>
std::thread start_thread(const std::string& what, Run&& run) {
  try {
    return std::thread(std::forward<Run>(run));
  } catch (const std::system_error&) {  // the only one is EAGAIN, for the memory of a stack too
    throw std::runtime_error("cannot start " + what +
                             ": the limit of threads or of address space is reached; raise "
                             "'ulimit -u', 'ulimit -v' or the container's limit");
  }
}

}  // namespace deepbench
