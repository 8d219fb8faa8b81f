// The worst case of 8-bit products: operands at their extremes, through oneDNN's primitives in the
// kernel's plan. If sums pass through 16 bits, A's limited range must keep them exact.
#if defined(DEEPBENCH_HAS_ONEDNN)

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/plugin.hpp"
#include "naive_gemm.hpp"
#include "onednn/api.hpp"
#include "onednn/primitive_call.hpp"
#include "ops/gemm/onednn_plan.hpp"

namespace deepbench::cpu::onednn {
namespace {

using cpu_test::Dimensions;

struct Range {
  int low, high;
};

Range range_of(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_S7:
      return {-64, 63};
    case DEEPBENCH_U8:
      return {0, 255};
    default:
      return {-128, 127};
  }
}

// Constant extremes, and extremes that alternate in every way in which a kernel may pair
// neighbors.
enum class Pattern { kLowHigh, kHighHigh, kLowLow, kAlternate, kPairs, kRandom };
constexpr Pattern kPatterns[] = {Pattern::kLowHigh,   Pattern::kHighHigh, Pattern::kLowLow,
                                 Pattern::kAlternate, Pattern::kPairs,    Pattern::kRandom};

int pattern_value(Range range, Pattern pattern, bool is_a, uint64_t i) {
  switch (pattern) {
    case Pattern::kLowHigh:
      return is_a ? range.low : range.high;
    case Pattern::kHighHigh:
      return range.high;
    case Pattern::kLowLow:
      return range.low;
    case Pattern::kAlternate:
      return i % 2 ? range.low : range.high;
    case Pattern::kPairs:
      return i / 2 % 2 ? range.low : range.high;
    case Pattern::kRandom:
      break;
  }
  return deepbench_bits(1, is_a, i) >> 63 ? range.low : range.high;
}

std::vector<int8_t> pattern_operand(int64_t count, Range range, Pattern pattern, bool is_a) {
  std::vector<int8_t> data(static_cast<size_t>(count));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<int8_t>(pattern_value(range, pattern, is_a, i));
  return data;
}

// Executes the plan on these operands and packs A if the plan requires it.
std::vector<int32_t> execute_plan(const GemmPlan& plan, std::vector<int8_t>& a,
                                  std::vector<int8_t>& b) {
  const Api& api = Api::instance();
  const Gemm& gemm = plan.storage.gemm;
  std::vector<int32_t> c(static_cast<size_t>(gemm.m * gemm.n), -1);
  std::vector<int8_t> scratchpad(plan.scratchpad_bytes + 64), packed(plan.storage.a_bytes() + 64);
  const MemoryObject plain = memory_at(plan.plain_a.get(), a.data());
  const MemoryObject stored =
      memory_at(plan.description(dnnl_query_weights_md),
                plan.candidate.packed ? static_cast<void*>(packed.data()) : a.data());
  if (plan.candidate.packed) {
    dnnl_primitive_desc_t made = nullptr;
    api.check(api.reorder_primitive_desc_create_f(&made, plan.plain_a.get(), api.engine(),
                                                  plan.description(dnnl_query_weights_md),
                                                  api.engine(), nullptr),
              "packing");
    const PrimitiveDesc description(made);
    const Primitive reorder = primitive_of(made);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, plain.get()}, {DNNL_ARG_TO, stored.get()}};
    api.check(api.primitive_execute_f(reorder.get(), api.stream(), 2, arguments), "packing");
  }
  const MemoryObject source = memory_at(plan.description(dnnl_query_src_md), b.data());
  const MemoryObject result = memory_at(plan.description(dnnl_query_dst_md), c.data());
  const MemoryObject scratch =
      memory_at(plan.description(dnnl_query_scratchpad_md), scratchpad.data());
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, source.get()},
                                       {DNNL_ARG_WEIGHTS, stored.get()},
                                       {DNNL_ARG_DST, result.get()},
                                       {DNNL_ARG_SCRATCHPAD, scratch.get()}};
  const Primitive matmul = primitive_of(plan.primitive.get());
  api.check(api.primitive_execute_f(matmul.get(), api.stream(), 4, arguments), "multiplying");
  api.check(api.stream_wait_f(api.stream()), "multiplying");
  return c;
}

