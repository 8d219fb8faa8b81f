// The operands of a matrix product in plain host memory: padding, conversion, refilling, restoring
// and poisoning.
#include "deepbench/backend/gemm_operands.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "deepbench/backend/copies.hpp"
#include "host_buffer.hpp"
#include "layouts_of.hpp"

namespace deepbench::plugin {
namespace {

using testing::HostBuffer;
using testing::layouts_of;

constexpr uint64_t kSeed = 5;
constexpr int64_t kPoison = -128;
constexpr double kConversionNs = 42;

int64_t uniform(uint64_t seed, uint32_t operand, uint64_t index) {
  return 1 + int64_t((seed + 31 * operand + 7 * index) % 120);
}
int64_t small_integer(uint64_t seed, uint32_t operand, uint64_t index) {
  return -1 - int64_t((seed + operand + index) % 3);
}

// Stores integers of the size of the type, whatever the type.
class IntegerMemory {
 public:
  using Copies = plugin::Copies<HostBuffer, 64, 4096>;
  using Buffer = HostBuffer;
  using Array = Matrix;

  explicit IntegerMemory(int* timed_conversions = nullptr)
      : timed_conversions_(timed_conversions) {}

  // The integer at a position in memory, in elements of the type.
  static int64_t get(const void* data, deepbench_type type, uint64_t position) {
    const auto* const bytes = static_cast<const std::byte*>(data);
    const auto size = size_t(size_of(type));
    int32_t shifted = 0;
    std::memcpy(&shifted, bytes + position * size, size);
    const int unused = 32 - 8 * int(size);
    return int32_t(uint32_t(shifted) << unused) >> unused;  // extends the sign
  }
  static void set(void* data, deepbench_type type, uint64_t position, int64_t value) {
    const auto size = size_t(size_of(type));
    std::memcpy(static_cast<std::byte*>(data) + position * size, &value, size);
  }

  int device() const { return 0; }
  void synchronize() const {}
  Buffer allocate(uint64_t bytes) const { return Buffer(bytes); }
  Copies allocate(uint64_t bytes, uint64_t copies) const { return {bytes, copies}; }

