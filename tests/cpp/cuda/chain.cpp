// Chains of real kernels on a device, through the whole backend.
#include "deepbench/run/chain/chain.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../paths.hpp"
#include "deepbench/run/session/runner.hpp"
#include "gpu.hpp"

namespace deepbench::cuda_test {
namespace {

ChainRow run_chain(const std::string& line, const std::string& options = "") {
  Runner runner(std::string(testing::stage_folder()) + "/libdeepbench_cuda.so",
                "ceilings=no samples=3 " + options);
  return runner.run_chain(line);
}

TEST_CASE("gpu: kernels of several operations and libraries are one graph and verified") {
  REQUIRE_GPU();
  const ChainRow chain = run_chain(
      "chain 0 1 2 3 4 5 0 1 2 3 4 5 0 ; gemm m=256 n=64 k=512 precision=half ; "
      "norm kind=rms rows=64 columns=256 precision=half ; "
      "elementwise kind=swiglu rows=64 columns=256 precision=half ; "
      "activation kind=relu elements=65536 precision=half ; "
      "attention batch=1 heads=4 seq_q=128 seq_kv=128 dim=64 precision=half ; "
      "conv w=14 h=14 c=64 n=2 k=64 r=3 s=3 pad_w=1 pad_h=1 precision=half");
  REQUIRE(chain.row.reason == "");
  CHECK(chain.row.verification.what.find("the outputs of 6 of 6 kernels, of which ") == 0);
  CHECK(chain.row.samples->launch == "graph");
  CHECK(chain.row.samples->timer == "cuda_event");
}

TEST_CASE("gpu: calls of a problem take other copies, and the last one is verified") {
  REQUIRE_GPU();
  for (const std::string order : {"0", "0 0", "0 0 0 0 0"})
    CHECK(run_chain("chain " + order + " ; gemm m=4096 n=64 k=4096 precision=half").row.reason ==
          "");
}

TEST_CASE("gpu: a chain on the stream takes as many launches as its graph has nodes") {
  REQUIRE_GPU();
  const ChainRow chain = run_chain(
      "chain 0 1 0 1 ; activation kind=relu elements=4096 ; "
      "memory kind=copy bytes=4096",
      "launch=stream");
  REQUIRE(chain.row.reason == "");
  CHECK(chain.row.samples->launch == "stream");
}

}  // namespace
}  // namespace deepbench::cuda_test
