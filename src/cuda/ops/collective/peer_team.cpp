// Creates and resynchronizes the team, runs barriers, and detects missing ranks.
#include "ops/collective/peer_team.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "status_check.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda {
namespace {

// The state of a rank's team.
enum class TeamState : int32_t { kNone, kGood, kBroken };

// More than the steps of one call; a ring has the most.
constexpr uint32_t kStepMargin = 2 * PEER_MAX_RANKS;

}  // namespace

PeerControl resynchronized_control(const std::vector<PeerSteps>& of_ranks) {
  PeerControl control = {};
  for (size_t block = 0; block < PEER_MAX_BLOCKS; ++block) {
    uint32_t last = of_ranks[0].of[block];
    for (const PeerSteps& steps : of_ranks)
      if (int32_t(steps.of[block] - last) > 0) last = steps.of[block];
    control.steps[block] = last + kStepMargin;
    std::fill(std::begin(control.flags[block]), std::end(control.flags[block]), last + kStepMargin);
  }
  return control;
}

PeerTeam& PeerTeam::of(const plugin::Ranks& ranks, Stream& stream) {
  static auto* const made = new std::map<int, std::unique_ptr<PeerTeam>>();
  std::unique_ptr<PeerTeam>& team = (*made)[stream.device()];
  const TeamState state = !team                        ? TeamState::kNone
                          : *team->missing_flag() == 0 ? TeamState::kGood
                                                       : TeamState::kBroken;
  const std::vector<TeamState> all = ranks.exchange(state);
  const auto are = [&](TeamState state) { return std::count(all.begin(), all.end(), state); };
  if (are(TeamState::kNone) == 0) {
    if (are(TeamState::kBroken) > 0) team->resynchronize();
    return *team;
  }
  if (are(TeamState::kNone) < ranks.size())
    throw plugin::Error(DEEPBENCH_DEVICE_LOST, "some ranks have lost their peer access state");
  if (const std::string reason = unreachable_reason(ranks, stream.device()); !reason.empty())
    plugin::unsupported(reason);
  stream.make_current();
  team.reset(new PeerTeam(ranks, stream));
  return *team;
}

PeerTeam::PeerTeam(const plugin::Ranks& ranks, Stream& stream)
    : ranks_(ranks),
      stream_(stream),
      control_(sizeof(PeerControl), AllocationKind::kDedicated),
      missing_flag_(sizeof(uint32_t), /*pageable=*/false),
      barrier_kernel_(
          function("peer", "barrier_kernel<" + std::to_string(ranks.size()) + ">", stream)) {
  *missing_flag() = 0;
  CUDA_CHECK(cudart().cudaMemsetAsync(control_.data(), 0, control_.bytes(), stream_.get()));
  stream_.synchronize();  // before other ranks can access it
  controls_ = PeerMemory(ranks_, {control_.data()}, stream_);
  const int32_t multiprocessors = device_facts(stream_.device()).multiprocessors;
  const std::vector<int32_t> all = ranks_.exchange(multiprocessors);
  fewest_multiprocessors_ = *std::min_element(all.begin(), all.end());
}

// After a rank is missed, all running calls end by themselves.
void PeerTeam::resynchronize() {
  stream_.make_current();
  PeerControl control;
  const auto copy = [&](void* to, const void* from) {
    CUDA_CHECK(cudart().cudaMemcpyAsync(to, from, sizeof control, nvidia::cudaMemcpyDefault,
                                        stream_.get()));
    stream_.synchronize();
  };
  copy(&control, control_.data());
  PeerSteps steps;
  std::copy(std::begin(control.steps), std::end(control.steps), steps.of);
  // No rank's calls write flags at this point.
  control = resynchronized_control(ranks_.exchange(steps));
  copy(control_.data(), &control);
  *missing_flag() = 0;
  ranks_.exchange(int32_t{0});  // no rank continues until all are ready
}

Peers PeerTeam::peers(uint64_t timeout_ns) const {
  Peers peers = {};
  peers.control = controls_.at(0, 0);
  peers.timeout_ns = timeout_ns;
  peers.host_missing = missing_flag();
  peers.rank = uint32_t(ranks_.rank());
  return peers;
}

void PeerTeam::barrier(uint64_t timeout_ns) {
  LaunchShape shape;
  shape.block_x = PEER_MAX_RANKS;
  barrier_kernel_.launch(shape, stream_.get(), peers(timeout_ns));
}

void PeerTeam::wait() {
  volatile uint32_t* const missing = missing_flag();
  poll_until_done(stream_, [&] {
    if (*missing == 0 && ranks_.must_abort()) *missing = PEER_ABORTED;
  });
  if (*missing == 0) return;
  const std::string reason = *missing == PEER_ABORTED
                                 ? "a rank exited or failed, so the call was aborted"
                                 : "rank " + std::to_string(*missing - 1) + " of " +
                                       std::to_string(ranks_.size()) + " did not arrive in time";
  throw plugin::Error(DEEPBENCH_DEVICE_LOST, "peer: " + reason);
}

}  // namespace deepbench::cuda
