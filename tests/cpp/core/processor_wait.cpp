// Tests the longest wait of a thread on counts in files, and on a processor that two threads share.
#include "deepbench/core/processor_wait.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "../temporary_folder.hpp"
#include "deepbench/core/affinity.hpp"

namespace deepbench {
namespace {

// Folders as in /proc/self/task, with counts that a test sets.
class Tasks {
 public:
  void set(const std::string& thread, const std::string& counts) {
    std::filesystem::create_directories(folder_ / thread);
    folder_.write(thread + "/schedstat", counts + "\n");
  }
  std::string path() const { return folder_.path(); }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_CASE("the wait is the longest of any thread since the previous call") {
  Tasks tasks;
  tasks.set("10", "5000 300 2");
  tasks.set("11", "7000 900 4");
  ProcessorWait wait(tasks.path());
  CHECK(wait.lap_ns() == 0);
  tasks.set("10", "5000 1300 3");
  tasks.set("11", "7000 1100 5");
  CHECK(wait.lap_ns() == 1000);
  CHECK(wait.lap_ns() == 0);
}

TEST_CASE("a system that counts no waits has an unknown one, which is not zero") {
  Tasks tasks;
  CHECK_FALSE(ProcessorWait(tasks.path() + "/none").lap_ns());
  CHECK_FALSE(ProcessorWait(tasks.path()).lap_ns());
  tasks.set("10", "0 0 0");
  CHECK_FALSE(ProcessorWait(tasks.path()).lap_ns());
}

TEST_CASE("threads that share a processor wait for each other, whenever they start and end") {
  ProcessorWait wait;
  if (!wait.lap_ns()) return;  // this system does not count waits
  const std::vector<int> processors = read_affinity();
  REQUIRE_FALSE(processors.empty());
  std::atomic<bool> ends{false};
  const auto spin = [&] {
    set_affinity({processors.front()});
    while (!ends) {
    }
  };
  std::thread first(spin), second(spin);
  double waited_ns = 0;
  while (waited_ns < 1e6) waited_ns += wait.lap_ns().value_or(0);
  ends = true;
  first.join(), second.join();
  CHECK(wait.lap_ns());
  CHECK(wait.lap_ns());
}

}  // namespace
}  // namespace deepbench
