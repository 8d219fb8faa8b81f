// Reads the name, governor and load of the processor, and derives warnings.
#include "device.hpp"

#include <sys/utsname.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "buffer.hpp"
#include "cgroup_limits.hpp"
#include "energy.hpp"
#include "isa.hpp"

namespace deepbench::cpu {
namespace {

// The speed of a CPU drifts over tens of milliseconds with the load of its neighbors: medians over
// 20 ms differ by up to 12 % from run to run, medians over 200 ms by up to 6 %
// (docs/results/log/cpu.md).
constexpr double kMinTotalNs = 200e6;
constexpr double kRowLimitNs = 10e9;

struct MachineLoad {
  double average = 0;  // runnable threads of the whole machine over the last minute
  int running = 0;     // running threads at the moment of reading
};

MachineLoad read_load(const SystemRoot& root) {
  MachineLoad load;
  if (const auto text = read_text(root.proc + "/loadavg"))
    std::sscanf(text->c_str(), "%lf %*f %*f %d/", &load.average, &load.running);
  return load;
}

// The average still includes the load of the last command, so that threads of other work must also
// occupy that share of the processors now. One of the running threads is the reading thread itself.
bool is_machine_busy(const Topology& topology, const SystemRoot& root, double* average) {
  constexpr double kShareOfMachine = 0.2;
  constexpr int kReadings = 3;
  int seen = 0;
  for (int reading = 0; reading < kReadings; ++reading) {
    const MachineLoad load = read_load(root);
    *average = load.average;
    const double busy = kShareOfMachine * topology.online_cpus;
    if (load.average < busy) return false;
    seen += load.running - 1 >= busy;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return seen == kReadings;
}

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string threads_warning(const Topology& topology, int threads) {
  const auto count = std::to_string(threads);
  if (topology.quota_cores > 0 && threads > topology.quota_cores + 1e-6)
    return count + " threads share a quota of " + one_decimal(topology.quota_cores) +
           " cores and will be stopped in every period; use --threads " +
           std::to_string(topology.default_threads());
  if (threads > int(topology.cores.size()))
    return count + " threads on " + std::to_string(topology.cores.size()) +
           " physical cores: they share arithmetic units; use --threads " +
           std::to_string(topology.default_threads());
  return "";
}

bool openmp_is_bound() {
  const char* bind = std::getenv("OMP_PROC_BIND");
  return bind && std::string(bind) != "false" && std::string(bind) != "FALSE";
}

}  // namespace

std::string cpu_name(const SystemRoot& root) {
  for (const std::string& line : read_lines(root.proc + "/cpuinfo")) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  utsname machine{};
  return uname(&machine) == 0 ? std::string(machine.machine) + " processor" : "processor";
}

std::string frequency_governor(const std::vector<int>& cpus, const SystemRoot& root) {
  std::string found;
  for (int cpu : cpus) {
    const auto text = read_text(root.sys + "/devices/system/cpu/cpu" + std::to_string(cpu) +
                                "/cpufreq/scaling_governor");
    if (text && found.empty()) found = *text;
    if (text && *text != found) return "mixed";
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> device_warnings(const Topology& topology,
                                                                 int threads,
                                                                 const SystemRoot& root) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string scaling = frequency_governor(topology.cpus_for_threads(threads), root);
  if (!scaling.empty() && scaling != "performance")
    found.emplace_back("governor", "the frequency governor is '" + scaling +
                                       "': clocks vary; cpupower frequency-set -g performance");
  double average = 0;
  if (is_machine_busy(topology, root, &average))
    found.emplace_back("load", "other work runs on this machine (load average " +
                                   one_decimal(average) + " on " +
                                   std::to_string(topology.online_cpus) +
                                   " processors): times will be too long and vary");
  if (topology.efficiency_cores > 0 && topology.efficiency_cores < int(topology.cores.size()))
    found.emplace_back("hybrid", std::to_string(topology.efficiency_cores) + " of " +
                                     std::to_string(topology.cores.size()) +
                                     " cores are slower ones; choose one kind with taskset -c");
  if (const std::string text = threads_warning(topology, threads); !text.empty())
    found.emplace_back("threads", text);
  if (topology.ranks_on_core > 1)
    found.emplace_back("ranks", std::to_string(topology.ranks_on_core) +
                                    " ranks take turns on a core: times will be too long by far; "
                                    "one rank a core is the most");
  if (!topology.has_cache_sizes)
    found.emplace_back("caches", "the sizes of the caches are unknown; 32 MiB are assumed");
  return found;
}

void describe_processor(int threads, plugin::Sink& sink) {
  const Topology& host = topology();
  const MemoryState memory = available_memory();
  sink.text("name", cpu_name());
  sink.integer("threads", threads);
  sink.integer("cores", int64_t(host.cores.size()));
  sink.integer("hardware_threads", host.hardware_threads());
  if (host.quota_cores > 0) sink.real("quota", host.quota_cores);
  sink.integer("last_level_cache_bytes", host.last_level_bytes);
  if (host.l1_bytes > 0) sink.integer("cache.l1_bytes", host.l1_bytes);
  if (host.l2_bytes > 0) sink.integer("cache.l2_bytes", host.l2_bytes);
  sink.integer("memory_bytes", memory.total_bytes);
  sink.integer("memory_available_bytes", memory.available_bytes);
  sink.integer("shares_host_memory", 1);
  if (machine_energy().is_readable()) sink.integer("energy", 1);
  sink.real("min_total_ns", kMinTotalNs);
  sink.real("row_limit_ns", kRowLimitNs);
  sink.text("isa", isa().text());
  if (const std::string text = frequency_governor(host.cpus_for_threads(threads)); !text.empty())
    sink.text("governor", text);
  for (const auto& [name, text] : device_warnings(host, threads))
    sink.text("warning." + name, text);
  if (!openmp_is_bound())
    sink.text("warning.binding",
              "OMP_PROC_BIND is not set: threads may move between cores; set it before start");
}

}  // namespace deepbench::cpu
