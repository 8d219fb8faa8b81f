// Tests how a process determines its rank from the launcher's variables.
#include "deepbench/group/launch_environment.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<LaunchEnvironment> parse(const Variables& variables) {
  return parse_launch_environment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string rejection_message(const Variables& variables) {
  try {
    parse(variables);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a process without launch variables, or the only rank, has no group") {
  CHECK_FALSE(parse({}));
  CHECK_FALSE(parse({{"RANK", "0"}}));
  CHECK_FALSE(parse({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // A batch script, which does not run under srun.
  CHECK_FALSE(parse({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"MASTER_ADDR", "node1"}}));
}

TEST_CASE("the variables of every launcher are understood") {
  const Variables torchrun = {
      {"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  CHECK(parse(torchrun)->rank == 3);
  CHECK(parse(torchrun)->size == 8);
  CHECK(parse(torchrun)->address == "node1");
  CHECK(parse(torchrun)->port == 29500);
  Variables agent = torchrun;
  agent["TORCHELASTIC_USE_AGENT_STORE"] = "True";  // the agent itself then listens on MASTER_PORT
  CHECK(parse(agent)->port == 29501);
  agent["DEEPBENCH_MASTER_PORT"] = "4000";
  CHECK(parse(agent)->port == 4000);

  const Variables srun = {
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"MASTER_ADDR", "node1"}};
  CHECK(parse(srun)->rank == 1);
  CHECK(parse(srun)->launcher == "srun");
  CHECK(parse(srun)->port == 29577);
}

TEST_CASE("with srun alone, rank 0 is on the first machine of the step") {
  const auto step = [](const char* machines, const char* hosts) -> Variables {
    return {{"SLURM_PROCID", "1"},
            {"SLURM_STEP_NUM_TASKS", "2"},
            {"SLURM_STEP_NUM_NODES", machines},
            {"SLURM_STEP_NODELIST", hosts}};
  };
  const auto address = [&](const char* machines, const char* hosts) {
    return parse(step(machines, hosts))->address;
  };
  CHECK(address("2", "node7,node9") == "node7");
  CHECK(address("4", "node[07-09,12],login1") == "node07");
  CHECK(address("2", "node[12,14]") == "node12");
  CHECK(address("32", "r[2-3]n[01-16]-ib") == "r2n01-ib");
  CHECK_THROWS_AS(address("2", "node[1"), BackendUnavailable);
  CHECK_THROWS_AS(address("2", ""), BackendUnavailable);
  Variables other = step("2", "node[7-8]");
  other["MASTER_ADDR"] = "other";
  CHECK(parse(other)->address == "other");

  Variables by_pmi2 = step("2", "node[7-8]");
  by_pmi2["PMI_RANK"] = "1", by_pmi2["PMI_SIZE"] = "2";
  CHECK(parse(by_pmi2)->address == "node7");
  by_pmi2["PMI_RANK"] = "3", by_pmi2["PMI_SIZE"] = "4";  // set by a nested mpirun
  CHECK(parse(by_pmi2)->meets_by_mpi);
}

TEST_CASE("ranks that are known to be on one machine meet at a socket") {
  const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const Variables mpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}};
  const Variables slurm = {
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NUM_NODES", "1"}};
  const Variables torchrun = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "node1"}};
  for (Variables variables : {open_mpi, mpich, slurm, torchrun}) {
    CHECK(parse(variables)->rank == 1);
    const std::string path = parse(variables)->socket_path;
    CHECK(path.find("/tmp/deepbench-") == 0);
    CHECK(parse(variables)->port == 0);
    CHECK_FALSE(parse(variables)->uses_tcp());
    // A launcher may give ranks other numbers.
    for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
      if (variables.count(name)) variables[name] = "0";
    CHECK(parse(variables)->socket_path == path);
    for (const char* name : {"MASTER_PORT", "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID",
                             "TORCHELASTIC_RUN_ID"}) {
      Variables other = variables;
      other[name] = "4711";
      CHECK(parse(other)->socket_path != path);
    }
  }
}

TEST_CASE("a rank whose machine is not known, or inherits a connection, has no socket path") {
  const Variables by_hand = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}};
  CHECK(parse(by_hand)->socket_path == "");
  CHECK(parse(by_hand)->uses_tcp());
  Variables two_machines = by_hand;
  two_machines["LOCAL_WORLD_SIZE"] = "1";
  CHECK(parse(two_machines)->socket_path == "");
  Variables inherited = by_hand;
  inherited["LOCAL_WORLD_SIZE"] = "2", inherited["DEEPBENCH_RANKS_SOCKET"] = "5";
  CHECK(parse(inherited)->socket_path == "");
  CHECK_FALSE(parse(inherited)->uses_tcp());
}

