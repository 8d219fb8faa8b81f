// Calls through the plugin table, folders of fixture files and environment variables.
#include "harness.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "../paths.hpp"

namespace deepbench::cpu_test {
namespace {

// Sets the libraries' variables before any library is loaded, as the worker's parent process does,
// and adds the build's library folder to the search path.
struct Environment {
  Environment() {
    const char* user = std::getenv("DEEPBENCH_CPU_LIBRARY_PATH");
    const std::string path = (user ? std::string(user) + ":" : "") + testing::stage_folder();
    setenv("DEEPBENCH_CPU_LIBRARY_PATH", path.c_str(), 1);
    const deepbench_sink set = {nullptr, [](void*, const deepbench_value* variable) {
                                  setenv(variable->name, variable->text, 0);
                                }};
    backend().environment({nullptr, 0}, set);
  }
};
const Environment environment;

}  // namespace

bool is_installed(const std::string& library) {
  Emitted facts;
  REQUIRE(backend().describe(facts.sink()) == DEEPBENCH_OK);
  return facts.has("library." + library + ".version");
}

SupportResult plan_status(const std::string& op, const std::string& problem,
                          const std::string& options) {
  const TablePlan plan(backend(), op, NamedValues(problem), NamedValues(options));
  return {plan.status(), plan.error()};
}

uint64_t memory_needed(const std::string& op, const std::string& problem,
                       const std::string& options) {
  return TablePlan(backend(), op, NamedValues(problem), NamedValues(options)).memory_bytes();
}

std::vector<std::string> candidates(const std::string& op, const std::string& problem,
                                    const std::string& options) {
  return TablePlan(backend(), op, NamedValues(problem), NamedValues(options)).candidates();
}

deepbench_status prepare_status(const std::string& op, const std::string& problem,
                                const std::string& options) {
  TablePlan plan(backend(), op, NamedValues(problem), NamedValues(options));
  backend().destroy(plan.prepare());
  return plan.status();
}

Kernel::Kernel(const std::string& op, const std::string& problem, const std::string& options) {
  TablePlan plan(backend(), op, NamedValues(problem), NamedValues(options));
  handle_ = plan.prepare();
  INFO(op, " ", problem, " ; ", options, ": ", plan.error());
  REQUIRE(plan.status() == DEEPBENCH_OK);
  facts_ = plan.facts();
}

Emitted Kernel::describe() const {
  Emitted emitted = facts_;
  REQUIRE(backend().describe_kernel(handle_, emitted.sink()) == DEEPBENCH_OK);
  return emitted;
}

deepbench_batch Kernel::run(uint64_t count, int32_t launch, uint32_t flags) {
  const deepbench_request request = {sizeof request, count, launch, flags};
  deepbench_batch batch = {};
  batch.struct_size = sizeof batch;
  REQUIRE(backend().time_batch(handle_, &request, &batch) == DEEPBENCH_OK);
  CHECK(batch.count == count);
  CHECK(batch.elapsed_ns > 0);
  CHECK(batch.host_ns >= batch.elapsed_ns);
  CHECK(std::string(batch.timer) == "steady_clock");
  return batch;
}

std::vector<double> Kernel::read(uint64_t count, uint32_t output) const {
  std::vector<uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), uint64_t{0});
  std::vector<double> values(count);
  REQUIRE(backend().read_output(handle_, output, indices.data(), count, values.data()) ==
          DEEPBENCH_OK);
  return values;
}

std::vector<double> Kernel::read(const std::vector<uint64_t>& indices) const {
  std::vector<double> values(indices.size());
  REQUIRE(backend().read_output(handle_, 0, indices.data(), indices.size(), values.data()) ==
          DEEPBENCH_OK);
  return values;
}

deepbench_forward_states Kernel::adopt_forward_states_of(const Kernel& tested) {
  return testing::adopt_forward_states(backend(), handle_, tested.handle_);
}

deepbench_scan Kernel::scan(uint32_t output) const {
  deepbench_scan scan = {};
  scan.struct_size = sizeof scan;
  REQUIRE(backend().scan_output(handle_, output, &scan) == DEEPBENCH_OK);
  return scan;
}

std::vector<double> Kernel::project(uint64_t rows, uint64_t seed) const {
  std::vector<double> sums(rows);
  REQUIRE(backend().project_output(handle_, 0, rows, seed, sums.data()) == DEEPBENCH_OK);
  return sums;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "deepbench.XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& file, const std::string& text) const {
  const std::filesystem::path target = std::filesystem::path(path_) / file;
  std::filesystem::create_directories(target.parent_path());
  std::ofstream(target) << text << "\n";
}

}  // namespace deepbench::cpu_test
