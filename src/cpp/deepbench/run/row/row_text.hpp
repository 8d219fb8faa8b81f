// Changes to a row that has been written: the text of every other member stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deepbench/core/export.hpp"

namespace deepbench {

// The row with one more note. Throws std::invalid_argument for text that is no row.
DEEPBENCH_API std::string with_note(std::string_view row, std::string_view note);

// The row with the members of `figures` in its bound, where they replace those of the same names.
// `figures` is a JSON object. Throws std::invalid_argument for text that is no row, or for a row
// without a bound.
DEEPBENCH_API std::string with_bound_figures(std::string_view row, std::string_view figures);

// The row with at most `most` raw samples, evenly selected, and marked as thinned. Its statistics
// remain those of all samples. `most` is at least 1. Throws std::invalid_argument for text that is
// no row.
DEEPBENCH_API std::string with_thinned_samples(std::string_view row, size_t most);

// The line of a visit: the row that a process measured, and which visit of it this is, from 1.
DEEPBENCH_API std::string visit_line(std::string_view row, int64_t visit);

// The row in the line of a visit. Throws std::invalid_argument for other text.
DEEPBENCH_API std::string row_of_visit(std::string_view visit);

}  // namespace deepbench
