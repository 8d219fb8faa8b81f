// The reasons why a recurrent layer is unsupported.
#include "ops/rnn/layer_checks.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "requirements.hpp"

namespace deepbench::cuda {

Rnn skip_input_rnn(const plugin::Problem& problem) {
  Rnn rnn = rnn_problem(problem);
  rnn.inputs = rnn.hidden;
  return rnn;
}

std::string layer_text(const Rnn& rnn) {
  return rnn.cell + " with hidden=" + std::to_string(rnn.hidden) +
         " batch=" + std::to_string(rnn.batch) + " in " + std::string(rnn.precision.name);
}

void require_skip_input_layer(const Rnn& rnn) {
  require_built_in_kernels("rnn");
  if (rnn.cell == "gru_reset_before")
    plugin::unsupported("cuDNN's gru applies the reset gate after the product; use cell=gru");
  if (rnn.hidden == 1)
    plugin::unsupported(
        "with one unit, skipping the input product cannot be distinguished from having one "
        "input");
  const deepbench_type type = rnn.precision.a;
  if (type != DEEPBENCH_F32 && type != DEEPBENCH_F16 && type != DEEPBENCH_BF16)
    plugin::unsupported("cuDNN does not support recurrent layers in " +
                        std::string(rnn.precision.name));
  // The reference multiplies all gates or all steps at once.
  if (std::max({rnn.gates() * rnn.hidden, rnn.batch * rnn.hidden, rnn.batch * rnn.timesteps}) >
      std::numeric_limits<int32_t>::max())
    plugin::unsupported("cuDNN and cuBLAS support only dimensions and strides of 32 bits");
}

void require_layer(const Rnn& rnn, const plugin::Options& options) {
  require_skip_input_layer(rnn);
  require_precision_support(rnn.precision, options.device);
  if (rnn.phase == "bwd")
    plugin::unsupported(
        "cuDNN computes the two gradients in two calls; use phase=bwd_data and phase=bwd_weights");
}

}  // namespace deepbench::cuda
