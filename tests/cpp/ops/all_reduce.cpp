// all_reduce: the payload of one rank.
#include "deepbench/ops/all_reduce/all_reduce.hpp"

#include <doctest/doctest.h>

#include "../suite_totals.hpp"

namespace deepbench {
namespace {

using testing::suite_totals;

TEST_CASE("all_reduce: the set's totals") {
  CHECK(suite_totals("training", "all_reduce").problems == 7);
  CHECK(suite_totals("training", "all_reduce").work.bytes == 534330884.0);
  CHECK(suite_totals("training", "all_reduce").work.flops == 0);
}

TEST_CASE("all_reduce: the payload follows the precision") {
  const auto bytes = [](const std::string& precision) {
    return all_reduce_problem(Problem::parse("all_reduce elements=1000 precision=" + precision))
        .bytes();
  };
  CHECK(bytes("float") == 4000);
  CHECK(bytes("half") == 2000);
  CHECK(bytes("int8") == 4000);  // sums are int32
}

}  // namespace
}  // namespace deepbench
