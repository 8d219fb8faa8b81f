// rnn: useful work, the recurrent product alone.
#include "deepbench/ops/rnn/rnn.hpp"

#include <doctest/doctest.h>

#include "../suite_totals.hpp"

namespace deepbench {
namespace {

using testing::suite_totals;

TEST_CASE("rnn: the sets' totals") {
  for (const std::string phase : {"fwd", "bwd_data", "bwd_weights"}) {
    CHECK(suite_totals("training", "rnn", "phase=" + phase).problems == 53);
    CHECK(suite_totals("training", "rnn", "phase=" + phase).work.flops == 13727506563072.0);
  }
  CHECK(suite_totals("training", "rnn", "phase=fwd").work.bytes == 11480686592.0);
  CHECK(suite_totals("inference_server", "rnn").problems == 69);
  CHECK(suite_totals("inference_server", "rnn").work.flops == 2565495324672.0);
  CHECK(suite_totals("inference_device", "rnn").problems == 3);
  CHECK(suite_totals("inference_device", "rnn").work.flops == 80805888.0);
}

TEST_CASE("rnn: gates of the cells") {
  const auto flops = [](const std::string& cell) {
    return rnn_problem(Problem::parse("rnn hidden=8 batch=2 timesteps=3 cell=" + cell)).flops();
  };
  const double one = 2.0 * 8 * 8 * 2 * 3;
  CHECK(flops("vanilla") == one);
  CHECK(flops("gru") == 3 * one);
  CHECK(flops("gru_reset_before") == 3 * one);
  CHECK(flops("lstm") == 4 * one);
}

}  // namespace
}  // namespace deepbench
