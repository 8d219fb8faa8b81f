// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none.
DEEPBENCH_API size_t utf8_length(std::string_view text);

// Whether the sequence, one character, changes how a line is shown instead of being a part of it: a
// control character, an end of a line or a change of the direction of writing.
DEEPBENCH_API bool is_control_sequence(std::string_view character);

}  // namespace deepbench
