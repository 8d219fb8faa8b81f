// What a backend says before any row: its environment and its libraries.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deepbench/core/attributes.hpp"

namespace deepbench {

// Sets the variables that the user has not, and returns all as they then are.
Attributes set_environment(const Attributes& wanted);

// What is known of each library, in the order of their first mention: from library.NAME.FACT.
std::vector<std::pair<std::string, Attributes>> libraries_in(const Attributes& facts);

}  // namespace deepbench
