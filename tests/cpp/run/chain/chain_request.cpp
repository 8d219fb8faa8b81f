// The lines that ask for chains.
#include "deepbench/run/chain/chain_request.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

std::string refusal(const std::string& line) {
  try {
    parse_chain(line);
  } catch (const InvalidProblem& error) {
    return error.what();
  }
  return "it was read";
}

TEST_CASE("a chain states the order of its calls, options, and its problems") {
  REQUIRE(is_chain_line("chain 0 ; gemm m=1 n=1 k=1"));
  CHECK_FALSE(is_chain_line("gemm m=1 n=1 k=1"));
  CHECK_FALSE(is_chain_line("chains 0"));
  const ChainRequest request = parse_chain(
      "chain 1 0  1 power=sustained visits=1 ; gemm m=1 n=2 k=3; activation kind=relu elements=4");
  CHECK(request.order == std::vector<size_t>{1, 0, 1});
  REQUIRE(request.problems.size() == 2);
  CHECK(request.problems[0] == Problem::parse("gemm m=1 n=2 k=3"));
  CHECK(request.problems[1] == Problem::parse("activation kind=relu elements=4"));
  CHECK(request.options == "power=sustained visits=1 ");
  CHECK(request.calls[0] == 1);
  CHECK(request.calls[1] == 2);
}

TEST_CASE("a chain that cannot be read is refused with the reason") {
  CHECK(refusal("chain 0 1") == "chain: must be chain NUMBERS ; PROBLEM ; PROBLEM ...");
  for (const std::string word : {"1", "-1", "x", "0x", "99999999999999999999"})
    CHECK(refusal("chain " + word + " ; gemm m=1 n=1 k=1") ==
          "chain: a call is the number of a problem, from 0 to 0, not '" + word + "'");
  CHECK(refusal("chain 0 ; gemm m=1 n=1 k=1 ; gemm m=2 n=2 k=2") ==
        "chain: no call is one of problem 1");
  CHECK(refusal("chain ; gemm m=1 n=1 k=1") == "chain: no call is one of problem 0");
  CHECK(refusal("chain 0 ; all_reduce elements=4") ==
        "chain: all_reduce needs several ranks, and a chain has one");
  CHECK(refusal("chain 0 ; gemm m=0 n=1 k=1").find("m") != std::string::npos);
  CHECK(refusal("chain 0 ; ").find("chain") == std::string::npos);  // an empty problem's reason
  std::string many = "chain";
  for (int i = 0; i <= 100000; ++i) many += " 0";
  CHECK(refusal(many + " ; gemm m=1 n=1 k=1") == "chain: has more than 100000 calls");
}

}  // namespace
}  // namespace deepbench
