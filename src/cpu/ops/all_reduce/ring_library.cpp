// all_reduce by our own ring, as a library.
#include <memory>
#include <string>
#include <vector>

#include "ops/all_reduce/ring_by_mpi.hpp"
#include "ops/all_reduce/shared.hpp"
#include "ops/all_reduce/sockets.hpp"
#include "ops/all_reduce/summation.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kShared = "shared_memory";
constexpr const char* kSockets = "sockets";
constexpr const char* kMpi = "mpi";

std::string why_not_by_mpi() { return why_no_mpi("--library ring --algorithm mpi"); }

// Made once each: rings outlive kernels. All ranks ask for the same at the same time.
Neighbours& ring_by(const std::string& way) {
  if (way == kShared) {
    static const std::unique_ptr<Neighbours> ring = connect_shared(plugin::ranks());
    return *ring;
  }
  if (way == kMpi) {
    static const std::unique_ptr<Neighbours> ring = connect_by_mpi(plugin::ranks());
    return *ring;
  }
  static const std::unique_ptr<Neighbours> ring = connect_sockets(plugin::ranks());
  return *ring;
}

class RingCall final : public LibraryCall {
 public:
  RingCall(const AllReduceOperands& operands, Neighbours& neighbours, std::string way)
      : operands_(operands), neighbours_(neighbours), way_(std::move(way)) {}

  int run(uint64_t copy) override {
    ring_all_reduce(neighbours_, place(), operands_.sum().precision.c, operands_.mine(copy),
                    operands_.result(copy), operands_.elements());
    return 0;
  }
  void enter() override {
    bind_rank();
    meet(neighbours_, place());
  }
  void describe(plugin::Sink& sink) const override {
    sink.text("library", plugin::ours("ring"));
    sink.text("algorithm", way_);
    sink.integer("workspace_bytes", 0);
  }

 private:
  static Place place() { return {plugin::ranks().rank(), plugin::ranks().size()}; }

  const AllReduceOperands& operands_;
  Neighbours& neighbours_;
  const std::string way_;
};

class Ring final : public Summation {
 public:
  Ring() : Summation("ring") {}
  LibraryFacts library() override { return plugin::facts_of_ours(); }

 protected:
  void require(const AllReduce&, const std::string& way) override {
    if (way != kMpi) return;
    if (const std::string reason = why_not_by_mpi(); !reason.empty())
      plugin::unsupported("ring: " + reason);
  }
  std::vector<std::string> ways(const AllReduce&) override {
    std::vector<std::string> all = {kSockets};
    if (plugin::ranks().local_size() == plugin::ranks().size()) all.insert(all.begin(), kShared);
    if (why_not_by_mpi().empty()) all.emplace_back(kMpi);
    return all;
  }
  void begin_trying() override {
    if (!why_not_by_mpi().empty()) return;
    try {
      mpi(plugin::ranks());
    } catch (const plugin::Error&) {  // said again where it is tried: it must not cost the others
    }
  }
  std::unique_ptr<LibraryCall> call(const AllReduceOperands& operands,
                                    const std::string& way) override {
    return std::make_unique<RingCall>(operands, ring_by(way), way);
  }
};

}  // namespace

Implementation& ring_all_reduce() {
  static auto* implementation = new Ring();
  return *implementation;
}

}  // namespace deepbench::cpu
