// Emits a kernel's facts about operands that it stores in another layout beforehand. Header-only,
// for backends.
#pragma once

#include <string>
#include <vector>

#include "deepbench/backend/host_timer.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// `times` are samples of the time of one conversion of all these operands.
inline void describe_conversion(const std::string& operands, const std::vector<double>& times,
                                Sink& sink) {
  sink.text("converted", operands);
  sink.real("conversion_ns", median_ns(times));
  for (size_t i = 0; i < times.size(); ++i)
    sink.real("conversion_sample_ns." + std::to_string(i), times[i]);
}

}  // namespace deepbench::plugin
