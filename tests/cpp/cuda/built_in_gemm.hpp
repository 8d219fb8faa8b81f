// Checks of the built-in gemm libraries on a device: every candidate is compared with three loops.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "gemm_harness.hpp"
#include "implementation.hpp"
#include "routes.hpp"

namespace deepbench::cuda_test {

// The reason why a library refuses the problem, or an empty string.
inline std::string refusal_of(cuda::Implementation& library, const std::string& problem,
                              const std::string& options = "") {
  const GemmRequest request(problem, options);
  const deepbench_problem raw = request.problem();
  try {
    library.plan(plugin::Problem(raw), plugin::Options(request.named.get()));
  } catch (const plugin::Error& error) {
    CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
    return error.what();
  }
  return "";
}

// Poisons the outputs, calls the kernel, and compares all outputs.
inline void check_call(GemmRun& run, const NaiveGemm& naive, uint64_t outputs, uint64_t calls = 1) {
  run.poison();
  CHECK(run.scan().untouched == outputs);
  run.call(calls);
  CHECK(run.scan().untouched == 0);
  CHECK(naive.count_wrong(run.read(outputs)) == 0);
}

struct BuiltInGemmCase {
  std::string library;
  Dimensions d;
  bool trans_a = false, trans_b = false;
  std::string precision;

  std::string text() const { return gemm_text(d, trans_a, trans_b, precision); }
  NaiveGemm naive(const Emitted& facts = {}) const {
    return NaiveGemm(gemm_of(d, trans_a, trans_b, precision), facts, kSeed);
  }
  uint64_t outputs() const { return uint64_t(d.m * d.n); }
  std::string options(const std::string& more = "") const {
    return "library=" + library + " " + more;
  }
};

inline void check_candidates(const BuiltInGemmCase& product, const std::string& options = "") {
  const std::string problem = product.text();
  CAPTURE(problem);
  const auto ids = GemmRequest(problem, product.options(options)).candidates();
  REQUIRE_FALSE(ids.empty());
  const NaiveGemm naive = product.naive();  // computed once, because it takes long
  for (const std::string& id : ids) {
    CAPTURE(id);
    GemmRun run(problem, product.options(options) + " candidate=" + id);
    INFO(run.error());
    REQUIRE(run.status() == DEEPBENCH_OK);
    const Emitted facts = run.describe();
    CHECK(facts.text("library").rfind(product.library + " ", 0) == 0);
    CHECK(facts.text("algorithm") == id);
    CHECK_FALSE(facts.has("in_place"));
    check_call(run, naive, product.outputs());
  }
}

inline void check_interleaved_calls(const BuiltInGemmCase& product) {
  const std::string problem = product.text();
  CAPTURE(problem);
  const NaiveGemm naive = product.naive();
  GemmRun first(problem, product.options()), second(problem, product.options());
  REQUIRE(first.status() == DEEPBENCH_OK);
  REQUIRE(second.status() == DEEPBENCH_OK);
  for (const int32_t launch : {DEEPBENCH_LAUNCH_GRAPH, DEEPBENCH_LAUNCH_STREAM})
    for (GemmRun* run : {&first, &second}) {
      run->poison();
      CHECK(run->call(100, launch).launch == launch);
      CHECK(naive.count_wrong(run->read(product.outputs())) == 0);
      check_call(*run, naive, product.outputs());
    }
}

inline void check_cold_calls(const BuiltInGemmCase& product) {
  const std::string problem = product.text(), cold = product.options("cache=cold");
  GemmRun run(problem, cold);
  REQUIRE(run.status() == DEEPBENCH_OK);
  const Emitted facts = run.describe();
  const auto copies = uint64_t(facts.number("copies"));
  REQUIRE(copies >= 2);
  const uint64_t a_bytes = uint64_t(product.d.m * product.d.k) *
                           size_of(gemm_of(product.d, false, false, product.precision).precision.a);
  CHECK(GemmRequest(problem, cold).memory_needed() >=
        copies * a_bytes + uint64_t(facts.number("workspace_bytes")));
  const NaiveGemm naive = product.naive(facts);
  run.poison();
  for (uint64_t copy = 0; copy < std::min<uint64_t>(copies, 4); ++copy) {
    run.call(1);
    CHECK(naive.count_wrong(run.read(product.outputs())) == 0);
  }
}

// The library competes with cublaslt, which remains the default.
inline void check_competes(const BuiltInGemmCase& product, const std::string& options = "") {
  const std::string problem = product.text();
  const auto ids = GemmRequest(problem, options).candidates();
  REQUIRE(ids.size() > 2);
  CHECK(ids[0].rfind("cublaslt:", 0) == 0);
  CHECK(ids[1].rfind(product.library + ":", 0) == 0);
  const GemmRun unnamed(problem, options), named(problem, options + " candidate=" + ids[1]);
  REQUIRE(unnamed.status() == DEEPBENCH_OK);
  REQUIRE(named.status() == DEEPBENCH_OK);
  CHECK(unnamed.describe().text("library").rfind("cublaslt ", 0) == 0);
  CHECK(product.library + ":" + named.describe().text("algorithm") == ids[1]);
}

}  // namespace deepbench::cuda_test
