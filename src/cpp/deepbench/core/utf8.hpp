// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none.
DEEPBENCH_API size_t utf8_length(std::string_view text);

// Whether the sequence, which is one character, affects how a line is displayed instead of being
// visible in it: a control character, an end of a line or a change of the writing direction.
DEEPBENCH_API bool is_control_sequence(std::string_view character);

}  // namespace deepbench
