// The shared part of the plans of all operations through oneDNN: the library's version and path.
#pragma once

#include "implementation.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

inline LibraryFacts onednn_facts() {
  const Api& api = Api::instance();
  return api.library().facts(api.version());
}

}  // namespace deepbench::cpu::onednn
