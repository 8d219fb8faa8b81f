// The base class of all operations through oneDNN: it reports the library's version and path.
#pragma once

#include "implementation.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu::onednn {

class OnednnImplementation : public Implementation {
 public:
  LibraryFacts library() final {
    const SharedLibrary& library = Api::instance().library();
    if (!library.loaded()) return {"", "", library.reason()};
    return {Api::instance().version(), library.path(), ""};
  }
};

}  // namespace deepbench::cpu::onednn
