// Combining the visits of a row, each of which a process measured and verified as a row.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Combines visits to rows, as JSON. Each element of `rows` has the visits of one row, in their
// order, as JSON of rows that are ok. The time of a row is the geometric mean of its visits'
// medians; its interval comes from their variance, moderated by the rows of its class (operation
// and decade of time). Samples are joined, stages are added up, metrics that all visits have are
// averaged, and everything else comes from the first visit. A row of one visit is that visit.
// Throws std::invalid_argument for other text and for a row without a visit.
DEEPBENCH_API std::vector<std::string> combine_visits(
    const std::vector<std::vector<std::string>>& rows);

}  // namespace deepbench
