// Whether the h(t) that a library's forward pass kept are those of the problem, up to rounding:
// what a reference of gradients asks before it starts from them. Header-only, for backends.
//
// Each h(t) is compared with the reference's own after the library's h(t-1). One alone may be far
// off, where a sum cancels; all of them together may not: what rounding adds to each is random, and
// in the root of the mean square it is about one roundoff of the narrow type, wherever a library
// rounds (docs/explanation/rnn_verification.md has the figures). A pass that is off by a small part
// of every h(t) shows there, long before it shows in one of them.
#pragma once

#include <cmath>
#include <cstdint>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

// Of h(t), over any number of them.
struct ForwardStateErrors {
  bool all_within_limit = true;  // each within ForwardStateLimits::per_state()
  double error = 0, state = 0;   // sums of squares
  int64_t count = 0;

  void add(const ForwardStateErrors& other) {
    all_within_limit = all_within_limit && other.all_within_limit;
    error += other.error, state += other.state, count += other.count;
  }
};

class ForwardStateLimits {
 public:
  // One h(t) may be off by so many of the narrow type's roundoffs, and by what errors of float sums
  // and of activations come to.
  ForwardStateLimits(const Rnn& rnn, double roundings, double activations)
      : narrow_(rnn.precision.output_roundoff > kRoundoffFloat ? rnn.precision.output_roundoff
                                                               : rnn.precision.input_roundoff),
        in_float_(8 * std::sqrt(double(rnn.hidden)) * kRoundoffFloat + activations),
        of_one_(roundings * narrow_ + in_float_) {}

  double per_state() const { return of_one_; }

  // Whether all together are what rounding makes of the problem's.
  bool accept(const ForwardStateErrors& errors) const {
    const double allowed = kRoundings * narrow_ * std::sqrt(errors.state) +
                           kPartOfFloat * in_float_ * std::sqrt(double(errors.count));
    return std::sqrt(errors.error) <= allowed;
  }

 private:
  static constexpr double kRoundings = 3, kPartOfFloat = 0.25;
  double narrow_, in_float_, of_one_;
};

}  // namespace deepbench
