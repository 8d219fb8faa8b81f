// Checks of the arguments of read_output and project_output. Header-only, for backends.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// Throws invalid if the output has no element with this index.
inline void require_element(uint64_t index, uint64_t elements) {
  if (index >= elements)
    invalid("read_output: element " + std::to_string(index) + " of " + std::to_string(elements));
}

// The number of columns of the output, seen as a matrix of `rows` rows. Throws invalid unless
// `rows` divides the number of elements.
inline uint64_t output_columns(uint64_t elements, uint64_t rows) {
  if (rows == 0 || elements == 0 || elements % rows != 0)
    invalid("project_output: " + std::to_string(elements) + " outputs are not a matrix of " +
            std::to_string(rows) + " rows");
  return elements / rows;
}

}  // namespace deepbench::plugin
