// Tests the limits within which a reference of gradients accepts the h(t) of a library, one by one
// and all together.
#include <doctest/doctest.h>

#include <cmath>

#include "deepbench/ops/rnn/forward_state_check.hpp"
#include "naive_rnn.hpp"

namespace deepbench {
namespace {

Rnn layer_in(const std::string& cell, const std::string& precision) {
  Rnn rnn;
  rnn.cell = cell, rnn.phase = "fwd", rnn.mode = "training";
  rnn.hidden = rnn.inputs = 24, rnn.batch = 4, rnn.timesteps = 40;
  rnn.precision = precision_info(precision);
  return rnn;
}

// The errors of 10,000 h(t) with the relative error `off`, one of which has the additional error
// `far`.
ForwardStateErrors errors_of(double off, double far = 0) {
  ForwardStateErrors errors;
  errors.count = 10000;
  for (int i = 0; i < 10000; ++i) {
    const double h = double(deepbench_uniform(1, 2, uint64_t(i)));
    errors.error += off * off * h * h, errors.state += h * h;
  }
  errors.error += far * far;
  return errors;
}

TEST_CASE("rnn: all h(t) together have a tighter limit than a single h(t)") {
  for (const std::string precision : {"half", "bfloat16", "tf32"}) {
    CAPTURE(precision);
    const Rnn rnn = layer_in("gru", precision);
    const double roundoff = precision == "bfloat16" ? kRoundoffBfloat16 : kRoundoffHalf;
    const ForwardStateLimits limits(rnn, 16, 0);
    CHECK(limits.per_state() > 16 * roundoff);
    CHECK(limits.accept(errors_of(roundoff)));
    CHECK(limits.accept(
        errors_of(roundoff, limits.per_state())));  // a single large error is accepted
    CHECK(limits.accept(errors_of(2.9 * roundoff)));
    CHECK_FALSE(limits.accept(errors_of(3.2 * roundoff)));
  }
  const ForwardStateLimits in_float(layer_in("gru", "float"), 16, 1e-6);
  CHECK(in_float.per_state() < 4e-6);
  CHECK(in_float.accept(errors_of(5e-7)));
  CHECK_FALSE(in_float.accept(errors_of(5e-6)));
  CHECK(in_float.accept(ForwardStateErrors()));
  ForwardStateErrors not_a_number;
  not_a_number.error = std::nan(""), not_a_number.count = 1;
  CHECK_FALSE(in_float.accept(not_a_number));
}

// Rounds every value that a library may round. Each step starts from the library's h(t-1), so the
// errors amount to one roundoff.
TEST_CASE("rnn: rounding every intermediate value stays within the limit of all h(t)") {
  for (const std::string cell : {"vanilla", "lstm", "gru", "gru_reset_before"}) {
    CAPTURE(cell);
    const Rnn rnn = layer_in(cell, "bfloat16");
    testing::NaiveRnn<double> library(rnn);
    library.narrow = library.narrow_sums = true;
    const std::vector<double> tested = library.forward();
    testing::NaiveRnn<double> right(rnn);
    right.forced = tested;
    const std::vector<double> expected = right.forward();
    ForwardStateErrors errors;
    errors.count = rnn.sequence();
    for (size_t i = 0; i < tested.size(); ++i)
      errors.error += (tested[i] - expected[i]) * (tested[i] - expected[i]),
          errors.state += expected[i] * expected[i];
    const double roundoffs = std::sqrt(errors.error / errors.state) / kRoundoffBfloat16;
    CHECK(roundoffs > 0.3);
    CHECK(roundoffs < 1.2);
    CHECK(ForwardStateLimits(rnn, 8, 0).accept(errors));
  }
}

}  // namespace
}  // namespace deepbench