// MPICH's mpirun sets no variable by which its launches differ.
TEST_CASE("the process that has created MPICH's connection tells launches apart") {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  Variables variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}};
  const std::string without = parse(variables)->socket_path;
  variables["PMI_FD"] = std::to_string(pair[0]);
  const std::string path = parse(variables)->socket_path;
  variables["PMI_FD"] = std::to_string(pair[1]);
  CHECK(parse(variables)->socket_path == path);
#ifdef SO_PEERCRED
  CHECK(path != without);
#endif
  close(pair[0]), close(pair[1]);
  CHECK(parse(variables)->socket_path == without);
  variables["PMI_FD"] = "none";
  CHECK(parse(variables)->socket_path == without);
}

TEST_CASE("ranks of an MPI on several machines meet by it if nothing else tells where rank 0 is") {
  const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const Variables mpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}};
  const Variables cray = {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}};
  for (const Variables& variables : {open_mpi, mpich, cray}) {
    CHECK(parse(variables)->meets_by_mpi);
    CHECK(parse(variables)->uses_tcp());
    CHECK(parse(variables)->port == 0);
    Variables with_port = variables;
    with_port["MASTER_PORT"] = "4711";
    CHECK(parse(with_port)->meets_by_mpi);
    CHECK(parse(with_port)->port == 4711);
    Variables with_address = variables;
    with_address["MASTER_ADDR"] = "node1";
    CHECK_FALSE(parse(with_address)->meets_by_mpi);
    CHECK(parse(with_address)->address == "node1");
    CHECK(parse(with_address)->port == 29577);
    Variables step = variables;  // --mpi=pmi2
    step["SLURM_PROCID"] = "1", step["SLURM_STEP_NUM_TASKS"] = "4";
    step["SLURM_STEP_NUM_NODES"] = "2", step["SLURM_STEP_NODELIST"] = "node[7-8]";
    CHECK_FALSE(parse(step)->meets_by_mpi);
    CHECK(parse(step)->address == "node7");
  }
  Variables local = mpich;
  local["MPI_LOCALNRANKS"] = "4";
  CHECK_FALSE(parse(local)->meets_by_mpi);
}

TEST_CASE("other ranks on several machines need the address of rank 0") {
  const Variables torchrun = {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}};
  const Variables srun = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  CHECK(rejection_message(torchrun) ==
        "started by torchrun as one of 4 ranks, but MASTER_ADDR is not set: set it on every rank "
        "to the host of rank 0 (Open MPI: mpirun -x MASTER_ADDR=HOST)");
  CHECK(rejection_message(srun).find("started by srun as one of 4 ranks, but MASTER_ADDR is") == 0);
}

TEST_CASE("invalid variables are named") {
  CHECK(rejection_message({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}) ==
        "the variable RANK=2 must be a number from 0 to 1");
  CHECK(rejection_message({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}) ==
        "the variable RANK=x must be a number from 0 to 1");
  CHECK(rejection_message({{"RANK", "0"}, {"WORLD_SIZE", "-2"}}) ==
        "the variable WORLD_SIZE=-2 must be a number from 1 to 65536");
  const Variables good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  Variables bad = good;
  bad["MASTER_PORT"] = "70000";
  CHECK(rejection_message(bad) ==
        "the variable MASTER_PORT=70000 must be a number from 1 to 65535");
  bad = good;
  bad["DEEPBENCH_RENDEZVOUS_TIMEOUT"] = "never";
  CHECK(rejection_message(bad) ==
        "the variable DEEPBENCH_RENDEZVOUS_TIMEOUT=never must be a number of seconds from 1 to "
        "86400");
  bad["DEEPBENCH_RENDEZVOUS_TIMEOUT"] = "2.5";
  CHECK(parse(bad)->timeout_s == 2.5);
  bad["DEEPBENCH_CONNECTION_TIMEOUT"] = "100000";
  CHECK(rejection_message(bad) ==
        "the variable DEEPBENCH_CONNECTION_TIMEOUT=100000 must be a number of seconds from 4 to "
        "3600");
}

}  // namespace
}  // namespace deepbench
