// Step 5 of a row: the row from the results of the other steps. A pure function; also assembles a
// row that ended early.
#pragma once

#include "deepbench/core/export.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/row_steps.hpp"

namespace deepbench {

DEEPBENCH_API Row assemble(const RowSteps& steps);

}  // namespace deepbench
