// The precisions of problems: their names, how operands are stored, and the rounding that
// verification tolerates. Header-only, shared by the core and the backends.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "deepbench/fill.h"

namespace deepbench {

enum class Precision { kFloat, kTf32, kHalf, kBfloat16, kFp8E4m3, kFp8E5m2, kInt8 };

// Half of a unit in the last place of half's subnormals, which is the same for all of them, and of
// integers.
inline constexpr double kHalfSubnormalRoundoff = 1.0 / (1 << 25);
inline constexpr double kIntegerRoundoff = 0.5;

struct PrecisionInfo {
  Precision precision;
  std::string_view name;
  std::array<std::string_view, 5> aliases;  // other spellings, in lower case
  deepbench_type a, b;                      // types of the operands A and B
  deepbench_type c;                         // type of the result
  double input_roundoff;                    // rounding of inputs inside the unit; 0: none
  double output_roundoff;                   // rounding of the stored result; 0: exact
  double sum_roundoff;                      // rounding of the accumulator; 0: exact

  // The rounding error of storing a result that can be arbitrarily small.
  constexpr double absolute_roundoff() const {
    return c == DEEPBENCH_F16 ? kHalfSubnormalRoundoff : c == DEEPBENCH_S8 ? kIntegerRoundoff : 0;
  }

  // The largest finite value of the result's type. For float and bfloat16, which have the same
  // range of exponents, it is rounded down.
  constexpr double largest_result() const {
    return c == DEEPBENCH_F16 ? 65504 : c == DEEPBENCH_S32 ? 2147483647.0 : 3.3e38;
  }
};

inline constexpr double kRoundoffFloat = 1.0 / (1 << 24);
inline constexpr double kRoundoffTf32 = 1.0 / (1 << 11);
inline constexpr double kRoundoffHalf = 1.0 / (1 << 11);
inline constexpr double kRoundoffBfloat16 = 1.0 / (1 << 8);

// The result of half and bfloat16 has the type of the operands, that of fp8 is bfloat16, that of
// int8 is int32. e5m2 applies to A only, because it usually stores gradients; B is then e4m3.
inline constexpr std::array<PrecisionInfo, 7> kPrecisions = {{
    {Precision::kFloat,
     "float",
     {"fp32", "f32", "float32", "single"},
     DEEPBENCH_F32,
     DEEPBENCH_F32,
     DEEPBENCH_F32,
     0,
     kRoundoffFloat,
     kRoundoffFloat},
    {Precision::kTf32,
     "tf32",
     {},
     DEEPBENCH_F32,
     DEEPBENCH_F32,
     DEEPBENCH_F32,
     kRoundoffTf32,
     kRoundoffFloat,
     kRoundoffFloat},
    {Precision::kHalf,
     "half",
     {"fp16", "f16", "float16"},
     DEEPBENCH_F16,
     DEEPBENCH_F16,
     DEEPBENCH_F16,
     0,
     kRoundoffHalf,
     kRoundoffFloat},
    {Precision::kBfloat16,
     "bfloat16",
     {"bf16"},
     DEEPBENCH_BF16,
     DEEPBENCH_BF16,
     DEEPBENCH_BF16,
     0,
     kRoundoffBfloat16,
     kRoundoffFloat},
    {Precision::kFp8E4m3,
     "fp8_e4m3",
     {"fp8", "float8", "e4m3", "e4m3fn", "float8_e4m3fn"},
     DEEPBENCH_E4M3,
     DEEPBENCH_E4M3,
     DEEPBENCH_BF16,
     0,
     kRoundoffBfloat16,
     kRoundoffFloat},
    {Precision::kFp8E5m2,
     "fp8_e5m2",
     {"e5m2", "float8_e5m2"},
     DEEPBENCH_E5M2,
     DEEPBENCH_E4M3,
     DEEPBENCH_BF16,
     0,
     kRoundoffBfloat16,
     kRoundoffFloat},
    {Precision::kInt8, "int8", {"i8", "s8"}, DEEPBENCH_S8, DEEPBENCH_S8, DEEPBENCH_S32, 0, 0, 0},
}};

// The precision with this name or alias; nullptr if there is none.
constexpr const PrecisionInfo* find_precision(std::string_view name) {
  for (const auto& info : kPrecisions) {
    if (info.name == name) return &info;
    for (auto alias : info.aliases)
      if (!alias.empty() && alias == name) return &info;
  }
  return nullptr;
}

// Like find_precision(), for a name that has been validated.
inline const PrecisionInfo& precision_info(std::string_view name) {
  if (const PrecisionInfo* info = find_precision(name)) return *info;
  throw std::invalid_argument("no precision is called '" + std::string(name) + "'");
}

// Bytes of one stored element.
constexpr int64_t size_of(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_F64:
      return 8;
    case DEEPBENCH_F32:
    case DEEPBENCH_S32:
      return 4;
    case DEEPBENCH_F16:
    case DEEPBENCH_BF16:
      return 2;
    default:
      return 1;
  }
}

}  // namespace deepbench