  void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand) const {
    REQUIRE(inputs != Inputs::kIntegers);
    for_each(matrix, [&](uint64_t index, uint64_t at) {
      const int64_t value = inputs == Inputs::kUniform ? uniform(seed, operand, index)
                                                       : int64_t(inputs == Inputs::kOnes);
      set(matrix.data, matrix.type, at, value);
    });
  }
  void fill_integers(const Matrix& matrix, deepbench_small_integers, uint64_t seed,
                     uint32_t operand) const {
    for_each(matrix, [&](uint64_t index, uint64_t at) {
      set(matrix.data, matrix.type, at, small_integer(seed, operand, index));
    });
  }
  void transpose(const Matrix& from, const Matrix& to) const {
    REQUIRE(from.rows == to.columns);
    REQUIRE(from.columns == to.rows);
    for (uint64_t i = 0; i < from.rows; ++i)
      for (uint64_t j = 0; j < from.columns; ++j)
        set(to.data, to.type, j + i * to.column_stride,
            get(from.data, from.type, i + j * from.column_stride));
  }
  void clear(const Copies& copies) const {
    for (uint64_t i = 0; i < copies.count(); ++i) std::memset(copies.at(i), 0, copies.bytes());
  }
  void copy(std::byte* to, const std::byte* from, uint64_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  void replicate(const Copies& copies) const { overwrite(copies, copies.at(0)); }
  void overwrite(const Copies& copies, const std::byte* from) const {
    for (uint64_t i = 0; i < copies.count(); ++i) std::memmove(copies.at(i), from, copies.bytes());
  }
  std::vector<double> time_calls(const std::function<void(uint64_t copy)>& enqueue) const {
    enqueue(0);
    if (timed_conversions_) ++*timed_conversions_;
    return {kConversionNs, kConversionNs + 2, kConversionNs - 1};
  }

  void poison(const Matrix& matrix) const {
    for_each(matrix, [&](uint64_t, uint64_t at) { set(matrix.data, matrix.type, at, kPoison); });
  }
  deepbench_scan scan(const Matrix& matrix, const void* restored) const {
    deepbench_scan scan = {sizeof scan, matrix.elements(), 0, 0};
    for_each(matrix, [&](uint64_t, uint64_t at) {
      scan.untouched += get(matrix.data, matrix.type, at) ==
                        (restored ? get(restored, matrix.type, at) : kPoison);
    });
    return scan;
  }
  void project(const Matrix&, uint64_t, uint64_t, double*) const {}
  void read(const Matrix& matrix, const uint64_t* indices, size_t count, double* values) const {
    for (size_t x = 0; x < count; ++x)
      values[x] =
          double(get(matrix.data, matrix.type,
                     indices[x] % matrix.rows + indices[x] / matrix.rows * matrix.column_stride));
  }

 private:
  template <class Visit>
  static void for_each(const Matrix& matrix, Visit visit) {
    for (uint64_t l = 0; l < matrix.planes; ++l)
      for (uint64_t j = 0; j < matrix.columns; ++j)
        for (uint64_t i = 0; i < matrix.rows; ++i)
          visit(i + (j + l * matrix.columns) * matrix.rows,
                i * matrix.row_stride + j * matrix.column_stride + l * matrix.plane_stride);
  }

  int* timed_conversions_;  // counts the calls of time_calls(); may be null
};

using HostOperands = GemmOperands<IntegerMemory>;
const CopyPlan kTwoCopies = {Regime::kRotation, 2, 0};

HostOperands make_operands(const GemmLayout& layout, Inputs inputs = Inputs::kUniform) {
  return HostOperands(layout, kTwoCopies, inputs, kSeed, IntegerMemory());
}

testing::Emitted facts_of(const HostOperands& operands) {
  testing::Emitted facts;
  Sink sink(facts.sink());
  operands.describe(sink);
  return facts;
}

// A stored matrix of `leading` x `columns` elements, and the value that element (i, j) must have.
// Returns how many are wrong.
template <class Expected>
uint64_t count_wrong(const void* data, deepbench_type type, int64_t leading, int64_t columns,
                     Expected expected) {
  uint64_t wrong = 0;
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < leading; ++i)
      wrong += IntegerMemory::get(data, type, uint64_t(i + j * leading)) != expected(i, j);
  return wrong;
}

// The value of element (i, j) of an operand of rows x columns elements, and 0 in the padding.
template <class Value>
auto padded(int64_t rows, int64_t columns, uint32_t operand, Value value, uint64_t seed = kSeed) {
  return [=](int64_t i, int64_t j) {
    return i < rows && j < columns ? value(seed, operand, uint64_t(i + j * rows)) : 0;
  };
}
// The same for an operand that is stored transposed.
template <class Value>
auto padded_transposed(int64_t rows, int64_t columns, uint32_t operand, Value value,
                       uint64_t seed = kSeed) {
  return [element = padded(rows, columns, operand, value, seed)](int64_t i, int64_t j) {
    return element(j, i);
  };
}

constexpr auto kA = Gemm::kStreamA, kB = Gemm::kStreamB, kC = Gemm::kStreamC;

TEST_CASE("gemm operands: padding is zero around the elements of every copy") {
  const HostOperands operands = make_operands(layouts_of({5, 3, 6}, false, true, "half")[0]);
  const Gemm& run = operands.layout().executed;
  REQUIRE((run.m == 8 && run.n == 8 && run.k == 6));
  for (const uint64_t copy : {0, 1}) {
    CHECK(count_wrong(operands.a(copy), DEEPBENCH_F16, 8, 6, padded(5, 6, kA, uniform)) == 0);
    CHECK(count_wrong(operands.b(copy), DEEPBENCH_F16, 8, 6, padded(3, 6, kB, uniform)) == 0);
    CHECK(count_wrong(operands.c(copy), DEEPBENCH_F16, 8, 8, padded(5, 3, kC, uniform)) == 0);
    const auto poison = [](uint64_t, uint32_t, uint64_t) { return kPoison; };
    CHECK(count_wrong(operands.d(copy), DEEPBENCH_F16, 8, 8, padded(5, 3, kC, poison)) == 0);
    CHECK(operands.scan_output(copy).count == 15);
    CHECK(operands.scan_output(copy).untouched == 15);
  }
}

TEST_CASE("gemm operands: the products of a batch follow one another, each with its padding") {
  const HostOperands operands = make_operands(layouts_of({5, 3, 6, 2}, false, true, "half")[0]);
  CHECK(operands.layout().a_bytes() == 2 * 2 * 8 * 6);
  const auto second = [](void* data, int64_t elements) {
    return static_cast<std::byte*>(data) + 2 * elements;
  };
  const auto of_second = [](int64_t rows, int64_t columns, uint32_t operand) {
    return [=](int64_t i, int64_t j) {
      return i < rows && j < columns
                 ? uniform(kSeed, operand, uint64_t(i + j * rows + rows * columns))
                 : 0;
    };
  };
  for (const uint64_t copy : {0, 1}) {
    CHECK(count_wrong(operands.a(copy), DEEPBENCH_F16, 8, 6, padded(5, 6, kA, uniform)) == 0);
    CHECK(count_wrong(second(operands.a(copy), 48), DEEPBENCH_F16, 8, 6, of_second(5, 6, kA)) == 0);
    CHECK(count_wrong(second(operands.b(copy), 48), DEEPBENCH_F16, 8, 6, of_second(3, 6, kB)) == 0);
    CHECK(count_wrong(second(operands.c(copy), 64), DEEPBENCH_F16, 8, 8, of_second(5, 3, kC)) == 0);
    CHECK(operands.scan_output(copy).count == 30);
    CHECK(operands.scan_output(copy).untouched == 30);
  }
}

TEST_CASE("gemm operands: scales of blocks lie as libraries store them, zero in the padding") {
  GemmLayout layout = layouts_of({130, 3, 640}, true, false, "fp8_e4m3")[0];
  CHECK(layout.scale_a_bytes() == 0);
  const uint64_t unscaled = HostOperands::needed_bytes(layout, kTwoCopies, 0);
  const uint64_t touched = layout.touched_bytes();
  layout.problem.scales_blocks = layout.executed.scales_blocks = true;
  REQUIRE((layout.executed.m == 144 && layout.executed.n == 16 && layout.executed.k == 640));
  // 5 blocks along k, in columns of 8; 16 columns of B.
  CHECK(layout.scale_a_bytes() == 4 * 8 * 2);
  CHECK(layout.scale_b_bytes() == 4 * 16 * 5);
  CHECK(layout.touched_bytes() == touched + 64 + 320);
  CHECK(HostOperands::needed_bytes(layout, kTwoCopies, 0) > unscaled);
  HostOperands operands = make_operands(layout);
  const auto check_scales = [&](uint64_t seed) {
    for (const uint64_t copy : {0, 1}) {
      CHECK(count_wrong(operands.scale_a(copy), DEEPBENCH_F32, 8, 2,
                        padded(5, 2, Gemm::kStreamScaleA, small_integer, seed)) == 0);
      CHECK(count_wrong(operands.scale_b(copy), DEEPBENCH_F32, 16, 5,
                        padded(3, 5, Gemm::kStreamScaleB, small_integer, seed)) == 0);
    }
  };
  check_scales(kSeed);
  operands.refill("integers", kSeed + 1);
  check_scales(kSeed + 1);
}

TEST_CASE("gemm operands: an output's index counts the problem's rows, not those of the padding") {
  const HostOperands operands = make_operands(layouts_of({5, 3, 6}, false, false, "half")[0]);
  IntegerMemory::set(operands.d(1), DEEPBENCH_F16, 2 + 1 * 8, 77);
  const uint64_t index = 2 + 1 * 5;
  double value = 0;
  operands.read_output(1, &index, 1, &value);
  CHECK(value == 77);
  CHECK(operands.scan_output(1).untouched == 14);
  CHECK(operands.scan_output(0).untouched == 15);
}

TEST_CASE("gemm operands: a constant operand is converted once, into every copy") {
  const GemmLayout layout = layouts_of({5, 3, 6}, false, false, "fp8_e4m3", "constant=a").back();
  REQUIRE(layout.a == Conversion::kBeforehand);
  int timed = 0;
  const HostOperands operands(layout, kTwoCopies, Inputs::kUniform, kSeed, IntegerMemory(&timed));
  for (const uint64_t copy : {0, 1}) {
    operands.convert(copy);  // nothing to do
    CHECK(count_wrong(operands.a(copy), DEEPBENCH_E4M3, 16, 16,
                      padded_transposed(5, 6, kA, uniform)) == 0);
    CHECK(count_wrong(operands.b(copy), DEEPBENCH_E4M3, 16, 16, padded(6, 3, kB, uniform)) == 0);
  }
  const testing::Emitted facts = facts_of(operands);
  CHECK(facts.text("converted") == "a");
  CHECK(facts.number("conversion_ns") == kConversionNs);
  CHECK(facts.number("conversion_sample_ns.0") == kConversionNs);
  CHECK(facts.number("conversion_sample_ns.1") == kConversionNs + 2);
  CHECK(facts.number("conversion_sample_ns.2") == kConversionNs - 1);
  CHECK_FALSE(facts.has("note.conversion"));
  // The time of a conversion is measured once in a process.
  CHECK(timed == 1);
  const HostOperands same(layout, kTwoCopies, Inputs::kUniform, kSeed, IntegerMemory(&timed));
  CHECK(timed == 1);
  CHECK(facts_of(same).number("conversion_ns") == kConversionNs);
}

TEST_CASE("gemm operands: an operand that is not constant is converted in every call") {
  const HostOperands operands =
      make_operands(layouts_of({5, 3, 6}, false, true, "fp8_e4m3", "").back());
  const auto is_converted = [&](uint64_t copy) {
    return count_wrong(operands.a(copy), DEEPBENCH_E4M3, 16, 16,
                       padded_transposed(5, 6, kA, uniform)) == 0 &&
           count_wrong(operands.b(copy), DEEPBENCH_E4M3, 16, 16,
                       padded_transposed(3, 6, kB, uniform)) == 0;
  };
  CHECK_FALSE(is_converted(1));
  operands.convert(1);
  CHECK(is_converted(1));
  CHECK_FALSE(is_converted(0));
  operands.convert(0);
  CHECK(is_converted(0));
  const testing::Emitted facts = facts_of(operands);
  CHECK_FALSE(facts.has("converted"));
  CHECK(facts.text("note.conversion").rfind("every call first transposes a,b, which", 0) == 0);
}

TEST_CASE("gemm operands: a refill writes new values to the same addresses") {
  constexpr uint64_t kNewSeed = 9;
  HostOperands operands =
      make_operands(layouts_of({5, 3, 6}, false, true, "fp8_e4m3", "constant=a").back());
  const void* const a = operands.a(0);
  operands.refill("integers", kNewSeed);
  CHECK(operands.a(0) == a);
  for (const uint64_t copy : {0, 1}) {
    operands.convert(copy);
    CHECK(count_wrong(operands.a(copy), DEEPBENCH_E4M3, 16, 16,
                      padded_transposed(5, 6, kA, small_integer, kNewSeed)) == 0);
    CHECK(count_wrong(operands.b(copy), DEEPBENCH_E4M3, 16, 16,
                      padded_transposed(3, 6, kB, small_integer, kNewSeed)) == 0);
    CHECK(count_wrong(operands.c(copy), DEEPBENCH_BF16, 16, 16,
                      padded(5, 3, kC, small_integer, kNewSeed)) == 0);
  }
  // Sums of 8-bit integers are exact whatever the values.
  HostOperands exact = make_operands(layouts_of({5, 3, 6}, false, false, "int8")[0], Inputs::kOnes);
  CHECK(IntegerMemory::get(exact.a(1), DEEPBENCH_S8, 0) == 1);
  exact.refill("integers", kNewSeed);
  CHECK(count_wrong(exact.a(1), DEEPBENCH_S8, 8, 8, padded(5, 6, kA, uniform, kNewSeed)) == 0);
  CHECK_THROWS_WITH_AS(exact.refill("twos", kNewSeed), doctest::Contains("inputs=twos"), Error);
}

TEST_CASE("gemm operands: in place, C is restored in every copy instead of being poisoned") {
  HostOperands operands =
      make_operands(layouts_of({5, 3, 6}, false, false, "half", "", /*in_place=*/true)[0]);
  const auto initial = padded(5, 3, kC, uniform);
  for (const uint64_t copy : {0, 1}) {
    CHECK(operands.c(copy) == operands.d(copy));
    CHECK(operands.scan_output(copy).untouched == 15);
    IntegerMemory::set(operands.d(copy), DEEPBENCH_F16, 3, 0);
    CHECK(operands.scan_output(copy).untouched == 14);
  }
  SUBCASE("by restore()") { operands.restore(); }
  SUBCASE("by poison_outputs()") { operands.poison_outputs(); }
  for (const uint64_t copy : {0, 1})
    CHECK(count_wrong(operands.d(copy), DEEPBENCH_F16, 8, 3, initial) == 0);
  const testing::Emitted facts = facts_of(operands);
  CHECK(facts.number("in_place") == 1);
  CHECK(facts.number("restore_every") == calls_before_overflow(operands.layout().problem, true));
}

TEST_CASE("gemm operands: poison replaces a result and leaves C and the padding alone") {
  HostOperands operands = make_operands(layouts_of({5, 3, 6}, false, false, "half")[0]);
  std::memcpy(operands.d(1), operands.c(1), size_t(8 * 3 * 2));
  CHECK(operands.scan_output(1).untouched == 0);
  operands.restore();  // nothing to do
  CHECK(operands.scan_output(1).untouched == 0);
  operands.poison_outputs();
  CHECK(operands.scan_output(1).untouched == 15);
  CHECK(IntegerMemory::get(operands.d(1), DEEPBENCH_F16, 5) == 0);
  CHECK(count_wrong(operands.c(1), DEEPBENCH_F16, 8, 3, padded(5, 3, kC, uniform)) == 0);
}

// A backend whose units round.
class RoundingOperands final : public HostOperands {
 public:
  using HostOperands::GemmOperands;

