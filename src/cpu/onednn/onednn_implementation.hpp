// The base class of all operations through oneDNN: it reports the library's version and path.
#pragma once

#include "implementation.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

class OnednnImplementation : public Implementation {
 public:
  LibraryFacts library() final {
    const Api& api = Api::instance();
    return api.library().facts(api.version());
  }
};

}  // namespace deepbench::cpu::onednn
