// Tests rnn: useful work, which is the recurrent product alone.
#include "deepbench/ops/rnn/rnn.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "../suite_totals.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::suite_totals;

TEST_CASE("rnn: totals of the shipped sets") {
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

TEST_CASE("rnn: the steps of all phases but the gradient of the weights follow one another") {
  for (const std::string phase : {"fwd", "bwd_data", "bwd_weights", "bwd"}) {
    const Problem problem =
        Problem::parse("rnn cell=gru hidden=8 batch=3 timesteps=5 precision=half phase=" + phase);
    const Work work = problem.operation().work(problem);
    const bool is_serial = phase != "bwd_weights";
    CHECK(work.steps == (is_serial ? 5 : 0));
    CHECK(work.step_bytes == (is_serial ? 2 * 3 * 8 : 0));
  }
}

TEST_CASE("rnn: work follows the number of gates") {
  const auto flops = [](const std::string& cell) {
    return rnn_problem(Problem::parse("rnn hidden=8 batch=2 timesteps=3 cell=" + cell)).flops();
  };
  const double one = 2.0 * 8 * 8 * 2 * 3;
  CHECK(flops("vanilla") == one);
  CHECK(flops("gru") == 3 * one);
  CHECK(flops("gru_reset_before") == 3 * one);
  CHECK(flops("lstm") == 4 * one);
}

TEST_CASE("rnn: bytes are the weights once and each step's input and output") {
  const auto work = [](const std::string& rest) {
    const Problem problem = Problem::parse("rnn cell=lstm hidden=8 batch=2 timesteps=3 " + rest);
    return problem.operation().work(problem);
  };
  CHECK(work("").bytes == 4 * (4 * 8 * 8 + 2 * 3 * 2 * 8));
  CHECK(work("precision=bfloat16").bytes == 2 * (4 * 8 * 8 + 2 * 3 * 2 * 8));
  CHECK(work("phase=bwd").flops == 2 * work("").flops);
}

TEST_CASE("rnn: invalid problems are rejected with a reason of one line") {
  const auto reason = [](const std::string& rest) -> std::string {
    try {
      Problem::parse("rnn cell=gru " + rest);
    } catch (const InvalidProblem& error) {
      return error.what();
    }
    return "";
  };
  CHECK(reason("hidden=8 batch=2 timesteps=3") == "");
  for (const auto& [name, sizes] : {std::pair("hidden", "hidden=0 batch=2 timesteps=3"),
                                    std::pair("batch", "hidden=8 batch=0 timesteps=3"),
                                    std::pair("timesteps", "hidden=8 batch=2 timesteps=0")}) {
    CHECK(reason(sizes).find(name) != std::string::npos);
    CHECK(reason(sizes).find('\n') == std::string::npos);
  }
  CHECK(reason("hidden=8 batch=2 timesteps=3 mode=inference phase=bwd") ==
        "mode=inference supports only phase=fwd");
  CHECK(reason("hidden=8 batch=10000000 timesteps=10000000") == "");
  CHECK(reason("hidden=10000000 batch=10000000 timesteps=10000000").find("the sequence in bytes") !=
        std::string::npos);
}

TEST_CASE("rnn: int8 steps move one byte per element") {
  const auto bytes = [](const std::string& words) {
    const Problem problem = Problem::parse("rnn cell=lstm hidden=64 batch=2 timesteps=5 " + words);
    return problem.operation().work(problem).bytes;
  };
  CHECK(bytes("mode=inference precision=int8") == 4 * 64 * 64 + 2 * 5 * 2 * 64);
  CHECK(bytes("mode=inference") == 4 * bytes("mode=inference precision=int8"));
}

}  // namespace
}  // namespace deepbench
