// The kernels of norm, run on the host without a device: every kind, phase and type, with whole and
// partial blocks, is compared with the reference of the core.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "ops/norm/launches.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <norm.cu>

namespace deepbench::cuda_test {
namespace {

using cuda::NormLaunch;
using cuda::NormLaunches;

constexpr int kMultiprocessors = 3;

using Kernel = std::function<void(const NormArguments&, uint64_t)>;

#define PLAIN(...)                                                           \
  {                                                                          \
#__VA_ARGS__, [](const NormArguments& of, uint64_t) { __VA_ARGS__(of); } \
  }
#define WITH_VALUE(...)                                                                   \
  {                                                                                       \
#__VA_ARGS__, [](const NormArguments& of, uint64_t value) { __VA_ARGS__(of, value); } \
  }
#define WITH_FLAG(...)                                                                            \
  {                                                                                               \
#__VA_ARGS__, [](const NormArguments& of, uint64_t flag) { __VA_ARGS__(of, uint32_t(flag)); } \
  }
#define COLUMN_KERNELS(type, width)                                                              \
  PLAIN(sum_columns<type, width, kMoments>), PLAIN(sum_columns<type, width, kGradientsOfBatch>), \
      WITH_FLAG(normalize_columns<type, width>), PLAIN(differentiate_columns<type, width>)
#define COMBINATIONS(type)                                  \
  WITH_VALUE(combine_columns<type, kMoments>),              \
      WITH_VALUE(combine_columns<type, kGradientsOfBatch>), \
      WITH_VALUE(combine_columns<type, kGradientsOfRows>)

const Kernel& kernel(const std::string& expression) {
  static const std::map<std::string, Kernel> all = {
      COLUMN_KERNELS(DEEPBENCH_F32, 4),
      COLUMN_KERNELS(DEEPBENCH_F16, 8),
      COLUMN_KERNELS(DEEPBENCH_BF16, 1),
      COMBINATIONS(DEEPBENCH_F32),
      COMBINATIONS(DEEPBENCH_F16),
      COMBINATIONS(DEEPBENCH_BF16),
      PLAIN(sum_columns<DEEPBENCH_F32, 4, kGradientsOfRows>),
      PLAIN(normalize_long_sets<DEEPBENCH_F32, 4>),
      PLAIN(differentiate_long_sets<DEEPBENCH_F32, 4>),
      PLAIN(normalize_sets<DEEPBENCH_F32, 4, 1>),
      PLAIN(normalize_sets<DEEPBENCH_F32, 4, 2>),
      PLAIN(normalize_sets<DEEPBENCH_F16, 8, 1>),
      PLAIN(normalize_sets<DEEPBENCH_F16, 8, 4>),
      PLAIN(normalize_sets<DEEPBENCH_BF16, 8, 4>),
      PLAIN(normalize_sets<DEEPBENCH_BF16, 1, 2>),
      PLAIN(differentiate_sets<DEEPBENCH_F32, 4, 1>),
      PLAIN(differentiate_sets<DEEPBENCH_F32, 4, 2>),
      PLAIN(differentiate_sets<DEEPBENCH_F16, 8, 1>),
      PLAIN(differentiate_sets<DEEPBENCH_BF16, 1, 2>)};
  const auto found = all.find(expression);
  INFO(expression, " is not among the instances of this test");
  REQUIRE(found != all.end());
  return found->second;
}

// An array of an operand, aligned for every access, and guard words after it.
class Array {
 public:
  void resize(deepbench_type type, int64_t elements) {
    type_ = type, elements_ = elements;
    memory_.assign(size_t(elements * size_of(type)) / 16 + 2, {});
    std::memset(memory_.data(), kGuard, memory_.size() * sizeof(Vector));
  }
  void fill(const NormValues& values) {
    for (int64_t i = 0; i < elements_; ++i) {
      const float value = values.element(deepbench_uniform(1, values.stream, uint64_t(i)), type_);
      if (type_ == DEEPBENCH_F32)
        static_cast<float*>(data())[i] = value;
      else
        static_cast<uint16_t*>(data())[i] =
            type_ == DEEPBENCH_F16 ? deepbench_to_half(value) : deepbench_to_bfloat16(value);
    }
  }
  void* data() { return elements_ == 0 ? nullptr : memory_.data(); }
  double element(uint64_t i) {
    if (type_ == DEEPBENCH_F32) return double(static_cast<float*>(data())[i]);
    const uint16_t word = static_cast<uint16_t*>(data())[i];
    return type_ == DEEPBENCH_F16 ? deepbench_from_half(word) : deepbench_from_bfloat16(word);
  }
  bool is_guarded() const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(memory_.data());
    for (size_t i = size_t(elements_ * size_of(type_)); i < memory_.size() * sizeof(Vector); ++i)
      if (bytes[i] != kGuard) return false;
    return true;
  }

