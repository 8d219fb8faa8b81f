// Rounds of a fleet's row.
#include "deepbench/run/fleet.hpp"

#include <map>
#include <utility>

#include "deepbench/group/message.hpp"
#include "deepbench/run/fleet_message.hpp"

namespace deepbench {
namespace {

std::string no_answer(const std::vector<std::string>&) { return ""; }
std::string answer_of_first(const std::vector<std::string>& all) { return all[0]; }

// How the row ends, and whose figures are wanted: all that the other ranks need.
std::string ending(const Fleet& fleet) {
  Packer packer;
  packer.number(int64_t(fleet.status)).text(fleet.reason).number(int64_t{fleet.of});
  return packer.bytes();
}

void take_ending(const std::string& bytes, Fleet& fleet) {
  Unpacker unpacker(bytes);
  fleet.status = static_cast<Status>(unpacker.number<int64_t>());
  fleet.reason = unpacker.text();
  fleet.of = static_cast<int>(unpacker.number<int64_t>());
}

}  // namespace

FleetRow::FleetRow(Group& group, std::vector<RankPlace> places, std::string candidate)
    : group_(group), places_(std::move(places)), candidate_(std::move(candidate)) {}

const std::string& FleetRow::agree() {
  stage_ = kPreparing;
  candidate_ = group_.round(Level::kStep, "candidate", candidate_, answer_of_first);
  return candidate_;
}

void FleetRow::start() {
  stage_ = kMeasuring;
  group_.round(Level::kStep, "start", "", no_answer);
}

void FleetRow::end(const std::function<void()>& go_on) {
  if (when_measured) when_measured();
  stage_ = kDone;
  group_.round_while(Level::kStep, "end", "", no_answer, go_on);
}

// A rank that has failed says so in the end; until then it keeps nobody waiting.
void FleetRow::catch_up() {
  if (stage_ == kChecking) agree();
  if (stage_ == kPreparing) start();
  if (stage_ == kMeasuring) group_.round(Level::kStep, "end", "", no_answer);
  stage_ = kDone;
}

Fleet FleetRow::settle(const RankFigures& mine, Result& row) {
  catch_up();
  Fleet fleet;
  const std::string found =
      group_.round(Level::kStep, "figures", figures_message(mine), [&](const auto& all) {
        std::vector<RankFigures> ranks;
        for (const std::string& one : all) ranks.push_back(figures_in(one));
        fleet = judged(std::move(ranks), places_);
        return ending(fleet);
      });
  take_ending(found, fleet);
  if (fleet.of < 0) return fleet;
  const bool wanted = group_.rank() == fleet.of;
  group_.round(Level::kStep, "middle", wanted ? middle_message(row) : "", [&](const auto& all) {
    take_middle(all[size_t(fleet.of)], row);
    return std::string();
  });
  return fleet;
}

std::string shared_devices(const std::vector<RankPlace>& places) {
  std::map<std::pair<std::string, std::string>, size_t> first;
  std::string shared;
  size_t more = 0;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const RankPlace& place = places[rank];
    if (place.uuid.empty()) continue;
    const auto [at, is_first] = first.emplace(std::make_pair(place.host, place.uuid), rank);
    if (is_first) continue;
    more += !shared.empty();
    if (shared.empty())
      shared = "ranks " + std::to_string(at->second) + " and " + std::to_string(rank) +
               " share device " + std::to_string(place.device) + " of " + place.host + " (" +
               place.uuid + ")";
  }
  if (more > 0) shared += ", and " + std::to_string(more) + " more share theirs";
  return shared.empty() ? "" : shared + ": they slow one another";
}

std::vector<RankPlace> places_of_all(Group& group, const RankPlace& mine) {
  std::vector<RankPlace> places;
  group.round(Level::kStep, "places", place_message(mine), [&](const auto& all) {
    for (size_t rank = 0; rank < all.size(); ++rank) {
      places.push_back(place_in(all[rank]));
      places.back().host = group.members()[rank].host;
    }
    return std::string();
  });
  return places;
}

}  // namespace deepbench
