// The names of the kernels that a call launches, which show facts about an algorithm that its
// library does not report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream.hpp"

namespace deepbench::cuda {

// Captures the call and reads the nodes of the graph; nothing runs. Empty if the call cannot be
// captured or the driver does not report names (before CUDA 12.3).
std::vector<std::string> launched_kernels(const Stream& stream,
                                          const std::function<void()>& enqueue);

// Whether one of the names contains the word, which is in lower case.
bool any_name_contains(const std::vector<std::string>& names, const std::string& word);

}  // namespace deepbench::cuda
