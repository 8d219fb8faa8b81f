// Generates runs of elements in loops that compilers vectorize. The values equal those of fill.h's
// functions bit for bit.
#include "deepbench/core/input_generator.hpp"

#include <algorithm>
#include <stdexcept>

#include "deepbench/core/simd_level.hpp"

namespace deepbench {
namespace {

constexpr uint64_t kGamma = 0x9E3779B97F4A7C15ull;

// SplitMix64's state of one element; the state of the element `stride` further is larger by stride
// * kGamma.
uint64_t generator_state(uint64_t seed, uint32_t stream, uint64_t index) {
  return (seed ^ (uint64_t{stream} * 0xD1B54A32D192ED03ull)) + (index + 1) * kGamma;
}

// deepbench_bits without its last step, z ^ (z >> 31). That step changes only the lowest bit of the
// upper half and bits below it, and no element depends on those.
DEEPBENCH_ALWAYS_INLINE inline uint64_t mixed_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  return (z ^ (z >> 27)) * 0x94D049BB133111EBull;
}

DEEPBENCH_ALWAYS_INLINE inline uint32_t upper_half(uint64_t bits) {
  return static_cast<uint32_t>(bits >> 32);
}

// A single shift of the 64 bits takes one step less per vector than one of their upper half.
DEEPBENCH_ALWAYS_INLINE inline float uniform_of_bits(uint64_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 39) - (1 << 24)) * (1.0f / 16777216.0f);
}

// Rounds to nearest, ties to even, like deepbench_round followed by deepbench_widen. Adding and
// subtracting a number whose last place equals the last place of the target format makes the
// processor do the rounding. Valid for |value| <= 1.
class FloatFormatRounding {
 public:
  FloatFormatRounding(int exponent, int mantissa)
      : smallest_normal_((129 - (1 << (exponent - 1))) << 23), raise_((23 - mantissa) << 23) {}

  DEEPBENCH_ALWAYS_INLINE float operator()(float value) const {
    const uint32_t bits = deepbench_float_bits(value);
    const auto scale = static_cast<int32_t>(bits & 0x7f800000u);
    const float cut = deepbench_bits_float(
        static_cast<uint32_t>((scale > smallest_normal_ ? scale : smallest_normal_) + raise_));
    const float magnitude = (deepbench_bits_float(bits & 0x7fffffffu) + cut) - cut;
    return deepbench_bits_float(deepbench_float_bits(magnitude) | (bits & 0x80000000u));
  }

 private:
  int32_t smallest_normal_, raise_;
};

// The same for half and bfloat16, with fewer steps: every uniform number is a multiple of 2^-24,
// which is the last place of the subnormals of half, so that none rounds to one with fewer bits of
// mantissa, and none to zero. The cut has the sign of the value.
class RoundingWithoutSubnormals {
 public:
  explicit RoundingWithoutSubnormals(int mantissa) : raise_(uint32_t(23 - mantissa) << 23) {}

  DEEPBENCH_ALWAYS_INLINE float operator()(float value) const {
    const float cut = deepbench_bits_float((deepbench_float_bits(value) & 0xff800000u) + raise_);
    return (value + cut) - cut;
  }

 private:
  uint32_t raise_;
};

template <class Convert>
DEEPBENCH_ALWAYS_INLINE inline void generate(uint64_t state, uint64_t step, int64_t count,
                                             float* __restrict out, Convert convert) {
  for (int64_t i = 0; i < count; ++i, state += step) out[i] = convert(mixed_bits(state));
}

struct FillRange {
  uint64_t state, step;
  int64_t count;
  float* out;
};

void fill_uniform(const FillRange& run) {
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    generate(run.state, run.step, run.count, run.out,
             [](uint64_t bits) DEEPBENCH_ALWAYS_INLINE { return uniform_of_bits(bits); });
  });
}

template <class Rounding>
void fill_rounded(const FillRange& run, const Rounding& rounding) {
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    generate(run.state, run.step, run.count, run.out,
             [rounding](uint64_t bits)
                 DEEPBENCH_ALWAYS_INLINE { return rounding(uniform_of_bits(bits)); });
  });
}

