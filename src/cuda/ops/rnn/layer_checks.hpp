// Determines which recurrent layers the libraries of this folder support, without calling a
// library.
#pragma once

#include "deepbench/ops/rnn/rnn.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The problem with as many inputs as units, which skipping the input product requires.
Rnn skip_input_rnn(const plugin::Problem& problem);

// Describes the layer in messages: "gru with hidden=512 batch=16 in half".
std::string layer_text(const Rnn& rnn);

// Both throw plugin::Error (unsupported) with the reason. The reference supports more layers than
// cuDNN.
void require_skip_input_layer(const Rnn& rnn);
void require_layer(const Rnn& rnn, const plugin::Options& options);

}  // namespace deepbench::cuda