 private:
  void describe_rounding(Sink& sink) const override { sink.text("accumulator", "fp22"); }
};

TEST_CASE("gemm operands: the facts tell the padding, the backend's roundings and conversions") {
  const GemmLayout layout = layouts_of({5, 3, 6}, false, false, "fp8_e4m3", "constant=a").back();
  const RoundingOperands operands(layout, kTwoCopies, Inputs::kUniform, kSeed, IntegerMemory());
  const testing::Emitted facts = facts_of(operands);
  std::vector<std::string> names;
  for (const auto& fact : facts.order) names.push_back(fact.first);
  CHECK(names == std::vector<std::string>{"padded.m", "padded.n", "padded.k", "padding_rule",
                                          "accumulator", "converted", "conversion_ns",
                                          "conversion_sample_ns.0", "conversion_sample_ns.1",
                                          "conversion_sample_ns.2"});
  CHECK(facts.number("padded.m") == 16);
  CHECK(facts.number("padded.n") == 16);
  CHECK(facts.number("padded.k") == 16);
  CHECK(facts.text("padding_rule") == layout.padding_rule);
  CHECK(facts_of(make_operands(layouts_of({5, 3, 6}, false, false, "float")[0])).order.empty());
}

TEST_CASE("gemm operands: the memory holds all stored operands and saturates") {
  const CopyPlan hot, cold{Regime::kRotation, 7, 0}, flushed{Regime::kFlush, 1, 1 << 20};
  GemmLayout layout = layouts_of({64, 32, 128}, false, false, "half")[0];
  const uint64_t touched = layout.touched_bytes();
  CHECK(HostOperands::needed_bytes(layout, hot, 1000) == touched + 1000);
  CHECK(HostOperands::needed_bytes(layout, cold, 0) == 7 * touched);
  CHECK(HostOperands::needed_bytes(layout, flushed, 0) == touched + (1 << 20));
  layout.in_place = true;
  CHECK(HostOperands::needed_bytes(layout, cold, 0) ==
        7 * layout.touched_bytes() + layout.c_bytes());

  const auto tn = [&](const std::string& options) {
    return HostOperands::needed_bytes(
        layouts_of({64, 32, 128}, false, false, "int8", options).back(), cold, 0);
  };
  const uint64_t converted = 128 * 64 + 128 * 32 + 2 * 64 * 32 * 4;
  CHECK(tn("constant=a") == 7 * converted + 128 * 64);
  CHECK(tn("") == 7 * (converted + 128 * 64));

  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const char* precision : {"half", "int8", "fp8_e4m3"})
    for (const GemmLayout& huge : layouts_of({kHuge, 1, kHuge}, false, false, precision))
      CHECK(HostOperands::needed_bytes(huge, cold, 1) == std::numeric_limits<uint64_t>::max());
}

}  // namespace
}  // namespace deepbench::plugin
