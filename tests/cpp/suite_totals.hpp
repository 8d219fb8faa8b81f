// Sums over the shipped problem sets. Tests compare them with totals that were computed
// independently of this code.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include "deepbench/core/operation.hpp"
#include "paths.hpp"

namespace deepbench::testing {

struct SuiteTotals {
  int problems = 0;
  Work work;
};

inline SuiteTotals suite_totals(const std::string& set, const std::string& op,
                                const std::string& defaults = "") {
  const std::string path =
      std::string(source_folder()) + "/python/deepbench/suites/" + set + "/" + op + ".txt";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  SuiteTotals totals;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const Problem problem = Problem::parse(line, defaults);
    const Work work = problem.operation().work(problem);
    totals.problems += 1;
    totals.work.flops += work.flops;
    totals.work.bytes += work.bytes;
  }
  return totals;
}

}  // namespace deepbench::testing
