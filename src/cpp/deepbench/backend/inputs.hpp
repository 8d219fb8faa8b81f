// The values with which operands are filled (the option `inputs`), and the elements that are
// filled. Header-only, for backends.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

enum class Inputs {
  kUniform,
  kZeros,
  kOnes,
  kIntegers  // for refill() only: an operand defines its own small integers (fill.h)
};

// The elements [begin, end) of an operand.
struct ElementRange {
  uint64_t begin, end;
};

inline Inputs parse_inputs(const std::string& name) {
  if (name == "uniform") return Inputs::kUniform;
  if (name == "zeros") return Inputs::kZeros;
  if (name == "ones") return Inputs::kOnes;
  invalid("inputs=" + name + ": must be uniform, zeros or ones");
}

// Parses the argument of refill().
inline Inputs parse_refill_inputs(const std::string& name) {
  return name == "integers" ? Inputs::kIntegers : parse_inputs(name);
}

}  // namespace deepbench::plugin
