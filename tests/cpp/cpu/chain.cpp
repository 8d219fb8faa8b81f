// Chains of real kernels on the processor.
#include "deepbench/run/chain/chain.hpp"

#include <doctest/doctest.h>

#include <string>

#include "deepbench/core/parallel.hpp"
#include "plugin_runner.hpp"

namespace deepbench::cpu_test {
namespace {

ChainRow run_chain(const std::string& line, const std::string& options = "threads=1") {
  Runner runner(plugin_of_unbound_thread(), "ceilings=no samples=3 " + options);
  return runner.run_chain(line);
}

TEST_CASE("chain: kernels of several operations and libraries are one verified call") {
  const ChainRow chain = run_chain(
      "chain 0 1 2 3 4 0 1 2 3 4 0 ; gemm m=64 n=32 k=48 ; norm kind=rms rows=32 columns=64 ; "
      "elementwise kind=swiglu rows=16 columns=64 ; activation kind=gelu elements=2048 ; "
      "conv w=14 h=14 c=8 n=2 k=8 r=3 s=3 pad_w=1 pad_h=1");
  REQUIRE(chain.row.reason == "");
  CHECK(chain.calls == 11);
  CHECK(chain.row.verification.what ==
        "the outputs of 5 of 5 kernels, of which 3 follow the operands");
  CHECK(chain.row.verification.outputs > 64 * 32);
  CHECK(chain.row.samples->per_call_ns.size() == 3);
}

TEST_CASE("chain: calls of one problem rotate through copies, also in place") {
  // The second product is in place and has fewer copies than calls.
  for (const std::string problem : {"gemm m=300 n=300 k=300", "gemm m=4096 n=4 k=3000"})
    for (const std::string order : {"0", "0 0", "0 0 0 0 0"}) {
      CAPTURE(problem);
      CAPTURE(order);
      CHECK(run_chain("chain " + order + " ; " + problem).row.reason == "");
    }
}

TEST_CASE("chain: threads of OpenMP and built-in ones are not mixed") {
  if (parallel_threads() < 2) return;
  const std::string line = "chain 0 1 ; gemm m=64 n=32 k=48 ; norm kind=rms rows=32 columns=64";
  const ChainRow chain = run_chain(line, "threads=2");
  CHECK(chain.row.status == Status::kUnsupported);
  CHECK(chain.row.reason.find("--threads 1") != std::string::npos);
}

TEST_CASE("chain: a kernel without a library's call cannot be linked") {
  const ChainRow chain = run_chain("chain 0 1 ; gemm m=8 n=8 k=8 ; memory kind=copy bytes=4096");
  CHECK(chain.row.status == Status::kUnsupported);
  CHECK(chain.row.reason == "call 2 of the chain cannot be linked with others");
}

}  // namespace
}  // namespace deepbench::cpu_test
