// Reads powercap's zones: intel-rapl:0 is a package, and intel-rapl:0:1 a part of it. AMD's
// processors have the same names.
#include "energy.hpp"

#include <optional>

#include "deepbench/plugin.hpp"

namespace deepbench::cpu {
namespace {

bool is_package(const std::string& name) { return name.compare(0, 8, "package-") == 0; }

}  // namespace

EnergyCounter::EnergyCounter(const SystemRoot& root) {
  const std::string zones = root.sys + "/class/powercap/intel-rapl:";
  for (int number = 0;; ++number) {
    const std::string zone = zones + std::to_string(number);
    const auto name = read_text(zone + "/name");
    if (!name) break;
    if (!is_package(*name)) continue;  // psys counts the packages a second time
    add_zone(zone);
    for (int part = 0;; ++part) {
      const std::string subzone = zone + ":" + std::to_string(part);
      const auto part_name = read_text(subzone + "/name");
      if (!part_name) break;
      if (*part_name == "dram") add_zone(subzone);
    }
  }
  readable_ = !zones_.empty();
  for (const Zone& zone : zones_) readable_ = readable_ && zone.last_uj >= 0 && zone.range_uj > 0;
}

void EnergyCounter::add_zone(const std::string& folder) {
  zones_.push_back({folder, read_integer(folder + "/max_energy_range_uj").value_or(-1),
                    read_integer(folder + "/energy_uj").value_or(-1)});
}

double EnergyCounter::joules() {
  if (!readable_)
    plugin::unsupported("Linux tells no energy of this processor to this user (powercap)");
  for (Zone& zone : zones_) {
    const auto now_uj = read_integer(zone.folder + "/energy_uj");
    if (!now_uj) plugin::unsupported(zone.folder + "/energy_uj can no longer be read");
    const int64_t spent_uj = *now_uj - zone.last_uj;
    joules_ += double(spent_uj < 0 ? spent_uj + zone.range_uj : spent_uj) / 1e6;
    zone.last_uj = *now_uj;
  }
  return joules_;
}

EnergyCounter& machine_energy() {
  static EnergyCounter counter;
  return counter;
}

}  // namespace deepbench::cpu
