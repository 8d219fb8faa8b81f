// An engine of cuDNN's with its knobs, as candidates' ids and reports write it.
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

  std::string text() const;  // "eng22_k2=18_k13=1", as cuDNN's own logs have it
};

// False for a text that text() would not give.
bool parse_engine(std::string_view text, Engine* engine);

}  // namespace deepbench::cuda::dnn
