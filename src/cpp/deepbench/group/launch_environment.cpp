// The variables of torchrun, srun, Open MPI's and MPICH's mpirun.
#include "deepbench/group/launch_environment.hpp"

#include <cstdlib>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

constexpr int kPort = 29577;  // where nobody names one
constexpr int64_t kMaxRanks = 1 << 16;
constexpr double kMaxSeconds = 86400;

// How a launcher tells a rank who it is. The first whose variables are set counts: torchrun and we
// ourselves, then those whose variables a torchrun within them would inherit.
struct Launcher {
  const char* name;
  const char *rank, *size;
  const char* local_size;  // nullptr: not told
};
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    // srun's own: a batch script has SLURM_PROCID too, and is no rank.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr},
};

class Reader {
 public:
  explicit Reader(const VariableLookup& variable) : variable_(variable) {}
  std::string text(const char* name) const {
    const char* value = name ? variable_(name) : nullptr;
    return value ? value : "";
  }
  int integer(const char* name, int64_t least, int64_t most) const {
    try {
      const int64_t number = parse_integer(name, text(name));
      if (number >= least && number <= most) return static_cast<int>(number);
    } catch (const InvalidProblem&) {
    }
    throw BackendUnavailable("the variable " + std::string(name) + "=" + printable(text(name)) +
                             " must be a number from " + std::to_string(least) + " to " +
                             std::to_string(most));
  }

 private:
  const VariableLookup& variable_;
};

// torchrun's agent may itself listen where the variables point to.
int port_of(const Reader& read) {
  if (!read.text("DEEPBENCH_MASTER_PORT").empty())
    return read.integer("DEEPBENCH_MASTER_PORT", 1, 65535);
  if (read.text("MASTER_PORT").empty()) return kPort;
  const int port = read.integer("MASTER_PORT", 1, 65535);
  return read.text("TORCHELASTIC_USE_AGENT_STORE") == "True" ? port % 65535 + 1 : port;
}

// Of "node[07-09,12],login1" node07; of "r[2-3]n[01-16]" r2n01.
std::string first_host(const std::string& list) {
  std::string host;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const size_t end = list.find_first_of("-,]", at);
    const size_t close = list.find(']', at);
    if (close == std::string::npos) return "";
    host += list.substr(at + 1, end - at - 1);
    at = close;
  }
  return host;
}

// Where these ranks are the tasks of a step of Slurm's, the first of its machines: srun may speak
// to them as MPICH's mpirun does (--mpi=pmi2).
std::string first_of_step(const Reader& read, const Launcher& launcher) {
  if (read.text(launcher.rank) != read.text("SLURM_PROCID") ||
      read.text(launcher.size) != read.text("SLURM_STEP_NUM_TASKS"))
    return "";
  if (read.text("SLURM_STEP_NUM_NODES") == "1") return "127.0.0.1";
  return first_host(read.text("SLURM_STEP_NODELIST"));
}

std::string address_of(const Reader& read, const Launcher& launcher, int size) {
  const std::string address = read.text("MASTER_ADDR");
  if (!address.empty()) return address;
  if (read.text(launcher.local_size) == std::to_string(size)) return "127.0.0.1";
  if (const std::string first = first_of_step(read, launcher); !first.empty()) return first;
  throw BackendUnavailable("started by " + std::string(launcher.name) + " as one of " +
                           std::to_string(size) +
                           " ranks, but MASTER_ADDR is not set: it must name rank 0's machine "
                           "(docs/guide/ranks.md has the recipes)");
}

double seconds_of(const Reader& read, const char* name, double otherwise) {
  const std::string text = read.text(name);
  if (text.empty()) return otherwise;
  try {
    const double seconds = parse_real(name, text);
    if (seconds > 0 && seconds <= kMaxSeconds) return seconds;
  } catch (const InvalidProblem&) {
  }
  throw BackendUnavailable("the variable " + std::string(name) + "=" + printable(text) +
                           " must be seconds, more than 0");
}

double timeout_of(const Reader& read) {
  seconds_of(read, "DEEPBENCH_CONNECTION_TIMEOUT",
             0);  // of connections; what it says is to make sense
  return seconds_of(read, "DEEPBENCH_RENDEZVOUS_TIMEOUT", LaunchEnvironment().timeout_s);
}

}  // namespace

std::optional<LaunchEnvironment> parse_launch_environment(const VariableLookup& variable) {
  const Reader read(variable);
  for (const Launcher& launcher : kLaunchers) {
    if (read.text(launcher.rank).empty() || read.text(launcher.size).empty()) continue;
    LaunchEnvironment environment;
    environment.size = read.integer(launcher.size, 1, kMaxRanks);
    environment.rank = read.integer(launcher.rank, 0, environment.size - 1);
    if (environment.size == 1) return std::nullopt;
    environment.address = address_of(read, launcher, environment.size);
    environment.port = port_of(read);
    environment.launcher = launcher.name;
    environment.secret = read.text("DEEPBENCH_RANKS_SECRET");
    environment.timeout_s = timeout_of(read);
    return environment;
  }
  return std::nullopt;
}

static const char* process_variable(const char* name) { return std::getenv(name); }

std::optional<LaunchEnvironment> launch_environment() {
  return parse_launch_environment(process_variable);
}

double rendezvous_timeout_s() {
  const VariableLookup variable = process_variable;
  return timeout_of(Reader(variable));
}

}  // namespace deepbench
