// Runs of generated elements, in loops that compilers vectorise: the same values as fill.h's
// functions give one by one, bit for bit.
#include "deepbench/core/inputs.hpp"

#include <algorithm>

#include "deepbench/core/vector_unit.hpp"

namespace deepbench {
namespace {

constexpr uint64_t kGamma = 0x9E3779B97F4A7C15ull;

// SplitMix64's state of an element; that of the next one is `stride` gammas further.
uint64_t state_of(uint64_t seed, uint32_t stream, uint64_t index) {
  return (seed ^ (uint64_t{stream} * 0xD1B54A32D192ED03ull)) + (index + 1) * kGamma;
}

// The upper half of deepbench_bits but for its last step, z ^ (z >> 31), which changes only the
// lowest bit of this half: no element depends on that one.
DEEPBENCH_INLINED inline uint32_t upper_half(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<uint32_t>(z >> 32);
}

DEEPBENCH_INLINED inline float uniform(uint32_t top) {
  return static_cast<float>(static_cast<int32_t>(top >> 7) - (1 << 24)) * (1.0f / 16777216.0f);
}

// Rounds to nearest, ties to even, as deepbench_round and deepbench_widen do one after the other:
// adding and subtracting a number whose last place is what the format can hold leaves the rest to
// the processor. Serves |value| <= 1.
class Rounding {
 public:
  Rounding(int exponent, int mantissa)
      : smallest_normal_((129 - (1 << (exponent - 1))) << 23), raise_((23 - mantissa) << 23) {}

  DEEPBENCH_INLINED float operator()(float value) const {
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

template <class Convert>
DEEPBENCH_INLINED inline void generate(uint64_t state, uint64_t step, int64_t count,
                                       float* __restrict out, Convert convert) {
  for (int64_t i = 0; i < count; ++i, state += step) out[i] = convert(upper_half(state));
}

struct Run {
  uint64_t state, step;
  int64_t count;
  float* out;
};

void uniform_run(const Run& run) {
  vectorised([&]() DEEPBENCH_INLINED {
    generate(run.state, run.step, run.count, run.out,
             [](uint32_t top) DEEPBENCH_INLINED { return uniform(top); });
  });
}

void rounded_run(const Run& run, const Rounding& rounding) {
  vectorised([&]() DEEPBENCH_INLINED {
    generate(run.state, run.step, run.count, run.out,
             [rounding](uint32_t top) DEEPBENCH_INLINED { return rounding(uniform(top)); });
  });
}

// `bits` bits, from -2^(bits-1) or, unsigned, from 0 on.
void integer_run(const Run& run, int bits, bool is_signed) {
  const int drop = 32 - bits, least = is_signed ? -(1 << (bits - 1)) : 0;
  vectorised([&]() DEEPBENCH_INLINED {
    generate(run.state, run.step, run.count, run.out,
             [drop, least](uint32_t top) DEEPBENCH_INLINED {
               return static_cast<float>(static_cast<int32_t>(top >> drop) + least);
             });
  });
}

}  // namespace

void Inputs::run(deepbench_type type, uint32_t stream, uint64_t first, uint64_t stride,
                 int64_t count, float* out) const {
  if (constant_) {
    std::fill(out, out + count, value_);
    return;
  }
  const Run run = {state_of(seed_, stream, first), stride * kGamma, count, out};
  switch (type) {
    case DEEPBENCH_F16:
      return rounded_run(run, Rounding(5, 10));
    case DEEPBENCH_BF16:
      return rounded_run(run, Rounding(8, 7));
    case DEEPBENCH_E4M3:
      return rounded_run(run, Rounding(4, 3));
    case DEEPBENCH_E5M2:
      return rounded_run(run, Rounding(5, 2));
    case DEEPBENCH_S32:
      return integer_run(run, 16, true);
    case DEEPBENCH_S8:
      return integer_run(run, 8, true);
    case DEEPBENCH_U8:
      return integer_run(run, 8, false);
    case DEEPBENCH_S7:
      return integer_run(run, 7, true);
    default:
      return uniform_run(run);
  }
}

double Inputs::mean_square(deepbench_type type) const {
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

void weight_run(uint64_t seed, uint64_t first, int64_t count, float* out) {
  Inputs(seed, "uniform").run(DEEPBENCH_F32, 0x77656967u, first, 1, count, out);
}

void word_run(uint64_t seed, uint32_t stream, uint64_t first, int64_t count, uint32_t* out) {
  const uint64_t start = state_of(seed, stream, first);
  vectorised([&]() DEEPBENCH_INLINED {
    uint64_t state = start;
    for (int64_t i = 0; i < count; ++i, state += kGamma) {
      const uint32_t top = upper_half(state);
      out[i] = top ^ (top >> 31);
    }
  });
}

}  // namespace deepbench
