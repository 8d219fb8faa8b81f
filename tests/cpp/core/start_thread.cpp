// Tests the error of a process that may start no further thread.
#include "deepbench/core/start_thread.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "../forked_process.hpp"
#include "../no_more_threads.hpp"

namespace deepbench {
namespace {

constexpr int kNamed = 7, kOther = 8, kStarted = 9;

int start_one_too_many() {
  if (!testing::forbid_more_threads()) return kOther;
  try {
    start_thread("the clock", [] {}).join();
  } catch (const std::runtime_error& error) {
    const std::string start = "cannot start the clock: the limit of threads or of address space";
    return std::string(error.what()).compare(0, start.size(), start) == 0 ? kNamed : kOther;
  }
  return kStarted;
}

TEST_CASE("a thread that cannot be started is named with the limits") {
  testing::ForkedProcess child(start_one_too_many);
  CHECK(child.end() == kNamed);
}

TEST_CASE("a started thread runs its function") {
  bool has_run = false;
  start_thread("a thread", [&has_run] { has_run = true; }).join();
  CHECK(has_run);
}

}  // namespace
}  // namespace deepbench
