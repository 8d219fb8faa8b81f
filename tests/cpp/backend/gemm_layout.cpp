// The layouts of matrix products: padding, transposition, conversion and sizes.
#include "deepbench/backend/gemm_layout.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>

#include "layouts_of.hpp"

namespace deepbench::plugin {
namespace {

using testing::layouts_of;

bool executes_size(const GemmLayout& layout, int64_t m, int64_t n, int64_t k) {
  return layout.executed.m == m && layout.executed.n == n && layout.executed.k == k;
}

TEST_CASE("gemm layouts: half is padded as in the original benchmark, float is not") {
  for (const char* precision : {"half", "bfloat16"}) {
    CHECK(executes_size(layouts_of({35, 700, 2048}, false, false, precision)[0], 40, 700, 2048));
    CHECK(executes_size(layouts_of({35, 700, 2048}, false, true, precision)[0], 40, 704, 2048));
    CHECK(executes_size(layouts_of({40, 35, 64}, false, false, precision)[0], 40, 35, 64));
    CHECK(layouts_of({40, 35, 64}, false, false, precision)[0].padding_rule.empty());
    CHECK(layouts_of({35, 700, 2048}, false, false, precision).size() == 1);
  }
  const auto all = layouts_of({35, 701, 2049}, true, false, "float");
  REQUIRE(all.size() == 1);
  CHECK(executes_size(all[0], 35, 701, 2049));
  CHECK_FALSE(all[0].is_padded());
  const GemmLayout off = layouts_of({35, 701, 2049}, true, false, "half", "pad=0")[0];
  CHECK(executes_size(off, 35, 701, 2049));
  CHECK(off.padding_rule.empty());
}

TEST_CASE("gemm layouts: the leading dimensions of tf32 are padded to 16 bytes") {
  CHECK(executes_size(layouts_of({35, 701, 2049}, false, false, "tf32")[0], 36, 701, 2052));
  CHECK(executes_size(layouts_of({35, 701, 2049}, false, true, "tf32")[0], 36, 704, 2049));
  CHECK(executes_size(layouts_of({35, 701, 2049}, true, true, "tf32")[0], 36, 704, 2052));
  CHECK(layouts_of({35, 701, 2049}, true, true, "tf32")[0].padding_rule ==
        "to multiples of 4, as tensor cores require for tf32");
  CHECK(layouts_of({36, 701, 64}, false, false, "tf32")[0].padding_rule.empty());
  CHECK(executes_size(layouts_of({35, 701, 2049}, true, true, "tf32", "pad=0")[0], 35, 701, 2049));
}

TEST_CASE("gemm layouts: 8-bit types also have the layout for tensor cores") {
  const auto int8 = layouts_of({35, 701, 2049}, false, false, "int8");
  REQUIRE(int8.size() == 2);
  CHECK(int8[0].name == "plain");
  CHECK(executes_size(int8[0], 36, 701, 2052));
  CHECK(int8[0].a == Conversion::kNone);
  CHECK(int8[0].padding_rule.find("multiples of 4") != std::string::npos);
  CHECK(int8[1].name == "tn");
  CHECK(executes_size(int8[1], 48, 704, 2064));
  CHECK(int8[1].executed.trans_a);
  CHECK_FALSE(int8[1].executed.trans_b);
  CHECK(int8[1].a == Conversion::kInCall);
  CHECK(int8[1].b == Conversion::kNone);

  CHECK(executes_size(layouts_of({35, 701, 2049}, true, true, "int8")[0], 36, 704, 2052));
  // A problem that already has this layout needs no second one.
  CHECK(layouts_of({48, 704, 2064}, true, false, "int8").size() == 1);
  const auto fp8 = layouts_of({35, 701, 2049}, true, false, "fp8_e4m3");
  REQUIRE(fp8.size() == 1);
  CHECK(executes_size(fp8[0], 48, 704, 2064));
}

TEST_CASE("gemm layouts: constant operands are converted beforehand") {
  const auto conversions = [](bool trans_a, bool trans_b, const std::string& options) {
    const GemmLayout tn = layouts_of({64, 64, 64}, trans_a, trans_b, "fp8_e4m3", options).back();
    return std::pair(tn.a, tn.b);
  };
  using Pair = std::pair<Conversion, Conversion>;
  constexpr auto kNone = Conversion::kNone, kBefore = Conversion::kBeforehand,
                 kInCall = Conversion::kInCall;
  CHECK(conversions(false, false, "") == Pair{kInCall, kNone});
  CHECK(conversions(false, true, "constant=a") == Pair{kBefore, kInCall});
  CHECK(conversions(false, true, "constant=a,b") == Pair{kBefore, kBefore});
  CHECK(conversions(true, true, "constant=a") == Pair{kNone, kInCall});
  CHECK(conversions(true, false, "constant=a,b") == Pair{kNone, kNone});
}

TEST_CASE("gemm layouts: a batch has no layout that converts its operands") {
  CHECK(layouts_of({32, 16, 64, 3}, false, false, "int8").size() == 1);
  CHECK(layouts_of({33, 16, 65, 3}, true, false, "int8").size() == 2);
  CHECK(layouts_of({33, 16, 65, 3}, true, false, "int8")[1].a_bytes() == 3 * 48 * 80);
}

TEST_CASE("gemm layouts: sizes count what a call touches and saturate") {
  GemmLayout layout = layouts_of({64, 32, 128}, false, false, "half")[0];
  CHECK(layout.a_bytes() == 64 * 128 * 2);
  CHECK(layout.b_bytes() == 128 * 32 * 2);
  CHECK(layout.c_bytes() == 64 * 32 * 2);
  CHECK(layout.touched_bytes() == (64 * 128 + 128 * 32 + 2 * 64 * 32) * 2);
  layout.in_place = true;
  CHECK(layout.touched_bytes() == (64 * 128 + 128 * 32 + 64 * 32) * 2);

  const auto tn = [](const std::string& options) {
    return layouts_of({64, 32, 128}, false, false, "int8", options).back();
  };
  const uint64_t converted = 128 * 64 + 128 * 32 + 2 * 64 * 32 * 4;
  CHECK(tn("constant=a").touched_bytes() == converted);
  CHECK(tn("").touched_bytes() == converted + 128 * 64);

  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const char* precision : {"half", "int8", "fp8_e4m3"})
    for (const GemmLayout& huge : layouts_of({kHuge, 1, kHuge}, false, false, precision)) {
      CHECK_FALSE(huge.is_padded());
      CHECK(huge.touched_bytes() == std::numeric_limits<uint64_t>::max());
    }
}

}  // namespace
}  // namespace deepbench::plugin
