// Making the team, meeting, and looking for ranks that did not come.
#include "ops/all_reduce/peer_team.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "check.hpp"
#include "deepbench/plugin.hpp"

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
  std::memset(told_.data(), 0, told_.bytes());
  CUDA_CHECK(cudart().cudaMemsetAsync(control_.data(), 0, control_.bytes(), stream_.get()));
  stream_.synchronize();  // before anyone is shown it
  controls_ = PeerMemory(ranks_, control_.data(), stream_);
}

Peers PeerTeam::peers(uint64_t limit_ns) const {
  Peers peers = {};
  peers.control = controls_.at(0);
  peers.limit_ns = limit_ns;
  peers.told = reinterpret_cast<uint32_t*>(told_.data());
  peers.rank = uint32_t(ranks_.rank());
  return peers;
}

void PeerTeam::meet(uint64_t limit_ns) {
  Shape shape;
  shape.block_x = PEER_MOST_RANKS;
  meet_all_.launch(shape, stream_.get(), peers(limit_ns));
}

void PeerTeam::wait() {
  stream_.synchronize();
  uint32_t missing = 0;
  std::memcpy(&missing, told_.data(), sizeof missing);
  if (missing != 0)
    throw plugin::Error(DEEPBENCH_DEVICE_LOST, "rank " + std::to_string(missing - 1) + " of " +
                                                   std::to_string(ranks_.size()) +
                                                   " did not come in time to a sum by peer access");
}

}  // namespace deepbench::cuda
