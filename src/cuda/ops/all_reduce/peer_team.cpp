// Making the team, meeting, and looking for ranks that did not come.
#include "ops/all_reduce/peer_team.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "waiting.hpp"

namespace deepbench::cuda {

PeerTeam& PeerTeam::of(const plugin::Ranks& ranks, Stream& stream) {
  static auto* const made = new std::map<int, std::unique_ptr<PeerTeam>>();
  std::unique_ptr<PeerTeam>& mine = (*made)[stream.device()];
  const int32_t has_one = mine != nullptr;
  int32_t how_many = 0;
  for (const int32_t one : ranks.exchange(has_one)) how_many += one;
  if (how_many == ranks.size()) return *mine;
  if (how_many != 0)
    throw plugin::Error(DEEPBENCH_DEVICE_LOST, "some ranks have lost what peer access needs");
  if (const std::string reason = out_of_reach(ranks, stream.device()); !reason.empty())
    plugin::unsupported(reason);
  stream.enter();
  mine.reset(new PeerTeam(ranks, stream));
  return *mine;
}

PeerTeam::PeerTeam(const plugin::Ranks& ranks, Stream& stream)
    : ranks_(ranks),
      stream_(stream),
      control_(sizeof(PeerControl), Origin::kOwn),
      told_(sizeof(uint32_t), /*pageable=*/false),
      meet_all_(function("peer", "meet_all<" + std::to_string(ranks.size()) + ">", stream)) {
  *told() = 0;
  CUDA_CHECK(cudart().cudaMemsetAsync(control_.data(), 0, control_.bytes(), stream_.get()));
  stream_.synchronize();  // before anyone is shown it
  controls_ = PeerMemory(ranks_, control_.data(), stream_);
  const int32_t own = device_facts(stream_.device()).multiprocessors;
  const std::vector<int32_t> all = ranks_.exchange(own);
  multiprocessors_ = *std::min_element(all.begin(), all.end());
}

Peers PeerTeam::peers(uint64_t limit_ns) const {
  Peers peers = {};
  peers.control = controls_.at(0);
  peers.limit_ns = limit_ns;
  peers.told = told();
  peers.rank = uint32_t(ranks_.rank());
  return peers;
}

void PeerTeam::meet(uint64_t limit_ns) {
  Shape shape;
  shape.block_x = PEER_MOST_RANKS;
  meet_all_.launch(shape, stream_.get(), peers(limit_ns));
}

void PeerTeam::wait() {
  volatile uint32_t* const missing = told();
  wait_for(stream_, [&] {
    if (*missing == 0 && ranks_.lost()) *missing = PEER_GIVEN_UP;
  });
  if (*missing == 0) return;
  const std::string reason = *missing == PEER_GIVEN_UP
                                 ? "a rank is gone, and the sum was given up"
                                 : "rank " + std::to_string(*missing - 1) + " of " +
                                       std::to_string(ranks_.size()) + " did not come in time";
  throw plugin::Error(DEEPBENCH_DEVICE_LOST, "peer: " + reason);
}

}  // namespace deepbench::cuda
