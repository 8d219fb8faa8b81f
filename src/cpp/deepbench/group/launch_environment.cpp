// Reads the variables of torchrun, srun and the mpirun of Open MPI and MPICH.
#include "deepbench/group/launch_environment.hpp"

#include <sys/socket.h>

#include <cstdlib>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/local_socket_path.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {
namespace {

constexpr int kPort = 29577;  // used if no variable names a port
constexpr int64_t kMaxRanks = 1 << 16;
constexpr double kMinRendezvousS = 1, kMaxRendezvousS = 86400;
constexpr int64_t kMaxDescriptor = 1 << 30;
constexpr const char* kInheritedSocket = "DEEPBENCH_RANKS_SOCKET";

// The variables by which a launcher identifies a rank. The first launcher whose variables are set
// counts: torchrun (and deepbench itself) first, then launchers whose variables a nested torchrun
// inherits.
struct Launcher {
  const char* name;
  const char *rank, *size;
  const char* local_size;  // nullptr: the launcher sets none
  bool is_mpi;             // the ranks can start MPI, and know one another by it
};
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", false},
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", true},
    // SLURM_STEP_NUM_TASKS is set by srun only; a batch script has SLURM_PROCID too but is not a
    // rank.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr, false},
};

constexpr const char* kLaunchIds[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID",
                                      "TORCHELASTIC_RUN_ID"};

class VariableReader {
 public:
  explicit VariableReader(const VariableLookup& variable) : variable_(variable) {}
  std::string text(const char* name) const {
    const char* value = name ? variable_(name) : nullptr;
    return value ? value : "";
  }
  int integer(const char* name, int64_t minimum, int64_t maximum) const {
    try {
      const int64_t number = parse_integer(name, text(name));
      if (number >= minimum && number <= maximum) return static_cast<int>(number);
    } catch (const InvalidProblem&) {
    }
    throw BackendUnavailable("the variable " + std::string(name) + "=" + printable(text(name)) +
                             " must be a number from " + std::to_string(minimum) + " to " +
                             std::to_string(maximum));
  }

 private:
  const VariableLookup& variable_;
};

bool names_port(const VariableReader& read) {
  return !read.text("DEEPBENCH_MASTER_PORT").empty() || !read.text("MASTER_PORT").empty();
}

// torchrun's agent may itself listen on MASTER_PORT; the next port is then used.
int rendezvous_port(const VariableReader& read) {
  if (!read.text("DEEPBENCH_MASTER_PORT").empty())
    return read.integer("DEEPBENCH_MASTER_PORT", 1, 65535);
  if (!names_port(read)) return kPort;
  const int port = read.integer("MASTER_PORT", 1, 65535);
  return read.text("TORCHELASTIC_USE_AGENT_STORE") == "True" ? port % 65535 + 1 : port;
}

// The first host of a Slurm list: node07 of "node[07-09,12],login1", r2n01 of "r[2-3]n[01-16]".
std::string first_host(const std::string& list) {
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    const size_t end = list.find_first_of("-,]", i);
    const size_t close = list.find(']', i);
    if (close == std::string::npos) return "";
    host += list.substr(i + 1, end - i - 1);
    i = close;
  }
  return host;
}

// srun may set the variables of MPICH's mpirun (--mpi=pmi2), so any launcher is checked.
bool is_task_of_slurm_step(const VariableReader& read, const Launcher& launcher) {
  return read.text(launcher.rank) == read.text("SLURM_PROCID") &&
         read.text(launcher.size) == read.text("SLURM_STEP_NUM_TASKS");
}

bool all_ranks_are_on_this_machine(const VariableReader& read, const Launcher& launcher, int size) {
  if (read.text(launcher.local_size) == std::to_string(size)) return true;
  return is_task_of_slurm_step(read, launcher) && read.text("SLURM_STEP_NUM_NODES") == "1";
}

// The process that created a Unix socket and passed one end on; "" for another kind of descriptor.
std::string creator_of_socket(const std::string& descriptor) {
#ifdef SO_PEERCRED
  ucred creator = {};
  socklen_t size = sizeof creator;
  if (!descriptor.empty() &&
      getsockopt(std::atoi(descriptor.c_str()), SOL_SOCKET, SO_PEERCRED, &creator, &size) == 0)
    return std::to_string(creator.pid);
#endif
  return "";
}

