// Replaces src/cpu/onednn and every ops/*/onednn*.cpp in a build without oneDNN's header: each
// route gives this as its reason.
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "ops/sparse_gemm/dense_baseline.hpp"

namespace deepbench::cpu {
namespace {

class AbsentOnednn final : public Implementation {
 public:
  LibraryFacts library() override { return {"", "", kReason}; }
  void supports(const plugin::Problem&, const plugin::Options&) override { refuse(); }
  uint64_t memory_needed(const plugin::Problem&, const plugin::Options&) override { refuse(); }
  std::vector<std::string> candidates(const plugin::Problem&, const plugin::Options&) override {
    refuse();
  }
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem&, const plugin::Options&) override {
    refuse();
  }

 private:
  static constexpr const char* kReason =
      "deepbench was built without oneDNN's header; install it where the wheel "
      "onednn-devel-cpu-gomp exists (Linux x86-64)";
  [[noreturn]] static void refuse() { plugin::unsupported(kReason); }
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

DenseLibrary onednn_dense_library() { return {}; }

}  // namespace deepbench::cpu
