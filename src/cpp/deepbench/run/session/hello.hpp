// Reads the facts of a backend that precede all rows: its environment and its libraries.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/attributes.hpp"

namespace deepbench {

// Sets the variables that the user has not set, and returns the resulting values of all of them.
Attributes set_environment_defaults(const Attributes& wanted);

// The facts of each library, from the keys library.NAME.FACT, in the order of first mention.
std::vector<std::pair<std::string, Attributes>> libraries_in(const Attributes& facts);

}  // namespace deepbench