 private:
  static constexpr unsigned char kGuard = 0xff;  // in every type not a number
  struct alignas(16) Vector {
    uint32_t words[4];
  };
  deepbench_type type_ = DEEPBENCH_F32;
  int64_t elements_ = 0;
  std::vector<Vector> memory_;
};

class NormCase {
 public:
  explicit NormCase(const std::string& line)
      : problem_(Problem::parse("norm " + line)), norm_(norm_problem(problem_)) {
    for (int i = 0; i < kNormParts; ++i)
      arrays_[i].resize(norm_.type(NormPart(i)), norm_.part_elements(NormPart(i)));
    array(NormPart::kX).fill(Norm::kXValues);
    array(NormPart::kScale).fill(Norm::kScaleValues);
    array(NormPart::kShift).fill(Norm::kShiftValues);
    array(NormPart::kDy).fill(Norm::kDyValues);
    if (norm_.has_running_statistics()) {
      array(NormPart::kMean).fill(Norm::kMeanValues);
      array(NormPart::kSpread).fill(Norm::kVarianceValues);
    }
  }

  void run() { run(cuda::norm_launches(norm_, kMultiprocessors)); }
  void run(const NormLaunches& launches) {
    NormArguments of = arguments();
    if (norm_.is_backward()) {
      of.out = nullptr;
      launch(cuda::statistics_launches(norm_, kMultiprocessors), of);
    }
    launch(launches, arguments());
  }

  uint64_t count_wrong() {
    uint64_t wrong = 0;
    const std::vector<NormPart> outputs = norm_.outputs();
    for (uint32_t number = 0; number < outputs.size(); ++number) {
      KernelConditions conditions;
      conditions.output = number;
      const ExpectedOutput expected = problem_.operation().expected_output(problem_, conditions);
      Array& got = array(outputs[number]);
      for (size_t i = 0; i < expected.indices.size(); ++i)
        wrong += !(std::abs(got.element(expected.indices[i]) - expected.values[i]) <=
                   expected.bounds[i]);
    }
    for (const Array& one : arrays_) wrong += !one.is_guarded();
    return wrong;
  }

 private:
  Array& array(NormPart part) { return arrays_[int(part)]; }
  float* floats(NormPart part) { return static_cast<float*>(array(part).data()); }

  NormArguments arguments() {
    NormArguments of = {};
    of.x = array(NormPart::kX).data(), of.dy = array(NormPart::kDy).data();
    of.scale = floats(NormPart::kScale), of.shift = floats(NormPart::kShift);
    of.mean = floats(NormPart::kMean), of.spread = floats(NormPart::kSpread);
    of.out = array(norm_.is_backward() ? NormPart::kDx : NormPart::kY).data();
    of.dscale = floats(NormPart::kDscale), of.dshift = floats(NormPart::kDshift);
    of.rows = uint64_t(norm_.rows), of.columns = uint64_t(norm_.columns);
    of.set = uint64_t(norm_.kind == NormKind::kBatch ? norm_.columns : norm_.set_elements());
    of.epsilon = float(Norm::kEpsilon);
    of.has_mean = norm_.has_mean();
    return of;
  }

  void launch(const NormLaunches& plan, NormArguments of) {
    Array partial;
    partial.resize(DEEPBENCH_F32, int64_t(plan.partial_bytes / sizeof(float)));
    of.partial = static_cast<float*>(partial.data());
    for (const NormLaunch& one : plan.launches) {
      const Kernel& function = kernel(one.expression);
      emulate(one.shape, Barriers::kUsed, [&] { function(of, one.value); });
    }
    CHECK(partial.is_guarded());
  }

