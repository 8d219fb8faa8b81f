// Queries the operating system for sessions and parents of processes. It does not read the memory
// of a process, such as its environment, because a driver may hold it.
#include "run_processes.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace deepbench::cuda {
namespace {

// The parent of a process; 0 if it is unknown, as without /proc.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // the name of a program may contain anything
  if (name_end == std::string::npos) return 0;
  std::istringstream words(line.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  words >> state >> parent;
  return words ? parent : 0;
}

pid_t command_of(pid_t process) {
  const pid_t leader = getsid(process);
  return leader > 0 ? parent_of(leader) : 0;
}

}  // namespace

bool belongs_to_this_run(pid_t process) {
  if (process <= 0 || !std::getenv("_DEEPBENCH_WORKER")) return false;
  const pid_t command = command_of(getpid());
  return command > 0 && command_of(process) == command;
}

}  // namespace deepbench::cuda