// An identifier that is the same on all ranks of a launch and differs between launches that run at
// the same time. MPICH's mpirun sets no variable that differs, but one of its processes has created
// the sockets by which it communicates with the ranks of this machine.
std::string launch_id(const VariableReader& read) {
  std::string id = std::to_string(rendezvous_port(read));
  for (const char* name : kLaunchIds) id += "\n" + read.text(name);
  return id + "\n" + creator_of_socket(read.text("PMI_FD"));
}

// The first machine of the Slurm step if the ranks are its tasks; otherwise empty.
std::string first_host_of_slurm_step(const VariableReader& read, const Launcher& launcher) {
  return is_task_of_slurm_step(read, launcher) ? first_host(read.text("SLURM_STEP_NODELIST")) : "";
}

// Finds out where rank 0 listens: by MASTER_ADDR, else by Slurm's variables, else by MPI.
void find_rank_zero(const VariableReader& read, const Launcher& launcher,
                    LaunchEnvironment& environment) {
  environment.port = rendezvous_port(read);
  environment.address = read.text("MASTER_ADDR");
  if (environment.address.empty()) environment.address = first_host_of_slurm_step(read, launcher);
  if (!environment.address.empty()) return;
  if (!launcher.is_mpi) throw BackendUnavailable(missing_address_reason(environment));
  environment.meets_by_mpi = true;
  if (!names_port(read)) environment.port = 0;
}

double read_seconds(const VariableReader& read, const char* name, double least, double most,
                    double fallback) {
  const std::string text = read.text(name);
  if (text.empty()) return fallback;
  try {
    const double seconds = parse_real(name, text);
    if (seconds >= least && seconds <= most) return seconds;
  } catch (const InvalidProblem&) {
  }
  throw BackendUnavailable("the variable " + std::string(name) + "=" + printable(text) +
                           " must be a number of seconds from " + to_text(least) + " to " +
                           to_text(most));
}

double rendezvous_timeout(const VariableReader& read) {
  return read_seconds(read, "DEEPBENCH_RENDEZVOUS_TIMEOUT", kMinRendezvousS, kMaxRendezvousS,
                      LaunchEnvironment().timeout_s);
}

// Socket reads the variable for each connection, and relies on this check.
void check_connection_timeout(const VariableReader& read) {
  read_seconds(read, "DEEPBENCH_CONNECTION_TIMEOUT", kMinKeepaliveS, kMaxKeepaliveS, kKeepaliveS);
}

}  // namespace

std::optional<LaunchEnvironment> parse_launch_environment(const VariableLookup& variable) {
  const VariableReader read(variable);
  for (const Launcher& launcher : kLaunchers) {
    if (read.text(launcher.rank).empty() || read.text(launcher.size).empty()) continue;
    LaunchEnvironment environment;
    environment.launcher = launcher.name;
    environment.size = read.integer(launcher.size, 1, kMaxRanks);
    environment.rank = read.integer(launcher.rank, 0, environment.size - 1);
    if (environment.size == 1) return std::nullopt;
    if (!read.text(kInheritedSocket).empty()) {
      environment.sockets = {read.integer(kInheritedSocket, 3, kMaxDescriptor)};
    } else if (all_ranks_are_on_this_machine(read, launcher, environment.size)) {
      environment.socket_path = local_socket_path(read.text("XDG_RUNTIME_DIR"), launch_id(read));
    } else {
      find_rank_zero(read, launcher, environment);
    }
    environment.secret = read.text("DEEPBENCH_RANKS_SECRET");
    environment.timeout_s = rendezvous_timeout(read);
    check_connection_timeout(read);
    return environment;
  }
  return std::nullopt;
}

static const char* process_variable(const char* name) { return std::getenv(name); }

std::optional<LaunchEnvironment> launch_environment() {
  return parse_launch_environment(process_variable);
}

std::string missing_address_reason(const LaunchEnvironment& environment) {
  return "started by " + environment.launcher + " as one of " + std::to_string(environment.size) +
         " ranks, but MASTER_ADDR is not set: set it on every rank to the host of "
         "rank 0 (Open MPI: mpirun -x MASTER_ADDR=HOST)";
}

double rendezvous_timeout_s() {
  const VariableLookup variable = process_variable;
  const VariableReader read(variable);
  check_connection_timeout(read);  // the ranks that the caller starts would each refuse it
  return rendezvous_timeout(read);
}

}  // namespace deepbench
