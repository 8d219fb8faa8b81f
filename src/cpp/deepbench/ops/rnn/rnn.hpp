// One recurrent layer over a sequence: the typed problem. Header-only.
//
// Only the recurrent product counts: T steps of gates x hidden x hidden times a batch of N.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/ops/precision.hpp"

namespace deepbench {

struct Rnn {
  std::string cell;
  int64_t hidden = 0, batch = 0, timesteps = 0;
  PrecisionInfo precision;

  int64_t gates() const { return cell == "lstm" ? 4 : cell == "vanilla" ? 1 : 3; }
  double weights() const { return double(gates()) * double(hidden) * double(hidden); }
  double flops() const { return 2.0 * weights() * double(batch) * double(timesteps); }
};

template <class Attributes>
Rnn rnn_problem(const Attributes& a) {
  return {a.text("cell"), a.integer("hidden"), a.integer("batch"), a.integer("timesteps"),
          precision_info(a.text("precision"))};
}

}  // namespace deepbench
