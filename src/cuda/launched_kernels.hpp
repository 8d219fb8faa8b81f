// Which kernels a call launches, by their names: what a library does not tell of its algorithms.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream.hpp"

namespace deepbench::cuda {

// Captures the call and reads its nodes; nothing runs. Empty where the call cannot be captured, or
// where the driver does not tell names (before CUDA 12.3).
std::vector<std::string> launched_kernels(const Stream& stream,
                                          const std::function<void()>& enqueue);

// Whether one of the names contains the word, in small letters.
bool any_name_contains(const std::vector<std::string>& names, const std::string& word);

}  // namespace deepbench::cuda
