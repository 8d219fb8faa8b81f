// all_reduce by our own kernels over peer memory, as a library: one process for each device.
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "device.hpp"
#include "ops/all_reduce/peer_team.hpp"
#include "ops/all_reduce/peer_way.hpp"
#include "ops/all_reduce/summation.hpp"

namespace deepbench::cuda {
namespace {

constexpr int kOldestGeneration = 7;  // whose memory has accesses of one system

class PeerCall final : public LibraryCall {
 public:
  PeerCall(AllReduceOperands& operands, std::string name)
      : own_(operands.of(0)),
        stream_(own_.stream()),
        in_place_(operands.sum().in_place),
        name_(std::move(name)),
        team_(PeerTeam::of(plugin::ranks(), own_.stream())),
        way_(peer_way(name_, operands.sum(), plugin::ranks().size(), team_.multiprocessors())),
        sum_(way_, operands.sum(), plugin::ranks().size(), own_.stream()) {
    stream_.enter();
    require_as_many_copies();
    make_region(shared_bytes(way_.kind, operands.sum(), plugin::ranks().size()));
    const bool writes = writes_results(way_.kind);
    PeerMemory::Own shown = {};
    shown[kShared] = region_.data();
    if (reads_operands(way_.kind) || (in_place_ && writes))
      shown[kAdded] = const_cast<std::byte*>(own_.mine(0));
    if (!in_place_ && writes) shown[kResults] = own_.result(0);
    memory_ = PeerMemory(plugin::ranks(), shown, stream_);  // the last that can fail
  }

  // Nobody frees what another still has open.
  ~PeerCall() override {
    as_far_as_it_goes([this] { team_.wait(); });  // for a batch that was left by an error
    memory_.close();
    as_far_as_it_goes([this] {
      team_.meet(kMeetingLimitNs);
      team_.wait();
    });
  }

  void enqueue(uint64_t copy) override {
    sum_.enqueue(stream_.get(), team_.peers(kSumLimitNs), memory_.at(kShared, 0),
                 places(kAdded, own_.mine(0), own_.mine(copy)),
                 places(in_place_ ? kAdded : kResults, own_.result(0), own_.result(copy)));
  }
  void meet() override { team_.meet(kMeetingLimitNs); }
  void wait(const Stream&) override { team_.wait(); }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", plugin::ours("peer"));
    sink.text("algorithm", name_);
    sink.integer("workspace_bytes", int64_t(region_.bytes()));
    sum_.describe(sink);
    sink.text("note.peer", std::to_string(way_.blocks) + " blocks of " +
                               std::to_string(way_.threads) + " threads; operands are " +
                               (reads_operands(way_.kind) ? "read by all ranks where they lie"
                                : way_.kind == PeerKind::kOneShot ? "copied for the others to read"
                                                                  : "sent to the others"));
  }

 private:
  enum Part : size_t { kShared, kAdded, kResults };  // of what ranks show

  template <class Body>
  void as_far_as_it_goes(Body body) const {
    try {
      stream_.enter();
      body();
    } catch (const plugin::Error&) {
      // Whoever asks next is told.
    }
  }
  // Ranks in step use the same copy, at the same distance from the first.
  void require_as_many_copies() const {
    for (const uint64_t copies : plugin::ranks().exchange(own_.copies()))
      if (copies != own_.copies())
        plugin::unsupported("peer needs devices alike: here ranks would have " +
                            std::to_string(own_.copies()) + " and " + std::to_string(copies) +
                            " copies of the operands");
  }
  // LL's words must not look as if they had arrived.
  void make_region(uint64_t bytes) {
    if (bytes == 0) return;
    region_ = Buffer(bytes, Origin::kOwn);
    CUDA_CHECK(cudart().cudaMemsetAsync(region_.data(), 0, bytes, stream_.get()));
    stream_.synchronize();
  }
  PeerPlaces places(Part part, const std::byte* begin, const std::byte* copy) const {
    PeerPlaces places = memory_.at(part, uint64_t(copy - begin));
    places.of[plugin::ranks().rank()] = const_cast<std::byte*>(copy);
    return places;
  }

  const RankOperands& own_;
  Stream& stream_;  // the device's, which lives as long as the process
  const bool in_place_;
  const std::string name_;
  PeerTeam& team_;
  const PeerWay way_;
  const PeerSum sum_;
  Buffer region_;
  PeerMemory memory_;
};

class PeerSummation final : public Summation {
 public:
  PeerSummation() : Summation("peer") {}
  LibraryFacts library() override { return plugin::facts_of_ours(); }

 protected:
  std::vector<std::string> ways(const AllReduce& sum) override {
    return peer_ways(sum, plugin::ranks().size());
  }
  uint64_t workspace_bytes(const AllReduce& sum, const std::string& way) override {
    return shared_bytes(peer_kind(way), sum, plugin::ranks().size());
  }
  void require(const AllReduce&, const Seats& seats) override {
    const plugin::Ranks& ranks = plugin::ranks();
    if (ranks.local_size() < ranks.size())
      plugin::unsupported("peer sums over ranks of one machine; these are on several");
    if (ranks.size() > PEER_MOST_RANKS)
      plugin::unsupported("peer sums over at most " + std::to_string(int(PEER_MOST_RANKS)) +
                          " ranks; these are " + std::to_string(ranks.size()));
    if (device_facts(seats.devices.front()).major < kOldestGeneration)
      plugin::unsupported("peer needs devices of compute capability 7.0 or newer");
  }
  std::unique_ptr<LibraryCall> call(AllReduceOperands& operands, const std::string& way) override {
    return std::make_unique<PeerCall>(operands, way);
  }
};

}  // namespace

Implementation& peer_all_reduce() {
  static auto* implementation = new PeerSummation();
  return *implementation;
}

}  // namespace deepbench::cuda
