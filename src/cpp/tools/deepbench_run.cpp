// deepbench_run: problem lines on standard input, JSON rows on standard output, no Python. The
// protocol is the worker's (docs/reference/protocol.md).
//
//   echo "gemm m=1760 n=128 k=1760" | deepbench_run cpu cache=hot threads=2
//   echo "all_reduce elements=100000" | mpirun -n 2 deepbench_run cpu
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/start_thread.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/launch_environment.hpp"
#include "deepbench/run/chain/chain_request.hpp"
#include "deepbench/run/row/json_writer.hpp"
#include "deepbench/run/session/open_rendezvous.hpp"
#include "deepbench/run/session/runner.hpp"

namespace {

constexpr int kBadUsage = 2, kDeviceLost = 3;
constexpr size_t kLongestMessage = 2000;  // bytes

constexpr const char* kUsage =
    "usage: deepbench_run BACKEND [key=value ...] < problems > rows\n"
    "       deepbench_run --help | --version\n"
    "\n"
    "  BACKEND    auto, a name such as cpu, or the path of a plugin\n"
    "  key=value  options of every row: cache=cold algorithm=best samples=20 ...\n"
    "\n"
    "Each line of standard input is a problem, with its options after ';':\n"
    "  gemm m=1760 n=128 k=1760 precision=float ; cache=cold\n"
    "Each line of standard output is a JSON object: a hello message, then a row for each problem.\n"
    "The ceilings that are measured for a row stand before it. To have them taken over by another\n"
    "process, give it a line 'ceiling KEY ; figure=NUMBER' for each before the first problem.\n";

// Prints a message, which may quote arguments, files and other ranks.
void say(const std::string& kind, const std::string& message) {
  std::cerr << "deepbench_run: " << kind << ": " << deepbench::one_line(message, kLongestMessage)
            << std::endl;
}

// Ends the second process of a backend that forked: the rows, the connections of ranks and the
// threads are the first one's.
void end_if_forked() {
  static const pid_t process = getpid();
  if (getpid() == process) return;
  say("warning", "the backend forked; the second process was ended");
  std::_Exit(1);
}

// Returns false once standard output takes no more, and says why the first time. A reader that has
// closed the pipe needs no message.
bool write_line(const std::string& line) {
  end_if_forked();
  errno = 0;
  std::cout << line << std::endl;
  if (std::cout) return true;
  if (errno != 0 && errno != EPIPE)
    say("error", "cannot write to standard output: " + std::string(std::strerror(errno)));
  return false;
}

int print_refusal(const std::string& message) {
  deepbench::JsonWriter json;
  json.begin_object().member("type", "error").member("message", message);
  json.member("exit", int64_t{kBadUsage}).end_object();
  write_line(json.str());
  say("error", message);
  return kBadUsage;
}

bool is_problem(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  return begin != std::string::npos && line[begin] != '#';
}

// The group of which a launcher started this process as a rank; nullptr without a launcher.
std::shared_ptr<deepbench::Group> join_group_if_launched(const std::string& command) {
  const std::optional<deepbench::LaunchEnvironment> place = deepbench::launch_environment();
  if (!place) return nullptr;
  const std::unique_ptr<deepbench::Rendezvous> rendezvous = deepbench::open_rendezvous(
      *place, {deepbench::version(), command},
      [](const std::string& message) { std::_Exit(print_refusal(message)); });
  if (const std::string warning = rendezvous->warning(); !warning.empty()) say("warning", warning);
  return rendezvous->wait();
}

// Ends the process if it waits within a library for a lost rank.
class ExitOnRankLoss {
 public:
  explicit ExitOnRankLoss(deepbench::Group* group) : group_(group) {
    if (group)
      watcher_ =
          deepbench::start_thread("the watcher of the other ranks", [group] { watch(*group); });
  }
  ~ExitOnRankLoss() {
    end_if_forked();  // which has no watcher
    if (!group_) return;
    group_->end();
    watcher_.join();
  }

 private:
  static void watch(deepbench::Group& group) {
    const std::string reason = group.wait_for_disconnect();
    if (reason.empty()) return;
    sleep(2);  // a row that can end by itself may be written first
    say("error", reason);
    std::_Exit(kDeviceLost);
  }
  deepbench::Group* const group_;
  std::thread watcher_;
};

struct Answer {
  std::string line;
  deepbench::Status status;
};

Answer answer_to(const std::string& line, deepbench::Runner& runner, int64_t& position) {
  if (deepbench::is_chain_line(line)) {
    const deepbench::ChainRow chain = runner.run_chain(line);
    return {chain.to_json(), chain.row.status};
  }
  const deepbench::Row row = runner.run(line, position++);
  return {row.to_json(), row.status};
}

// Returns 0 if every row is ok or unsupported and at least one is ok.
int run_lines(deepbench::Runner& runner) {
  runner.on_ceiling([](const std::string& line) { write_line(line); });
  int64_t position = 0, ok = 0, bad = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (!is_problem(line)) continue;
    if (deepbench::is_ceiling_line(line)) {
      runner.give_ceiling(line);
      continue;
    }
    const Answer answer = answer_to(line, runner, position);
    const bool written = write_line(answer.line);
    runner.release();  // the other ranks have released theirs, and may wait for this one
    ok += answer.status == deepbench::Status::kOk;
    bad +=
        answer.status != deepbench::Status::kOk && answer.status != deepbench::Status::kUnsupported;
    if (runner.device_lost())
      std::_Exit(kDeviceLost);  // destructors of libraries may wait for it forever
    if (!written) return 1;
  }
  return ok > 0 && bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  end_if_forked();  // remembers this process
  const std::string first = argc < 2 ? "" : argv[1];
  if (first == "-h" || first == "--help") {
    std::cout << kUsage;
    return 0;
  }
  if (first == "-V" || first == "--version") {
    std::cout << "deepbench_run " << deepbench::version() << std::endl;
    return 0;
  }
  if (first.empty()) {
    std::cerr << kUsage;
    return kBadUsage;
  }
  std::string options;
  for (int i = 2; i < argc; ++i) options += std::string(argv[i]) + " ";
  try {
    const std::shared_ptr<deepbench::Group> group = join_group_if_launched(first + " " + options);
    const ExitOnRankLoss end(group.get());
    deepbench::Runner runner(argv[1], options, {}, group);
    if (group && group->rank() > 0) {
      runner.follow_rank_zero();
      return 0;
    }
    if (!write_line(runner.hello())) return 1;
    return run_lines(runner);
  } catch (const std::exception& error) {
    return print_refusal(error.what());
  }
}
