// Recurrent layers of the CUDA backend through its plugin table, compared with loops in double.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../ops/naive_rnn.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {

struct LayerSizes {
  int64_t hidden, batch, timesteps;
};
inline constexpr LayerSizes kSmall = {64, 3, 5};

struct Layer {
  std::string cell, phase = "fwd", mode = "training", precision = "float";
  LayerSizes sizes = kSmall;

  std::string text() const {
    return "cell=" + cell + " hidden=" + std::to_string(sizes.hidden) +
           " batch=" + std::to_string(sizes.batch) +
           " timesteps=" + std::to_string(sizes.timesteps) + " phase=" + phase + " mode=" + mode +
           " precision=" + precision;
  }
  Rnn rnn() const {
    Rnn rnn;
    rnn.cell = cell, rnn.phase = phase, rnn.mode = mode;
    rnn.hidden = rnn.inputs = sizes.hidden, rnn.batch = sizes.batch;
    rnn.timesteps = sizes.timesteps;
    rnn.precision = precision_info(precision);
    return rnn;
  }
};

class LayerRun : public KernelRun {
 public:
  LayerRun(const Layer& layer, const std::string& options)
      : KernelRun("rnn", layer.text(), options) {}
};

inline std::vector<double> reference_output(const Layer& layer) {
  testing::NaiveRnn<double> naive(layer.rnn(), kSeed);
  return layer.rnn().is_forward() ? naive.forward() : naive.backward();
}

// The error bound: sums that are passed from step to step round randomly. It allows 16 roundoffs of
// a narrow type, and 2^-17 for fast activations of float.
inline double roundoff_of(const Layer& layer) {
  if (layer.precision == "half" || layer.precision == "tf32") return 16 * kRoundoffHalf;
  if (layer.precision == "bfloat16") return 16 * kRoundoffBfloat16;
  const LayerSizes& s = layer.sizes;
  return 8 * std::sqrt(double(s.hidden + s.timesteps * s.batch)) * kRoundoffFloat + 1.0 / (1 << 17);
}

inline uint64_t count_wrong(const std::vector<double>& got, const std::vector<double>& expected,
                            double roundoff) {
  uint64_t wrong = got.size() != expected.size();
  for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
    wrong += !(std::abs(got[i] - expected[i]) <= roundoff * (1 + std::abs(expected[i])));
  return wrong;
}

// If a narrow sum rounds to the other side of zero, relu has the other slope, and all gradients
// that follow from it differ.
inline uint64_t allowed_wrong_count(const Layer& layer, uint64_t outputs) {
  const bool has_kink = layer.cell == "vanilla" && layer.phase != "fwd";
  return has_kink && layer.precision != "float" ? outputs / 4 : 0;
}

// Calls the kernel once on poisoned outputs and compares all of them, then checks that a repetition
// gives the same bits.
inline void check_layer(const Layer& layer, const std::string& options) {
  const std::string problem = layer.text();
  CAPTURE(problem);
  CAPTURE(options);
  LayerRun run(layer, options);
  INFO(run.error());
  REQUIRE(run.status() == DEEPBENCH_OK);
  const auto outputs = uint64_t(layer.rnn().outputs());
  CHECK(run.scan().untouched == outputs);
  CHECK(run.call(1).count == 1);
  const deepbench_scan scan = run.scan();
  CHECK(scan.count == outputs);
  CHECK(scan.untouched == 0);
  CHECK(scan.non_finite == 0);
  const std::vector<double> first = run.read(outputs);
  CHECK(count_wrong(first, reference_output(layer), roundoff_of(layer)) <=
        allowed_wrong_count(layer, outputs));
  const bool in_place = run.describe().text("in_place") == "1";
  run.poison();
  run.call(in_place ? 1 : 3);
  CHECK(run.read(outputs) == first);
}

}  // namespace deepbench::cuda_test
