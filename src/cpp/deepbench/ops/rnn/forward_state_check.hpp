// Checks that the h(t) stored by a library's forward pass are those of the problem up to rounding.
// A reference of gradients needs this check if it starts from them. Header-only, for backends.
//
// Each h(t) is compared with the reference's h(t), which is computed from the library's h(t-1). A
// single h(t) may differ strongly where a sum cancels, but all of them together may not: rounding
// errors are random, and their root mean square is about one roundoff of the narrow type, wherever
// a library rounds (docs/explanation/rnn_verification.md has the figures). A pass whose every h(t)
// is slightly wrong shows in the root mean square long before it shows in a single h(t).
#pragma once

#include <cmath>
#include <cstdint>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

// The errors of any number of values h(t).
struct ForwardStateErrors {
  bool all_within_limit = true;  // each within ForwardStateLimits::per_state()
  double error = 0, state = 0;   // sums of squares of the errors and of the values
  int64_t count = 0;

  void add(const ForwardStateErrors& other) {
    all_within_limit = all_within_limit && other.all_within_limit;
    error += other.error, state += other.state, count += other.count;
  }
};

class ForwardStateLimits {
 public:
  // The limit of one h(t) is `roundings` roundoffs of the narrow type plus the errors of float sums
  // and activations.
  ForwardStateLimits(const Rnn& rnn, double roundings, double activations)
      : narrow_(rnn.precision.output_roundoff > kRoundoffFloat ? rnn.precision.output_roundoff
                                                               : rnn.precision.input_roundoff),
        in_float_(8 * std::sqrt(double(rnn.hidden)) * kRoundoffFloat + activations),
        per_state_(roundings * narrow_ + in_float_) {}

  double per_state() const { return per_state_; }

  // Whether rounding alone explains the errors of all h(t) together.
  bool accept(const ForwardStateErrors& errors) const {
    const double allowed = kRoundings * narrow_ * std::sqrt(errors.state) +
                           kFloatShare * in_float_ * std::sqrt(double(errors.count));
    return std::sqrt(errors.error) <= allowed;
  }

 private:
  static constexpr double kRoundings = 3, kFloatShare = 0.25;
  double narrow_, in_float_, per_state_;
};

}  // namespace deepbench
