// The kernels of lookups, run by the host without a device: every kernel, width of access and shape
// against plain loops.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "../ops/naive_embedding.hpp"
#include "ops/embedding/lookup_kernel.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <embedding.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 5;
constexpr uint16_t kGuard = 0xbeef;

using Kernel = void (*)(EmbeddingLookups);

template <class Vector>
void add_copies(const std::string& type, std::map<std::string, Kernel>& all) {
  all["copy_rows<" + type + ">"] = copy_rows<Vector>;
}

template <class Number, class Vector>
void add_sums(const std::string& number, const std::string& type,
              std::map<std::string, Kernel>& all) {
  all["sum_rows<" + number + ", " + type + ">"] = sum_rows<Number, Vector>;
  all["add_gradients<" + number + ", " + type + ">"] = add_gradients<Number, Vector>;
}

template <class Number>
void add_number(const std::string& name, std::map<std::string, Kernel>& all) {
  add_sums<Number, uint4>(name, "uint4", all);
  add_sums<Number, uint2>(name, "uint2", all);
  add_sums<Number, uint32_t>(name, "uint32_t", all);
}

std::map<std::string, Kernel> kernels() {
  std::map<std::string, Kernel> all;
  add_copies<uint4>("uint4", all);
  add_copies<uint2>("uint2", all);
  add_copies<uint32_t>("uint32_t", all);
  add_copies<uint16_t>("uint16_t", all);
  add_number<Float>("Float", all);
  add_number<Half>("Half", all);
  add_number<Bfloat16>("Bfloat16", all);
  add_sums<Half, uint16_t>("Half", "uint16_t", all);
  add_sums<Bfloat16, uint16_t>("Bfloat16", "uint16_t", all);
  return all;
}

// An array aligned to 16 bytes, followed by guards that no kernel may touch.
class GuardedArray {
 public:
  GuardedArray(deepbench_type type, int64_t count)
      : type_(type), words_(uint64_t(count * size_of(type)) / 2), vectors_(words_ / 8 + 2) {
    for (uint64_t i = 0; i < 8 * vectors_.size(); ++i) word(i) = kGuard;
  }

  void* data() { return vectors_.data(); }
  void fill(uint32_t stream) {
    for (uint64_t i = 0; i < words_ * 2 / uint64_t(size_of(type_)); ++i) {
      const auto value = float(deepbench_element(type_, kSeed, stream, i));
      if (type_ == DEEPBENCH_F32)
        static_cast<float*>(data())[i] = value;
      else
        word(i) = type_ == DEEPBENCH_F16 ? deepbench_to_half(value) : deepbench_to_bfloat16(value);
    }
  }
  double value(uint64_t i) {
    if (type_ == DEEPBENCH_F32) return static_cast<float*>(data())[i];
    return type_ == DEEPBENCH_F16 ? deepbench_from_half(word(i)) : deepbench_from_bfloat16(word(i));
  }
  bool is_guarded() {
    for (uint64_t i = words_; i < 8 * vectors_.size(); ++i)
      if (word(i) != kGuard) return false;
    return true;
  }

 private:
  uint16_t& word(uint64_t i) { return static_cast<uint16_t*>(data())[i]; }

  const deepbench_type type_;
  const uint64_t words_;
  std::vector<uint4> vectors_;
};

std::vector<int32_t> emulated_indices(const Embedding& e) {
  std::vector<int32_t> indices(size_t(e.all_lookups()));
  cuda::LaunchShape shape;
  shape.grid_x = 2, shape.block_x = 32;
  emulate(shape, Barriers::kNone, [&] {
    fill_lookups(indices.data(), indices.size(), kSeed, Embedding::kStreamLookups, uint32_t(e.rows),
                 e.octaves());
  });
  for (int64_t i = 0; i < e.all_lookups(); ++i)
    REQUIRE(indices[size_t(i)] == int32_t(e.row_of(kSeed, i)));
  return indices;
}

// Returns the name of the kernel.
std::string check_lookups(const std::string& text) {
  CAPTURE(text);
  const Embedding e = embedding_problem(testing::NamedValues(text));
  cuda::LookupKernel planned = cuda::lookup_kernel(e);
  CAPTURE(planned.expression);
  CHECK(planned.shape.block_x * planned.shape.block_y <= 256);
  GuardedArray table(e.table_type(), e.table_elements()), rows(e.type(), e.row_elements());
  table.fill(Embedding::kStreamTable);
  rows.fill(Embedding::kStreamDy);
  const std::vector<int32_t> indices = emulated_indices(e);
  planned.lookups.table = table.data(), planned.lookups.rows = rows.data();
  planned.lookups.indices = indices.data();
  const Kernel kernel = kernels().at(planned.expression);
  emulate(planned.shape, Barriers::kNone, [&] { kernel(planned.lookups); });

  const std::vector<double> expected = testing::naive_embedding(e, kSeed);
  GuardedArray& output = e.is_backward ? table : rows;
  const bool is_copy = !e.is_backward && e.lookups_per_row() == 1;
  const double roundoff = e.output_type() == DEEPBENCH_F32   ? 1e-6
                          : e.output_type() == DEEPBENCH_F16 ? kRoundoffHalf
                                                             : kRoundoffBfloat16;
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(output.value(i) - expected[i]);
    wrong += error > (is_copy ? 0 : roundoff * (1 + std::abs(expected[i])));
  }
  CHECK(wrong == 0);
  CHECK(table.is_guarded());
  CHECK(rows.is_guarded());
  return planned.expression;
}

TEST_CASE("kernels on the host: lookups of every width, mode, phase and precision") {
  std::map<std::string, int> seen;
  for (const char* precision : {"float", "half", "bfloat16"})
    for (const char* mode : {" mode=gather", " mode=sum"})
      for (const char* phase : {" phase=fwd", " phase=bwd"})
        for (const char* size :
             {" rows=1 dim=1 lookups=1 batch=1", " rows=9 dim=8 lookups=3 batch=40",
              " rows=70 dim=30 lookups=11 batch=5", " rows=5 dim=12 lookups=8 batch=2",
              " rows=4 dim=2080 lookups=2 batch=3"})
          ++seen[check_lookups(std::string("indices=zipf precision=") + precision + mode + phase +
                               size)];
  // every kernel that the host names but those of rows that no size here has
  CHECK(seen.size() >= kernels().size() - 3);
}

TEST_CASE("lookups: precisions that the kernels lack are refused") {
  for (const char* precision : {"int8", "fp8_e4m3", "tf32"})
    CHECK_THROWS_AS(cuda::lookup_kernel(embedding_problem(testing::NamedValues(
                        std::string("rows=9 dim=4 lookups=1 batch=2 precision=") + precision))),
                    plugin::Error);
}

}  // namespace
}  // namespace deepbench::cuda_test
