// Which recurrent layers the libraries of this folder do at all, before any is asked.
#pragma once

#include "deepbench/ops/rnn/rnn.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The problem, with the inputs that skipping their product takes: as many as units.
Rnn skip_input_rnn(const plugin::Problem& problem);

// "gru with hidden=512 batch=16 in half", for messages.
std::string layer_text(const Rnn& rnn);

// Throws plugin::Error, unsupported, with the reason. The reference does more than cuDNN.
void require_skip_input_layer(const Rnn& rnn);
void require_layer(const Rnn& rnn, const plugin::Options& options);

}  // namespace deepbench::cuda
