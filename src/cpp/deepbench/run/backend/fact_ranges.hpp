// Checks that numeric facts are within the ranges that a device can have.
#pragma once

#include <string>

#include "deepbench/core/attributes.hpp"

namespace deepbench {

// The first fact whose value is impossible, as "name=value": a number that is not finite, or one
// that the core computes with and that no device can have. Empty if there is none.
std::string impossible_fact(const Attributes& facts);

}  // namespace deepbench
