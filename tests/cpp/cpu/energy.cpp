// The energy of the machine's processors, from a folder in place of /sys.
#include "energy.hpp"

#include <doctest/doctest.h>

#include <string>

#include "deepbench/plugin.hpp"
#include "harness.hpp"

namespace deepbench::cpu {
namespace {

using cpu_test::TemporaryFolder;

SystemRoot root_of(const TemporaryFolder& folder) { return {folder.path(), folder.path()}; }

void write_zone(const TemporaryFolder& folder, const std::string& zone, const std::string& name,
                int64_t energy_uj) {
  const std::string path = "class/powercap/intel-rapl:" + zone + "/";
  folder.write(path + "name", name + "\n");
  folder.write(path + "max_energy_range_uj", "10000000\n");
  folder.write(path + "energy_uj", std::to_string(energy_uj) + "\n");
}

TEST_CASE("packages and their memory are added up, and nothing that they contain") {
  const TemporaryFolder folder;
  write_zone(folder, "0", "package-0", 1'000'000);
  write_zone(folder, "0:0", "core", 0);
  write_zone(folder, "0:1", "dram", 0);
  write_zone(folder, "1", "psys", 0);
  write_zone(folder, "2", "package-1", 0);
  EnergyCounter counter(root_of(folder));
  REQUIRE(counter.is_readable());
  CHECK(counter.joules() == 0);
  write_zone(folder, "0", "package-0", 3'000'000);
  write_zone(folder, "0:0", "core", 5'000'000);
  write_zone(folder, "0:1", "dram", 500'000);
  write_zone(folder, "1", "psys", 9'000'000);
  write_zone(folder, "2", "package-1", 1'000'000);
  CHECK(counter.joules() == doctest::Approx(3.5));
}

TEST_CASE("a counter that returned to zero keeps adding up") {
  const TemporaryFolder folder;
  write_zone(folder, "0", "package-0", 9'000'000);
  EnergyCounter counter(root_of(folder));
  write_zone(folder, "0", "package-0", 2'000'000);
  CHECK(counter.joules() == doctest::Approx(3));
  write_zone(folder, "0", "package-0", 4'000'000);
  CHECK(counter.joules() == doctest::Approx(5));
}

TEST_CASE("a machine without counters, or with one that cannot be read, tells no energy") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(EnergyCounter(root_of(folder)).joules(), plugin::Error);
  write_zone(folder, "0", "package-0", 0);
  folder.write("class/powercap/intel-rapl:1/name", "package-1");
  folder.write("class/powercap/intel-rapl:1/max_energy_range_uj", "10000000");
  CHECK_FALSE(EnergyCounter(root_of(folder)).is_readable());
  write_zone(folder, "1", "package-1", 0);
  EnergyCounter counter(root_of(folder));
  CHECK(counter.is_readable());
  folder.write("class/powercap/intel-rapl:1/energy_uj", "");
  CHECK_THROWS_AS(counter.joules(), plugin::Error);
}

}  // namespace
}  // namespace deepbench::cpu
