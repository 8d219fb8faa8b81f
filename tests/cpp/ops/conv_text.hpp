// Convolutions from text: completed by the core, and as backends receive them.
#pragma once

#include <string>

#include "../named_values.hpp"
#include "deepbench/ops/conv/conv.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::testing {

inline std::string conv_text(const std::string& shape, const std::string& phase = "fwd",
                             const std::string& precision = "float",
                             const std::string& layout = "library") {
  std::string text = shape;
  for (const char* item : {"pad_w=0", "pad_h=0", "stride_w=1", "stride_h=1", "dilation_w=1",
                           "dilation_h=1", "groups=1"}) {
    const std::string key = std::string(item).substr(0, std::string(item).find('=') + 1);
    if ((" " + shape).find(" " + key) == std::string::npos) text += std::string(" ") + item;
  }
  return text + " phase=" + phase + " layout=" + layout + " precision=" + precision;
}

inline Conv conv_of(const std::string& problem) {
  const NamedValues named(problem);
  return conv_problem(plugin::Values(named.get()));
}

}  // namespace deepbench::testing