// Integers of `bits` bits: from -2^(bits-1) if signed, from 0 if unsigned.
void fill_integers(const FillRange& run, int bits, bool is_signed) {
  const int drop = 32 - bits, lowest = is_signed ? -(1 << (bits - 1)) : 0;
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    generate(run.state, run.step, run.count, run.out,
             [drop, lowest](uint64_t bits) DEEPBENCH_ALWAYS_INLINE {
               return static_cast<float>(static_cast<int32_t>(upper_half(bits) >> drop) + lowest);
             });
  });
}

// Avoids a branch, which would prevent the compiler from vectorizing the loop: the sign of place -
// density selects the value.
void fill_small_integers(const FillRange& run, deepbench_small_integers integers) {
  const auto density = static_cast<int32_t>(integers.density);
  const auto largest = static_cast<int32_t>(integers.largest);
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    generate(run.state, run.step, run.count, run.out, [=](uint64_t bits) DEEPBENCH_ALWAYS_INLINE {
      const uint32_t top = upper_half(bits);
      const int32_t odd = 2 * ((static_cast<int32_t>(top >> 29) * (largest + 1)) >> 3) - largest;
      const auto place = static_cast<int32_t>((top >> 1) & 0x0fffffffu);
      return static_cast<float>(odd & ((place - density) >> 31));
    });
  });
}

}  // namespace

InputGenerator::InputGenerator(uint64_t seed, const std::string& mode)
    : seed_(seed), constant_(mode != "uniform"), value_(mode == "ones" ? 1.0f : 0.0f) {
  if (constant_ && mode != "ones" && mode != "zeros")
    throw std::invalid_argument("no inputs are called '" + mode + "'");
}

void InputGenerator::fill(deepbench_type type, uint32_t stream, uint64_t first, uint64_t stride,
                          int64_t count, float* out) const {
  if (constant_) {
    std::fill(out, out + count, value_);
    return;
  }
  const FillRange run = {generator_state(seed_, stream, first), stride * kGamma, count, out};
  if (integers_) return fill_small_integers(run, (*integers_)[stream]);
  switch (type) {
    case DEEPBENCH_F16:
      return fill_rounded(run, RoundingWithoutSubnormals(10));
    case DEEPBENCH_BF16:
      return fill_rounded(run, RoundingWithoutSubnormals(7));
    case DEEPBENCH_E4M3:
      return fill_rounded(run, FloatFormatRounding(4, 3));
    case DEEPBENCH_E5M2:
      return fill_rounded(run, FloatFormatRounding(5, 2));
    case DEEPBENCH_S32:
      return fill_integers(run, 16, true);
    case DEEPBENCH_S8:
      return fill_integers(run, 8, true);
    case DEEPBENCH_U8:
      return fill_integers(run, 8, false);
    case DEEPBENCH_S7:
      return fill_integers(run, 7, true);
    default:
      return fill_uniform(run);
  }
}

double InputGenerator::mean_square(deepbench_type type, uint32_t stream) const {
  if (integers_) {  // the mean square of the odd integers up to `largest`
    const auto [density, largest] = (*integers_)[stream];
    return density / double(1 << 28) * largest * (largest + 2) / 3;
  }
  if (constant_) return double(value_) * value_;
  switch (type) {
    case DEEPBENCH_S8:
      return 65536.0 / 12 + 0.25;
    case DEEPBENCH_U8:
      return 255.0 * 511.0 / 6;
    case DEEPBENCH_S7:
      return 16384.0 / 12 + 0.25;
    case DEEPBENCH_S32:
      return 65536.0 * 65536.0 / 12;
    default:
      return 1.0 / 3;
  }
}

void fill_weights(uint64_t seed, uint64_t first, int64_t count, float* out) {
  InputGenerator(seed, "uniform").fill(DEEPBENCH_F32, 0x77656967u, first, 1, count, out);
}

void fill_words(uint64_t seed, uint32_t stream, uint64_t first, int64_t count, uint32_t* out) {
  const uint64_t start = generator_state(seed, stream, first);
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    uint64_t state = start;
    for (int64_t i = 0; i < count; ++i, state += kGamma) {
      const uint32_t top = upper_half(mixed_bits(state));
      out[i] = top ^ (top >> 31);
    }
  });
}

}  // namespace deepbench
