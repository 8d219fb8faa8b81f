// Replaces src/cpu/onednn and every ops/*/onednn*.cpp in a build without oneDNN's header: each
// route gives this as its reason.
#include "deepbench/plugin.hpp"
#include "implementation.hpp"

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

}  // namespace

Implementation& onednn_gemm() {
  static auto* implementation = new AbsentOnednn();
  return *implementation;
}

Implementation& onednn_rnn() {
  static auto* implementation = new AbsentOnednn();
  return *implementation;
}

Implementation& onednn_conv() {
  static auto* implementation = new AbsentOnednn();
  return *implementation;
}

Implementation& onednn_sparse_gemm() {
  static auto* implementation = new AbsentOnednn();
  return *implementation;
}

}  // namespace deepbench::cpu
