// Who a process is, from what its starter has set.
#include "deepbench/group/launch_environment.hpp"

#include <doctest/doctest.h>

#include <map>

#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<LaunchEnvironment> place(const Variables& variables) {
  return parse_launch_environment([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  try {
    place(variables);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a process without such variables, or the only one, is alone") {
  CHECK_FALSE(place({}));
  CHECK_FALSE(place({{"RANK", "0"}}));
  CHECK_FALSE(place({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // A batch script, outside srun.
  CHECK_FALSE(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"MASTER_ADDR", "node1"}}));
}

TEST_CASE("every starter's variables are understood") {
  const Variables torchrun = {
      {"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  CHECK(place(torchrun)->rank == 3);
  CHECK(place(torchrun)->size == 8);
  CHECK(place(torchrun)->address == "node1");
  CHECK(place(torchrun)->port == 29500);
  Variables agent = torchrun;
  agent["TORCHELASTIC_USE_AGENT_STORE"] = "True";  // who then has that port
  CHECK(place(agent)->port == 29501);
  agent["DEEPBENCH_MASTER_PORT"] = "4000";
  CHECK(place(agent)->port == 4000);

  const Variables srun = {
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"MASTER_ADDR", "node1"}};
  CHECK(place(srun)->rank == 1);
  CHECK(place(srun)->launcher == "srun");
  CHECK(place(srun)->port == 29577);
}

TEST_CASE("srun alone is enough: rank 0 is on the first of its machines") {
  const auto step = [](const char* machines, const char* hosts) -> Variables {
    return {{"SLURM_PROCID", "1"},
            {"SLURM_STEP_NUM_TASKS", "2"},
            {"SLURM_STEP_NUM_NODES", machines},
            {"SLURM_STEP_NODELIST", hosts}};
  };
  const auto address = [&](const char* machines, const char* hosts) {
    return place(step(machines, hosts))->address;
  };
  CHECK(address("1", "node7") == "127.0.0.1");
  CHECK(address("2", "node7,node9") == "node7");
  CHECK(address("4", "node[07-09,12],login1") == "node07");
  CHECK(address("2", "node[12,14]") == "node12");
  CHECK(address("32", "r[2-3]n[01-16]-ib") == "r2n01-ib");
  CHECK_THROWS_AS(address("2", "node[1"), BackendUnavailable);
  CHECK_THROWS_AS(address("2", ""), BackendUnavailable);
  Variables other = step("2", "node[7-8]");
  other["MASTER_ADDR"] = "other";
  CHECK(place(other)->address == "other");

  Variables by_pmi2 = step("2", "node[7-8]");
  by_pmi2["PMI_RANK"] = "1", by_pmi2["PMI_SIZE"] = "2";
  CHECK(place(by_pmi2)->address == "node7");
  by_pmi2["PMI_RANK"] = "3", by_pmi2["PMI_SIZE"] = "4";  // of an mpirun within
  CHECK_THROWS_AS(place(by_pmi2), BackendUnavailable);
}

TEST_CASE("on one machine mpirun alone is enough") {
  CHECK(place({{"OMPI_COMM_WORLD_RANK", "1"},
               {"OMPI_COMM_WORLD_SIZE", "2"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})
            ->address == "127.0.0.1");
  CHECK(place({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}})->rank == 1);
  CHECK(refusal({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}})
            .find("MASTER_ADDR is not set") != std::string::npos);
}

TEST_CASE("variables that make no sense are named") {
  CHECK(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}) ==
        "the variable RANK=2 must be a number from 0 to 1");
  CHECK(refusal({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}) ==
        "the variable RANK=x must be a number from 0 to 1");
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "-2"}}) ==
        "the variable WORLD_SIZE=-2 must be a number from 1 to 65536");
  const Variables good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  Variables bad = good;
  bad["MASTER_PORT"] = "70000";
  CHECK(refusal(bad) == "the variable MASTER_PORT=70000 must be a number from 1 to 65535");
  bad = good;
  bad["DEEPBENCH_RENDEZVOUS_TIMEOUT"] = "never";
  CHECK(refusal(bad) ==
        "the variable DEEPBENCH_RENDEZVOUS_TIMEOUT=never must be a number of seconds above 0");
  bad["DEEPBENCH_RENDEZVOUS_TIMEOUT"] = "2.5";
  CHECK(place(bad)->timeout_s == 2.5);
}

}  // namespace
}  // namespace deepbench
