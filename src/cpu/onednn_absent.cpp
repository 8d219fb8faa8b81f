// Replaces src/cpu/onednn and every ops/*/onednn*.cpp in a build without oneDNN's header: each
// route of routes.def through oneDNN then reports this reason.
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "routes.hpp"

namespace deepbench::cpu {
namespace {

class AbsentOnednn final : public Implementation {
 public:
  LibraryFacts library() override { return {"", "", kReason}; }
  std::unique_ptr<plugin::Plan> plan(const plugin::Problem&, const plugin::Options&) override {
    plugin::unsupported(kReason);
  }

 private:
  static constexpr const char* kReason =
      "deepbench was built without oneDNN's header; install it where the wheel "
      "onednn-devel-cpu-gomp exists (Linux x86-64)";
};

Implementation& absent_onednn() {
  static auto* implementation = new AbsentOnednn();
  return *implementation;
}

}  // namespace

// A route's line defines its function if its library is onednn and nothing otherwise:
// DEFINE_FOR_onednn(op) puts the definition in second place, and for any other library the unknown
// name DEFINE_FOR_library(op) is the first argument, followed by an empty second one.
#define DEFINE_FOR_onednn(op) \
  , Implementation& onednn_##op() { return absent_onednn(); }
#define SECOND(first, second, ...) second
#define EXPAND_AND_TAKE_SECOND(...) SECOND(__VA_ARGS__)
#define ROUTE(op, library, kind) EXPAND_AND_TAKE_SECOND(DEFINE_FOR_##library(op), , )
#include "routes.def"
#undef ROUTE

}  // namespace deepbench::cpu