  const Problem problem_;
  const Norm norm_;
  Array arrays_[kNormParts];
};

void check(const std::string& shape,
           const std::vector<std::string>& phases = {"training", "inference", "bwd"}) {
  for (const std::string& phase : phases) {
    NormCase one(shape + " phase=" + phase);
    INFO(shape, " phase=", phase);
    one.run();
    CHECK(one.count_wrong() == 0);
  }
}

TEST_CASE("kernels on the host: rows and their parts are normalized") {
  check("kind=layer rows=11 columns=48 precision=float");  // several rows in a block
  check("kind=layer rows=3 columns=900 precision=float");  // several warps of a row
  check("kind=rms rows=5 columns=256 precision=half");
  check("kind=rms rows=2 columns=33 precision=bfloat16");  // no whole vectors
  // A warp of four vectors for each row, in a block that is not full, and rows that are not.
  check("kind=layer rows=9 columns=1024 precision=half", {"training", "inference"});
  check("kind=rms rows=3 columns=520 precision=bfloat16", {"training", "inference"});
  check("kind=group groups=3 rows=4 columns=120 precision=float");
}

// With a block that is too small for the sets, instead of sets that are too long for any block.
TEST_CASE("kernels on the host: sets that no block holds in registers are read again") {
  cuda::LaunchShape sets, sums, combination;
  sets.grid_x = 5, sets.block_x = 32;
  sums.grid_x = 2, sums.grid_y = 2, sums.block_x = 16, sums.block_y = 16;
  combination.grid_x = 4, combination.block_x = combination.block_y = NORM_COMBINING_THREADS;
  const NormLaunches backward = {{{"differentiate_long_sets<DEEPBENCH_F32, 4>", sets},
                                  {"sum_columns<DEEPBENCH_F32, 4, kGradientsOfRows>", sums},
                                  {"combine_columns<DEEPBENCH_F32, kGradientsOfRows>", combination,
                                   NormLaunch::Second::kParts, 2}},
                                 2 * 2 * 120 * sizeof(float)};
  for (const std::string kind : {"layer", "rms", "group groups=2"}) {
    CAPTURE(kind);
    sets.grid_y = kind == "group groups=2" ? 2 : 1;
    const std::string shape = "kind=" + kind + " rows=5 columns=120 precision=float phase=";
    NormCase forward(shape + "training");
    forward.run({{{"normalize_long_sets<DEEPBENCH_F32, 4>", sets}}, 0});
    CHECK(forward.count_wrong() == 0);
    NormLaunches gradients = backward;
    gradients.launches[0].shape = sets;
    NormCase gradient(shape + "bwd");
    gradient.run(gradients);
    CHECK(gradient.count_wrong() == 0);
  }
}

TEST_CASE("kernels on the host: columns are normalized over all rows") {
  check("kind=batch rows=70 columns=12 precision=float");
  check("kind=batch rows=1 columns=5 precision=bfloat16");
  check("kind=batch rows=201 columns=72 precision=half");
  check("kind=batch rows=33 columns=131 precision=bfloat16");
}

TEST_CASE("norm: launches cover the device, and refuse more groups than a grid has") {
  const auto launches = [](const std::string& line, int multiprocessors) {
    return cuda::norm_launches(norm_problem(Problem::parse("norm " + line)), multiprocessors);
  };
  // A row of 4096 halves: 256 threads of two vectors of 16 bytes.
  const NormLaunches row = launches("kind=rms rows=2048 columns=4096 precision=half", 132);
  CHECK(row.text() == "normalize_sets<DEEPBENCH_F16, 8, 2>");
  CHECK(row.launches[0].shape.block_x == 256);
  CHECK(row.launches[0].shape.grid_x == 2048);
  // A row of 1024 halves: a warp of four vectors.
  const NormLaunches warp = launches("kind=layer rows=65536 columns=1024 precision=half", 132);
  CHECK(warp.text() == "normalize_sets<DEEPBENCH_F16, 8, 4>");
  CHECK(warp.launches[0].shape.block_x == NORM_WARP);
  CHECK(warp.launches[0].shape.grid_x == 65536 / 8);
  const NormLaunches gradient =
      launches("kind=layer rows=4096 columns=1024 precision=half phase=bwd", 132);
  CHECK(gradient.launches.size() == 2);
  CHECK(gradient.launches[0].shape.blocks() >= 132);
  const NormLaunches columns = launches("kind=batch rows=25088 columns=256 precision=half", 132);
  CHECK(columns.launches.size() == 3);
  CHECK(columns.launches[0].shape.blocks() >= 132);
  CHECK(launches("kind=layer rows=2 columns=17000", 132).text() ==
        "normalize_long_sets<DEEPBENCH_F32, 4>");
  CHECK(launches("kind=layer rows=2 columns=17000 phase=bwd", 132).text() ==
        "differentiate_long_sets<DEEPBENCH_F32, 4>, "
        "sum_columns<DEEPBENCH_F32, 4, kGradientsOfRows>, "
        "combine_columns<DEEPBENCH_F32, kGradientsOfRows>");
  CHECK_THROWS_AS(launches("kind=group groups=70000 rows=1 columns=70000", 132), plugin::Error);
}

}  // namespace
}  // namespace deepbench::cuda_test
