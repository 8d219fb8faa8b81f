// all_reduce through oneCCL, the successor of Intel MLSL, which the original DeepBench measured.
#include <memory>
#include <string>
#include <vector>

#include "ops/all_reduce/all_reduce_implementation.hpp"
#include "ops/all_reduce/oneccl_api.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kCclAllreduce = "ccl::allreduce";

class OneCclCall final : public LibraryCall {
 public:
  explicit OneCclCall(const AllReduceOperands& operands)
      : operands_(operands), oneccl_(oneccl(plugin::ranks())) {}

  int run(uint64_t copy) override {
    oneccl_.all_reduce(operands_.problem().precision.c, operands_.rank(0).input(copy),
                       operands_.rank(0).result(copy), operands_.elements());
    return 0;
  }
  void begin_batch() override {
    bind_rank_to_core();
    float one = 1;
    // This sum is a barrier: it returns only after all ranks have arrived.
    oneccl_.all_reduce(DEEPBENCH_F32, &one, &one, 1);
  }

 private:
  const AllReduceOperands& operands_;
  OneCcl& oneccl_;
};

class OneCclAllReduce final : public AllReduceImplementation {
 public:
  OneCclAllReduce() : AllReduceImplementation("oneccl") {}
  LibraryFacts library() override { return oneccl_facts(); }

 protected:
  std::vector<std::string> algorithms(const AllReduce&) override { return {kCclAllreduce}; }
  std::unique_ptr<LibraryCall> make_call(AllReduceOperands& operands, const std::string&) override {
    return std::make_unique<OneCclCall>(operands);
  }
};

}  // namespace

Implementation& oneccl_all_reduce() {
  static auto* implementation = new OneCclAllReduce();
  return *implementation;
}

}  // namespace deepbench::cpu
