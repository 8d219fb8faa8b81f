// Times several problems as one call: the kernels of a model in the order in which it calls them.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/run/chain/chain_request.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/row_context.hpp"

namespace deepbench {

// A finished chain.
struct DEEPBENCH_API ChainRow {
  Row row;  // has no problem, no work and no bound
  int64_t calls = 0, kernels = 0;

  // One line; docs/reference/protocol.md describes it.
  std::string to_json() const { return chain_line(row, calls, kernels); }
};

// Every problem has one kernel with operands of its own, which its calls share. The calls of a
// problem with weights or other stored operands rotate through copies of them, so that they do not
// stay in the caches. The outputs of all kernels are verified before and after the
// timing, each for the last of its calls. Never throws for a chain that cannot be run: the row's
// status reports it.
DEEPBENCH_API ChainRow make_chain(const RowContext& context, const ChainRequest& request,
                                  const RunOptions& options);

}  // namespace deepbench
