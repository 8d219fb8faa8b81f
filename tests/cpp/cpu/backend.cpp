// The whole plugin table: the backend's description of itself, its libraries and its device.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "harness.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

TEST_CASE("the table is complete") {
  CHECK(backend().struct_size == sizeof(deepbench_backend));
  CHECK(backend().abi_major == DEEPBENCH_ABI_MAJOR);
  CHECK(std::string(backend().name) == "cpu");
  CHECK(&backend() == deepbench_plugin());
  int32_t devices = 0;
  CHECK(backend().device_count(&devices) == DEEPBENCH_OK);
  CHECK(devices == 1);
}

TEST_CASE("every library has a version and a path, or a reason") {
  Emitted facts;
  REQUIRE(backend().describe(facts.sink()) == DEEPBENCH_OK);
  const auto first_library =
      std::find_if(facts.order.begin(), facts.order.end(),
                   [](const auto& fact) { return fact.first.find("library.") == 0; });
  REQUIRE(first_library != facts.order.end());
  CHECK(first_library->first.find("library.onednn.") == 0);
  for (const std::string library : {"onednn", "openblas", "mkl"}) {
    const std::string prefix = "library." + library + ".";
    CAPTURE(library);
    CHECK(facts.has(prefix + "version") == facts.has(prefix + "path"));
    CHECK(facts.has(prefix + "version") != facts.has(prefix + "reason"));
    if (facts.has(prefix + "path")) CHECK(facts.text(prefix + "path").front() == '/');
    if (facts.has(prefix + "reason")) CHECK(facts.text(prefix + "reason").size() > 20);
  }
}

TEST_CASE("the device's description has the facts for ceilings and result files") {
  Emitted facts;
  REQUIRE(backend().describe_device(0, facts.sink()) == DEEPBENCH_OK);
  for (const char* name : {"name", "isa"}) CHECK_FALSE(facts.text(name).empty());
  for (const char* name : {"threads", "cores", "hardware_threads", "last_level_cache_bytes",
                           "memory_bytes", "memory_available_bytes"})
    CHECK(facts.number(name) > 0);
  CHECK(facts.number("memory_available_bytes") <= facts.number("memory_bytes"));
  Emitted none;
  CHECK(backend().describe_device(1, none.sink()) == DEEPBENCH_INVALID);
}

TEST_CASE("the environment variables set the number of threads and their cores") {
  const ScopedEnvironmentVariable none("OMP_NUM_THREADS", std::nullopt);
  Emitted variables;
  const NamedValues options("threads=1");
  REQUIRE(backend().environment(options.get(), variables.sink()) == DEEPBENCH_OK);
  CHECK(variables.text("OMP_NUM_THREADS") == "1");
  CHECK(variables.text("OMP_PLACES") ==
        "{" + std::to_string(cpu::topology().cpus_for_threads(1).front()) + "}");
}

TEST_CASE("a number of threads that the run asks for replaces the user's variable") {
  const ScopedEnvironmentVariable set("OMP_NUM_THREADS", "2");
  Emitted kept, variables, facts;
  REQUIRE(backend().environment(NamedValues("").get(), kept.sink()) == DEEPBENCH_OK);
  CHECK(kept.text("OMP_NUM_THREADS") == "2");
  const NamedValues options("threads=1");
  REQUIRE(backend().environment(options.get(), variables.sink()) == DEEPBENCH_OK);
  REQUIRE(backend().describe_device(0, facts.sink()) == DEEPBENCH_OK);
  CHECK(facts.number("threads") == 1);
  CHECK(std::getenv("OMP_NUM_THREADS") == std::string("1"));
}

}  // namespace
}  // namespace deepbench::cpu_test
