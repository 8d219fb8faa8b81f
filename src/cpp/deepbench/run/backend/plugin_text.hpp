// Checks and cleans texts that a plugin returns: which of them are valid names, and how the others
// are made safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "deepbench/run/backend/limits.hpp"

namespace deepbench {

// The text up to its end or to `max_bytes`. Reads at most one byte more, since the text may be of
// any length.
std::string_view bounded_text(const char* text, size_t max_bytes);

// The reason why a text is not a valid name, such as "has a control character", "is not UTF-8" or
// "has more than 256 characters"; empty if it is valid.
std::string fault_of_name(const char* text, size_t max_characters = limits::kName);

// A free text as one line that is safe to print: white space becomes a space, other control
// characters and invalid UTF-8 become U+FFFD, and " ..." marks a cut.
std::string shown_text(const char* text, size_t max_bytes = limits::kText);

}  // namespace deepbench
