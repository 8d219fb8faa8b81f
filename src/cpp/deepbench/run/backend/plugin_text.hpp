// Texts that a plugin gives: which of them count as names, and how others are made safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "deepbench/run/backend/limits.hpp"

namespace deepbench {

// The text, or its beginning: at most one byte more than `max_bytes` is looked at, since the text
// may be of any length.
std::string_view bounded_text(const char* text, size_t max_bytes);

// Why a text cannot be a name: "has a control character", "is not UTF-8", "has more than 256
// characters". Empty if it can.
std::string fault_of_name(const char* text, size_t max_characters = limits::kName);

// A free text as one line that is safe to print: white space becomes a space, other control
// characters and invalid UTF-8 become U+FFFD, and " ..." marks a cut.
std::string shown_text(const char* text, size_t max_bytes = limits::kText);

}  // namespace deepbench
