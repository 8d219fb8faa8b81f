// The contents of operands, from options.inputs. Header-only, for backends.
#pragma once

#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

enum class Inputs { kUniform, kZeros, kOnes };

inline Inputs parse_inputs(const std::string& name) {
  if (name == "uniform") return Inputs::kUniform;
  if (name == "zeros") return Inputs::kZeros;
  if (name == "ones") return Inputs::kOnes;
  invalid("inputs=" + name + ": must be uniform, zeros or ones");
}

}  // namespace deepbench::plugin
