// Chains of real kernels on the processor.
#include "deepbench/run/chain/chain.hpp"

#include <doctest/doctest.h>

#include <string>

#include "plugin_runner.hpp"

namespace deepbench::cpu_test {
namespace {

ChainRow run_chain(const std::string& line) {
  Runner runner(plugin_of_unbound_thread(), "ceilings=no samples=3");
  return runner.run_chain(line);
}

TEST_CASE("chain: kernels of several operations and libraries are one verified call") {
  const ChainRow chain = run_chain(
      "chain 0 1 2 3 4 0 1 2 3 4 0 ; gemm m=64 n=32 k=48 ; norm kind=rms rows=32 columns=64 ; "
      "elementwise kind=swiglu rows=16 columns=64 ; activation kind=gelu elements=2048 ; "
      "conv w=14 h=14 c=8 n=2 k=8 r=3 s=3 pad_w=1 pad_h=1");
  REQUIRE(chain.row.reason == "");
  CHECK(chain.calls == 11);
  CHECK(chain.row.verification.what == "the outputs of 5 of 5 kernels");
  CHECK(chain.row.samples->per_call_ns.size() == 3);
}

TEST_CASE("chain: calls of one problem rotate through as many copies as they are") {
  for (const std::string order : {"0", "0 0", "0 0 0 0 0"})
    CHECK(run_chain("chain " + order + " ; gemm m=300 n=300 k=300").row.reason == "");
}

TEST_CASE("chain: a kernel without a library's call cannot be linked") {
  const ChainRow chain = run_chain("chain 0 1 ; gemm m=8 n=8 k=8 ; memory kind=copy bytes=4096");
  CHECK(chain.row.status == Status::kUnsupported);
  CHECK(chain.row.reason == "call 2 of the chain cannot be linked with others");
}

}  // namespace
}  // namespace deepbench::cpu_test
