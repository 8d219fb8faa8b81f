// The operands of collectives in plain host memory: one rank, and two ranks in one process.
#include "deepbench/backend/collective_operands.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "deepbench/backend/copies.hpp"
#include "host_buffer.hpp"

namespace deepbench::plugin {
namespace {

constexpr uint64_t kSeed = 5;

using testing::HostBuffer;

constexpr float kPoison = -1e30f;

// Stores floats only.
struct FloatMemory {
  using Copies = plugin::Copies<HostBuffer, 64, 4096>;
  using Buffer = HostBuffer;
  struct Array {
    void* data;
    deepbench_type type;
    uint64_t elements;
  };

  explicit FloatMemory(int) {}
  static float* floats(void* data) { return static_cast<float*>(data); }

  Copies allocate(uint64_t bytes, uint64_t copies) const { return {bytes, copies}; }
  Buffer allocate(uint64_t bytes) const { return Buffer(bytes); }
  void make_current() const {}
  void synchronize() const {}
  void fill_summands(const Array& array, const Summands& s) const {
    for (uint64_t i = 0; i < array.elements; ++i)
      floats(array.data)[i] = deepbench_summand(array.type, s.seed, s.rank, s.ranks, i);
  }
  void fill(const Array& array, Inputs inputs, uint64_t seed, uint32_t operand) const {
    for (uint64_t i = 0; i < array.elements; ++i)
      floats(array.data)[i] = inputs == Inputs::kUniform ? deepbench_uniform(seed, operand, i)
                              : inputs == Inputs::kOnes  ? 1.0f
                                                         : 0.0f;
  }
  void copy(std::byte* to, const std::byte* from, uint64_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  void replicate(const Copies& copies) const { overwrite(copies, copies.at(0)); }
  void overwrite(const Copies& copies, const std::byte* from) const {
    for (uint64_t i = 0; i < copies.count(); ++i) std::memmove(copies.at(i), from, copies.bytes());
  }
  void poison(const Array& array) const {
    std::fill_n(floats(array.data), array.elements, kPoison);
  }
  deepbench_scan scan(const Array& array, const void* restored) const {
    deepbench_scan scan = {sizeof scan, array.elements, 0, 0};
    for (uint64_t i = 0; i < array.elements; ++i)
      scan.untouched +=
          floats(array.data)[i] == (restored ? static_cast<const float*>(restored)[i] : kPoison);
    return scan;
  }
  void project(const Array& array, uint64_t rows, uint64_t seed, double* sums) const {
    std::fill_n(sums, rows, 0.0);
    for (uint64_t i = 0; i < array.elements; ++i)
      sums[i % rows] += double(floats(array.data)[i]) * deepbench_weight(seed, i / rows);
  }
  void read(const Array& array, const uint64_t* indices, size_t count, double* values) const {
    for (size_t i = 0; i < count; ++i) values[i] = double(floats(array.data)[indices[i]]);
  }
};

using Operands = CollectiveOperands<FloatMemory>;

Collective sum_of(int64_t elements, bool in_place) {
  return {CollectiveKind::kAllReduce, elements, precision_info("float"), in_place};
}

double summand(uint32_t rank, uint32_t ranks, uint64_t index) {
  return double(deepbench_summand(DEEPBENCH_F32, kSeed, rank, ranks, index));
}

TEST_CASE("all_reduce: in place, the operands of a rank are filled and restored in every copy") {
  constexpr uint64_t kElements = 70;
  Operands operands(sum_of(kElements, true), {{0}, 1, 3}, {Regime::kRotation, 2, 0},
                    Inputs::kUniform, kSeed);
  for (const uint64_t copy : {0, 1}) {
    for (uint64_t i = 0; i < kElements; ++i) {
      double value = 0;
      operands.read_output(copy, &i, 1, &value);
      REQUIRE(value == summand(1, 3, i));
    }
    CHECK(operands.rank(0).input(copy) == operands.rank(0).result(copy));
    FloatMemory::floats(operands.rank(0).result(copy))[7] += 1;
    CHECK(operands.scan_output(copy).untouched == kElements - 1);
  }
  operands.poison_outputs();  // in place, the operand replaces the poison
  CHECK(operands.scan_output(0).untouched == kElements);
  CHECK(operands.scan_output(1).untouched == kElements);
  testing::Emitted facts;
  Sink sink(facts.sink());
  operands.describe(sink);
  CHECK(facts.number("ranks") == 3);
  CHECK_FALSE(facts.has("local_ranks"));
  CHECK(facts.number("in_place") == 1);
  CHECK(facts.number("restore_every") == sums_before_overflow(DEEPBENCH_F32, 3));
}

TEST_CASE("all_reduce: the outputs of several ranks in a process follow one another") {
  constexpr uint64_t kElements = 42, kRows = 6;
  Operands operands(sum_of(kElements, false), {{0, 1}, 0, 2}, {}, Inputs::kUniform, kSeed);
  CHECK(operands.scan_output(0).untouched == 2 * kElements);
  CHECK(operands.scan_output(0).count == 2 * kElements);
  for (const size_t rank : {0u, 1u})
    std::memcpy(operands.rank(rank).result(0), operands.rank(rank).input(0), 4 * kElements);
  CHECK(operands.scan_output(0).untouched == 0);

  std::vector<uint64_t> indices;
  for (uint64_t i = 2 * kElements; i-- > 0;) indices.push_back(i);
  std::vector<double> values(indices.size()), expected(kRows), sums(kRows);
  operands.read_output(0, indices.data(), indices.size(), values.data());
  for (size_t at = 0; at < indices.size(); ++at) {
    const uint64_t i = indices[at];
    REQUIRE(values[at] == summand(uint32_t(i / kElements), 2, i % kElements));
    expected[i % kRows] += values[at] * deepbench_weight(3, i / kRows);
  }
  operands.project_output(0, kRows, 3, sums.data());
  for (uint64_t row = 0; row < kRows; ++row) CHECK(sums[row] == doctest::Approx(expected[row]));

  const uint64_t outside = 2 * kElements;
  double value = 0;
  CHECK_THROWS_WITH_AS(operands.read_output(0, &outside, 1, &value),
                       doctest::Contains("element 84 of 84"), Error);
  CHECK_THROWS_WITH_AS(operands.project_output(0, 5, 3, sums.data()),
                       doctest::Contains("of 5 rows"), Error);
  testing::Emitted facts;
  Sink sink(facts.sink());
  operands.describe(sink);
  CHECK(facts.number("local_ranks") == 2);
  CHECK_FALSE(facts.has("in_place"));
}

TEST_CASE("all_reduce: zeros and ones replace the summands") {
  const uint64_t last = 9;
  double value = -1;
  Operands(sum_of(10, true), {{0}, 0, 2}, {}, Inputs::kOnes, kSeed)
      .read_output(0, &last, 1, &value);
  CHECK(value == 1);
  Operands(sum_of(10, true), {{0}, 0, 2}, {}, Inputs::kZeros, kSeed)
      .read_output(0, &last, 1, &value);
  CHECK(value == 0);
}

TEST_CASE("all_reduce: a refill has full mantissas or the summands, which restore brings back") {
  for (const bool in_place : {false, true}) {
    CAPTURE(in_place);
    Operands operands(sum_of(10, in_place), {{0}, 1, 3}, {Regime::kRotation, 2, 0},
                      Inputs::kUniform, kSeed);
    const auto last_input = [&](uint64_t copy) {
      return FloatMemory::floats(const_cast<std::byte*>(operands.rank(0).input(copy)))[9];
    };
    operands.refill("mantissas", 7);
    for (const uint64_t copy : {0, 1}) CHECK(last_input(copy) == deepbench_uniform(7, 1, 9));
    if (in_place) FloatMemory::floats(operands.rank(0).result(1))[9] = 5;
    operands.restore();
    CHECK(last_input(1) == deepbench_uniform(7, 1, 9));
    operands.refill("uniform", kSeed);
    for (const uint64_t copy : {0, 1}) CHECK(double(last_input(copy)) == summand(1, 3, 9));
    CHECK_THROWS_WITH_AS(operands.refill("twos", kSeed), doctest::Contains("inputs=twos"), Error);
  }
}

TEST_CASE("all_reduce: sizes count the copies, the initial values in place and the flush buffer") {
  CHECK(Operands::touched_bytes(sum_of(1024, true), 2) == 4096);
  CHECK(Operands::touched_bytes(sum_of(1024, false), 2) == 8192);
  CHECK(Operands::needed_bytes(sum_of(1024, true), 2, {Regime::kRotation, 3, 0}) == 4 * 4096);
  CHECK(Operands::needed_bytes(sum_of(1024, false), 2, {Regime::kFlush, 1, 100}) == 8192 + 100);
  CHECK(Operands::touched_bytes(sum_of(INT64_MAX, false), 2) == UINT64_MAX);
}

Collective collective_of(CollectiveKind kind, int64_t elements) {
  return {kind, elements, precision_info("float"), false};
}

TEST_CASE("collectives: operands and results have a block or all elements") {
  const auto touched = [](CollectiveKind kind) {
    return Operands::touched_bytes(collective_of(kind, 4096), 4);
  };
  CHECK(touched(CollectiveKind::kAllGather) == 5 * 4096);
  CHECK(touched(CollectiveKind::kReduceScatter) == 5 * 4096);
  CHECK(touched(CollectiveKind::kAllToAll) == 8 * 4096);
  CHECK(touched(CollectiveKind::kBroadcast) == 4 * 4096);
  CHECK(touched(CollectiveKind::kSendRecv) == 8 * 4096);
  const Operands gathered(collective_of(CollectiveKind::kAllGather, 80), {{0, 1}, 0, 2}, {},
                          Inputs::kUniform, kSeed);
  CHECK(gathered.scan_output(0).count == 2 * 80);
  const Operands scattered(collective_of(CollectiveKind::kReduceScatter, 80), {{0, 1}, 0, 2}, {},
                           Inputs::kUniform, kSeed);
  CHECK(scattered.scan_output(0).count == 2 * 40);
}

TEST_CASE("collectives: only the root of a broadcast holds values, which calls do not poison") {
  constexpr uint64_t kElements = 40;
  Operands operands(collective_of(CollectiveKind::kBroadcast, kElements), {{0, 1}, 0, 2},
                    {Regime::kRotation, 2, 0}, Inputs::kOnes, kSeed);
  CHECK(operands.outputs() == kElements);  // of rank 0
  for (int reset = 0; reset < 2; ++reset) {
    CHECK(operands.rank(0).input(1) == operands.rank(0).result(1));
    CHECK(operands.scan_output(1).count == kElements);
    CHECK(operands.scan_output(1).untouched == kElements);
    CHECK(FloatMemory::floats(operands.rank(0).result(1))[3] == kPoison);
    CHECK(FloatMemory::floats(operands.rank(1).result(1))[3] == 1);
    const uint64_t outside = kElements;
    double value = 0;
    CHECK_THROWS_AS(operands.read_output(1, &outside, 1, &value), Error);
    std::fill_n(FloatMemory::floats(operands.rank(0).result(1)), kElements, 7.0f);
    std::fill_n(FloatMemory::floats(operands.rank(1).result(1)), kElements, 7.0f);
    operands.poison_outputs();
  }
  testing::Emitted facts;
  Sink sink(facts.sink());
  operands.describe(sink);
  CHECK_FALSE(facts.has("in_place"));
}

}  // namespace
}  // namespace deepbench::plugin
