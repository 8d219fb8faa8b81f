// Every operation in plain loops: its right outputs, and those of kernels that make an error.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/core/problem.hpp"
#include "outputs.hpp"

namespace deepbench::testing {

constexpr int kSummingRanks = 4, kLocalRanks = 2;  // of collectives

// The outputs of a problem, not yet rounded to their type, from operands that are filled with
// `inputs`. `error` names what the kernel does wrong; empty: nothing.
Outputs compute_plainly(const Problem& problem, const std::string& inputs,
                        const std::string& error = "");

// The gradients of a recurrent layer in double.
std::vector<double> exact_gradients(const Problem& problem);

// The states of a recurrent layer in double, each computed from the one `before` holds for the step
// before.
std::vector<double> exact_states(const Problem& problem, const std::vector<double>& before);

// What an output in place holds before the call.
std::vector<double> initial_outputs(const Problem& problem, const std::string& inputs);

}  // namespace deepbench::testing
