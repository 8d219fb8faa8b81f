// An engine of cuDNN with its knobs, in the notation of candidates' ids and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deepbench::cuda::dnn {

struct Engine {
  int64_t index = -1;
  std::vector<std::pair<int64_t, int64_t>> knobs;  // type and choice, in the library's order

  std::string text() const;  // "eng22_k2=18_k13=1", as in cuDNN's logs
};

// Returns false unless text() of the parsed engine reproduces the text.
bool parse_engine(std::string_view text, Engine* engine);

}  // namespace deepbench::cuda::dnn
