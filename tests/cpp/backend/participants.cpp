// Which ranks and devices take part in a collective.
#include "deepbench/backend/participants.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/rank_devices.hpp"

namespace deepbench::plugin {
namespace {

RankDevice rank_device(const char* machine, const char* device, int32_t visible,
                       int32_t local_ranks) {
  RankDevice made;
  std::strcpy(made.machine, machine);
  std::strcpy(made.device, device);
  made.visible_devices = visible, made.local_ranks = local_ranks;
  return made;
}

TEST_CASE("participants: ranks need separate devices, and a refusal names a shared one") {
  CHECK(shared_device_reason({rank_device("a", "1b", 2, 2), rank_device("a", "1c", 2, 2)}) == "");
  // The launcher shows each rank only its device.
  CHECK(shared_device_reason({rank_device("a", "1b", 1, 2), rank_device("a", "1c", 1, 2)}) == "");
  CHECK(shared_device_reason({rank_device("a", "1b", 1, 1), rank_device("b", "1b", 1, 1)}) == "");
  CHECK(shared_device_reason({rank_device("a", "1b", 2, 3), rank_device("a", "1c", 2, 3),
                              rank_device("a", "1c", 2, 3)}) ==
        "3 ranks on a machine with 2 devices: each rank needs a separate device "
        "(ranks 1 and 2 share device 1c); --backend cpu sums in host memory");
  CHECK(shared_device_reason({rank_device("a", "1b", 2, 2), rank_device("a", "1b", 2, 2)}) ==
        "ranks 0 and 1 share device 1b: each rank needs a separate device; without --device, every "
        "rank selects its own device");
}

TEST_CASE("participants: the only rank shares its device with nobody") {
  const RankDevice mine = identify_rank_device(std::string(40, 'x'), 3, Ranks());
  CHECK(std::string(mine.machine) != "");
  CHECK(std::string(mine.device) == std::string(31, 'x'));
  CHECK(mine.visible_devices == 3);
  CHECK(mine.local_ranks == 1);
  CHECK_NOTHROW(require_distinct_devices(Ranks(), mine));
}

TEST_CASE("participants: a sum in one process needs several devices and no other rank") {
  const auto options = [](std::vector<int> devices) {
    Options made;
    made.devices = std::move(devices);
    return made;
  };
  const Participants all = participants_of_process(options({3, 1, 2}), Ranks());
  CHECK(all.devices == std::vector<int>{3, 1, 2});
  CHECK(all.first_rank == 0);
  CHECK(all.ranks == 3);
  CHECK(all.local() == 3);
  CHECK_THROWS_WITH_AS(participants_of_process(options({3}), Ranks()),
                       "a collective in one process needs at least two devices; use --devices 2",
                       Error);
  deepbench_group group = {};
  group.size = 4;
  CHECK_THROWS_WITH_AS(participants_of_process(options({3, 1}), Ranks(group)),
                       "this library drives all devices in one process, but this process is one "
                       "of 4 ranks; start it without ranks",
                       Error);
}

}  // namespace
}  // namespace deepbench::plugin
