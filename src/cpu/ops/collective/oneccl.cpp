// Collectives through oneCCL, the successor of Intel MLSL, which the original DeepBench measured.
#include <memory>
#include <string>
#include <vector>

#include "ops/collective/collective_implementation.hpp"
#include "ops/collective/oneccl_api.hpp"

namespace deepbench::cpu {
namespace {

class OneCclCall final : public LibraryCall {
 public:
  explicit OneCclCall(const CollectiveOperands& operands)
      : operands_(operands), oneccl_(oneccl(plugin::ranks())) {}

  int run(uint64_t copy) override {
    oneccl_.call(operands_.problem(), operands_.rank(0).input(copy),
                 operands_.rank(0).result(copy));
    return 0;
  }
  void begin_batch() override {
    bind_rank_to_core();
    float one = 1;
    // This sum is a barrier: it returns only after all ranks have arrived.
    oneccl_.call({CollectiveKind::kAllReduce, 1, precision_info("float"), true}, &one, &one);
  }

 private:
  const CollectiveOperands& operands_;
  OneCcl& oneccl_;
};

class OneCclCollective final : public CollectiveImplementation {
 public:
  OneCclCollective() : CollectiveImplementation("oneccl") {}
  LibraryFacts library() override { return oneccl_facts(); }

 protected:
  void require_supported(const Collective& collective, const Participants&,
                         const std::string&) override {
    require_oneccl_function(collective.kind);
  }
  std::vector<std::string> algorithms(const Collective& collective) override {
    return {oneccl_function(collective.kind)};
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string&) override {
    return std::make_unique<OneCclCall>(operands);
  }
};

}  // namespace

Implementation& oneccl_all_reduce() {
  static auto* implementation = new OneCclCollective();
  return *implementation;
}
Implementation& oneccl_all_gather() { return oneccl_all_reduce(); }
Implementation& oneccl_reduce_scatter() { return oneccl_all_reduce(); }
Implementation& oneccl_all_to_all() { return oneccl_all_reduce(); }
Implementation& oneccl_broadcast() { return oneccl_all_reduce(); }
Implementation& oneccl_send_recv() { return oneccl_all_reduce(); }

}  // namespace deepbench::cpu
