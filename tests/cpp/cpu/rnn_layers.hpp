// The layers of the tests of recurrent layers on the CPU.
#pragma once

#include <cstdint>
#include <string>

#include "../ops/naive_rnn.hpp"

namespace deepbench::cpu_test {

inline constexpr const char* kCells[] = {"vanilla", "lstm", "gru", "gru_reset_before"};
inline constexpr const char* kPhases[] = {"fwd", "bwd", "bwd_data", "bwd_weights"};

struct LayerSizes {
  int64_t hidden, batch, timesteps;
};
inline constexpr LayerSizes kSmall = {24, 3, 5};

inline std::string rnn_text(const std::string& cell, const LayerSizes& sizes,
                            const std::string& phase = "fwd", const std::string& mode = "training",
                            const std::string& precision = "float") {
  return "cell=" + cell + " hidden=" + std::to_string(sizes.hidden) +
         " batch=" + std::to_string(sizes.batch) + " timesteps=" + std::to_string(sizes.timesteps) +
         " phase=" + phase + " mode=" + mode + " precision=" + precision;
}

inline Rnn rnn_of(const std::string& cell, const LayerSizes& sizes,
                  const std::string& phase = "fwd", const std::string& precision = "float") {
  Rnn rnn;
  rnn.cell = cell, rnn.phase = phase, rnn.mode = "training";
  rnn.hidden = sizes.hidden, rnn.batch = sizes.batch, rnn.timesteps = sizes.timesteps;
  rnn.precision = precision_info(precision);
  return rnn;
}

}  // namespace deepbench::cpu_test