uint64_t count_wrong(const Gemm& gemm, const std::vector<int8_t>& a, const std::vector<int8_t>& b,
                     const std::vector<int32_t>& c) {
  uint64_t wrong = 0;
  for (int64_t j = 0; j < gemm.n; ++j)
    for (int64_t i = 0; i < gemm.m; ++i) {
      int64_t sum = 0;
      for (int64_t l = 0; l < gemm.k; ++l) {
        const int8_t right = b[gemm.index_b(l, j)];
        sum += int64_t{a[gemm.index_a(i, l)]} *
               (gemm.b_type == DEEPBENCH_U8 ? int64_t{uint8_t(right)} : int64_t{right});
      }
      // Some of oneDNN's kernels (AMX) convert their sums to float, which is exact up to 2^24.
      const double difference = std::abs(double(sum) - c[size_t(i + j * gemm.m)]);
      wrong += difference > std::abs(double(sum)) / (1 << 24) ||
               (difference > 0 && std::abs(sum) <= 1 << 24);
    }
  return wrong;
}

void check_extremes(const Gemm& gemm, const std::string& candidate, RowPlans<GemmPlan>& row) {
  const GemmPlan& plan = *plan_gemm(gemm, candidate, row);
  for (const Pattern pattern : kPatterns) {
    auto a = pattern_operand(gemm.m * gemm.k, range_of(plan.storage.a_type), pattern, true);
    auto b = pattern_operand(gemm.k * gemm.n, range_of(gemm.b_type), pattern, false);
    CAPTURE(gemm.m);
    CAPTURE(gemm.n);
    CAPTURE(gemm.k);
    CAPTURE(candidate);
    CAPTURE(int(pattern));
    CHECK(count_wrong(gemm, a, b, execute_plan(plan, a, b)) == 0);
  }
}

TEST_CASE("products of extreme 8-bit numbers are exact") {
  if (!Api::instance().library().loaded()) return;
  MESSAGE("oneDNN uses ", Api::instance().isa_text(), ", A in ",
          std::string(Api::instance().has_exact_int8() ? "[-128, 127]" : "[-64, 63]"));
  for (const char* b_type : {"s8", "u8"})
    for (const Dimensions& d : {Dimensions{1, 1, 1}, Dimensions{1, 1, 64}, Dimensions{33, 65, 300},
                                Dimensions{65, 1, 513}, Dimensions{1, 65, 513},
                                Dimensions{129, 27, 255}, Dimensions{7, 5, 1001}})
      for (const int transposition : {0, 1, 2, 3}) {
        const Gemm gemm = cpu_test::gemm_of(d, (transposition & 1) != 0, (transposition & 2) != 0,
                                            "int8", b_type);
        RowPlans<GemmPlan> row;
        for (const std::string& candidate : gemm_candidates(gemm, row))
          check_extremes(gemm, candidate, row);
      }
}

// Makes oneDNN report these instructions for this processor.
class ScopedIsaOverride {
 public:
  explicit ScopedIsaOverride(dnnl_cpu_isa_t isa) : real_(Api::instance().get_effective_cpu_isa_f) {
    pretended_ = isa;
    Api::instance().get_effective_cpu_isa_f = [] { return pretended_; };
  }
  ~ScopedIsaOverride() { Api::instance().get_effective_cpu_isa_f = real_; }
  ScopedIsaOverride(const ScopedIsaOverride&) = delete;
  ScopedIsaOverride& operator=(const ScopedIsaOverride&) = delete;

 private:
  inline static dnnl_cpu_isa_t pretended_;
  decltype(Api::instance().get_effective_cpu_isa_f) real_;
};

TEST_CASE("saturating implementations are rejected if A has its full range") {
  if (!Api::instance().library().loaded()) return;
  {
    const ScopedIsaOverride isa(dnnl_cpu_isa_avx512_core_amx);
    for (const char* name : {"brg:avx512_core", "jit_int8:avx2", "jit_int8_1x1:avx512_core"})
      CHECK(is_saturating(name));
    for (const char* name : {"brg:avx512_core_vnni", "brg:avx512_core_amx", "gemm:jit", "ref:any"})
      CHECK_FALSE(is_saturating(name));
    CHECK_THROWS_AS(reject_saturating("brg:avx512_core"), plugin::Error);
  }
  const ScopedIsaOverride isa(dnnl_cpu_isa_avx512_core);
  CHECK_FALSE(is_saturating("brg:avx512_core"));
}

TEST_CASE("the range of A follows the instructions that oneDNN uses") {
  if (!Api::instance().library().loaded()) return;
  const Gemm gemm = cpu_test::gemm_of({8, 8, 8}, false, false, "int8");
  const bool exact = Api::instance().has_exact_int8();
  RowPlans<GemmPlan> row;
  CHECK(plan_gemm(gemm, "", row)->storage.a_type == (exact ? DEEPBENCH_S8 : DEEPBENCH_S7));
  const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (limit && std::string(limit) == "AVX2") CHECK_FALSE(exact);
}

}  // namespace
}  // namespace deepbench::cpu::onednn

#endif
