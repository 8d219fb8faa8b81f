// The barriers and messages of a fleet's row.
#include "deepbench/run/fleet/fleet_coordinator.hpp"

#include <map>
#include <utility>

#include "deepbench/group/message.hpp"
#include "deepbench/run/fleet/fleet_message.hpp"

namespace deepbench {
namespace {

std::string no_answer(const std::vector<std::string>&) { return ""; }
std::string answer_of_first(const std::vector<std::string>& all) { return all[0]; }

// Packs what the other ranks need: how the row ends, and which rank is the representative.
std::string pack_outcome(const FleetSummary& fleet) {
  Packer packer;
  packer.number(int64_t(fleet.status)).text(fleet.reason).number(int64_t{fleet.representative});
  return packer.bytes();
}

void unpack_outcome(const std::string& bytes, FleetSummary& fleet) {
  Unpacker unpacker(bytes);
  fleet.status = static_cast<Status>(unpacker.number<int64_t>());
  fleet.reason = unpacker.text();
  fleet.representative = static_cast<int>(unpacker.number<int64_t>());
}

}  // namespace

FleetCoordinator::FleetCoordinator(Group& group, std::vector<RankDevice> rank_devices,
                                   std::string candidate)
    : group_(group), rank_devices_(std::move(rank_devices)), candidate_(std::move(candidate)) {}

const std::string& FleetCoordinator::agree_on_candidate() {
  stage_ = kPreparing;
  candidate_ =
      group_.reduce_and_broadcast(AbortScope::kStep, "candidate", candidate_, answer_of_first);
  return candidate_;
}

void FleetCoordinator::start_barrier() {
  stage_ = kMeasuring;
  group_.reduce_and_broadcast(AbortScope::kStep, "start", "", no_answer);
}

void FleetCoordinator::end_barrier(const std::function<void()>& keep_running) {
  if (when_measured) when_measured();
  stage_ = kDone;
  group_.reduce_and_broadcast_while(AbortScope::kStep, "end", "", no_answer, keep_running);
}

// Keeps a failed rank from delaying the others, which learn of the failure in merge().
void FleetCoordinator::pass_remaining_barriers() {
  if (stage_ == kChecking) agree_on_candidate();
  if (stage_ == kPreparing) start_barrier();
  if (stage_ == kMeasuring) group_.reduce_and_broadcast(AbortScope::kStep, "end", "", no_answer);
  stage_ = kDone;
}

MergedFleet FleetCoordinator::merge(const RankResult& mine, const Findings& found) {
  pass_remaining_barriers();
  MergedFleet merged;
  FleetSummary& fleet = merged.summary;
  const std::string outcome = group_.reduce_and_broadcast(
      AbortScope::kStep, "figures", pack_rank_result(mine), [&](const auto& all) {
        std::vector<RankResult> ranks;
        for (const std::string& one : all) ranks.push_back(unpack_rank_result(one));
        fleet = summarize_fleet(std::move(ranks), rank_devices_);
        return pack_outcome(fleet);
      });
  unpack_outcome(outcome, fleet);
  if (fleet.representative < 0) return merged;
  const bool is_representative = group_.rank() == fleet.representative;
  group_.reduce_and_broadcast(AbortScope::kStep, "representative",
                              is_representative ? pack_findings(found) : "", [&](const auto& all) {
                                merged.representative =
                                    unpack_findings(all[size_t(fleet.representative)]);
                                return std::string();
                              });
  return merged;
}

std::string shared_devices_warning(const std::vector<RankDevice>& rank_devices) {
  std::map<std::pair<std::string, std::string>, size_t> first;
  std::string shared;
  size_t more = 0;
  for (size_t rank = 0; rank < rank_devices.size(); ++rank) {
    const RankDevice& rank_device = rank_devices[rank];
    if (rank_device.uuid.empty()) continue;
    const auto [earlier, is_first] =
        first.emplace(std::make_pair(rank_device.host, rank_device.uuid), rank);
    if (is_first) continue;
    more += !shared.empty();
    if (shared.empty())
      shared = "ranks " + std::to_string(earlier->second) + " and " + std::to_string(rank) +
               " share device " + std::to_string(rank_device.device) + " of " + rank_device.host +
               " (" + rank_device.uuid + ")";
  }
  if (more > 0) shared += ", and " + std::to_string(more) + " more share theirs";
  return shared.empty() ? "" : shared + ": they slow one another";
}

std::vector<RankDevice> gather_rank_devices(Group& group, const RankDevice& mine) {
  std::vector<RankDevice> rank_devices;
  group.reduce_and_broadcast(AbortScope::kStep, "rank_devices", pack_rank_device(mine),
                             [&](const auto& all) {
                               for (size_t rank = 0; rank < all.size(); ++rank) {
                                 rank_devices.push_back(unpack_rank_device(all[rank]));
                                 rank_devices.back().host = group.members()[rank].host;
                               }
                               return std::string();
                             });
  return rank_devices;
}

}  // namespace deepbench
