// Computes the result of several calls in place, each of which adds the same to the output.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"

namespace deepbench {

struct SumOfCalls {
  ExpectedElements elements;
  std::vector<double> projections, projection_bounds;
};

// The sum of `calls` calls in the compared elements at these positions, and in the projections
// whose first values are known. Empty where the output has no growth, where rounding could hide
// that half of the calls were not made, or where a value could leave the range of its type.
DEEPBENCH_API std::optional<SumOfCalls> sum_of_calls(const ExpectedOutput& expected,
                                                     const std::vector<size_t>& positions,
                                                     uint64_t calls);

}  // namespace deepbench
