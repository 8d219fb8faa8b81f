// Step 5 of a row: assembles the row from the results of the other steps. A pure function, which
// also assembles a row that ended early and a row that no backend answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/row_steps.hpp"

namespace deepbench {

DEEPBENCH_API Row assemble(const RowSteps& steps);

// A row whose worker ended without an answer, or for which no worker was asked.
struct FailedRow {
  int64_t position = 0;
  Problem problem;
  std::string backend;
  std::optional<int64_t> device;  // empty: unknown
  std::string device_name;
  Status status = Status::kFailed;
  std::string reason;
  // How the worker ended: crashed, hung, killed, stopped, skipped; "": it still runs.
  std::string worker;
};

DEEPBENCH_API Row assemble(const FailedRow& failed);

}  // namespace deepbench
