// Reads how long threads were ready but had no processor: the second number of
// /proc/self/task/THREAD/schedstat.
#include "deepbench/core/processor_wait.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace deepbench {
namespace {

size_t links_of(const std::string& folder) {
  struct stat status = {};
  return ::stat(folder.c_str(), &status) == 0 ? static_cast<size_t>(status.st_nlink) : 0;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

// The file stays open, because opening it takes several times as long as reading it.
class ProcessorWait::Thread {
 public:
  Thread(std::string name, const std::string& tasks)
      : name_(std::move(name)),
        file_(::open((tasks + "/" + name_ + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC)) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() {
    if (file_ >= 0) ::close(file_);
  }

  const std::string& name() const { return name_; }

  // The wait since the start or since the previous call. Empty: the thread has ended, or the system
  // does not count waits.
  std::optional<double> lap_ns() {
    char text[96];
    const ssize_t size = file_ < 0 ? 0 : ::pread(file_, text, sizeof text - 1, 0);
    if (size <= 0) return std::nullopt;
    text[size] = 0;
    char* next = text;
    std::strtoull(next, &next, 10);  // skips the time for which it ran
    const auto waited_ns = static_cast<double>(std::strtoull(next, &next, 10));
    const bool is_counted = std::strtoull(next, &next, 10) > 0;  // whether it ever ran
    if (!is_counted) return std::nullopt;
    return waited_ns - std::exchange(waited_ns_, waited_ns);
  }

 private:
  const std::string name_;
  const int file_;
  double waited_ns_ = 0;
};

ProcessorWait::ProcessorWait(std::string tasks) : tasks_(std::move(tasks)) { lap_ns(); }

ProcessorWait::~ProcessorWait() = default;

std::optional<double> ProcessorWait::lap_ns() {
  if (const size_t links = links_of(tasks_); links != links_) {
    find_threads();
    links_ = links;
  }
  std::optional<double> longest_ns;
  for (const auto& thread : threads_) {
    if (const auto waited_ns = thread->lap_ns())
      longest_ns = std::max(longest_ns.value_or(0), *waited_ns);
    else
      links_ = 0;  // lists the threads again
  }
  return longest_ns;
}

void ProcessorWait::find_threads() {
  std::vector<std::unique_ptr<Thread>> found;
  for (std::string& name : names_in(tasks_)) {
    const auto known = std::find_if(threads_.begin(), threads_.end(), [&](const auto& thread) {
      return thread && thread->name() == name;
    });
    found.push_back(known == threads_.end() ? std::make_unique<Thread>(std::move(name), tasks_)
                                            : std::move(*known));
  }
  threads_ = std::move(found);
}

}  // namespace deepbench
