// The results of the search for one of its candidates.
#pragma once

#include <string>
#include <vector>

namespace deepbench {

struct TriedCandidate {
  std::string id;                   // "": the library's default
  double screened_ns = 0;           // the time of a call in screening; 0: it was not timed
  std::vector<double> compared_ns;  // the samples of the interleaved comparison
  std::string refused;              // why it was left out, in one line; "": it was not
};

}  // namespace deepbench
