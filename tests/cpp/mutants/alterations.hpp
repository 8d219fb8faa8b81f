// Errors that can be made in the outputs of every operation.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "outputs.hpp"

namespace deepbench::testing {

// The size above which an error has to be found.
enum class Floor {
  kElement,    // one element off by 8 units in its last place
  kScale,      // a factor of 0.995
  kStructural  // whatever a loop, an index or an operand that is wrong does
};

struct Alteration {
  Floor floor;
  std::function<void(Outputs&)> apply;
};

// By their names.
const std::map<std::string, Alteration>& alterations();

}  // namespace deepbench::testing
