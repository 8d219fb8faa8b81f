// Fills, converts, poisons and reads the operands of a matrix product.
#include "ops/gemm/operands.hpp"

#include <array>

#include "deepbench/backend/memo_cache.hpp"
#include "device.hpp"
#include "timing.hpp"

namespace deepbench::cuda {

plugin::CopyPlan plan_copies(const GemmLayout& layout, const plugin::Options& options) {
  const uint64_t bytes = layout.touched_bytes();
  return plugin::shuffle_near_cache_size(plan_copies(bytes, options), bytes,
                                         device_facts(options.device).l2_bytes);
}

struct GemmOperands::Input {
  deepbench_type type;
  uint32_t stream;
  Conversion conversion;
  int64_t rows, columns;  // in the problem's layout
  int64_t leading;        // in the library's layout

  // A view of the operand in the library's layout, indexed by element (i, j) of the problem's
  // operand.
  Matrix stored(void* data) const {
    const bool transposed = conversion != Conversion::kNone;
    Matrix matrix{data, type, uint64_t(rows), uint64_t(columns), 1, uint64_t(leading)};
    if (transposed) std::swap(matrix.rows, matrix.columns);
    return matrix;
  }
  Matrix plain(void* data) const {
    return {data, type, uint64_t(rows), uint64_t(columns), 1, uint64_t(rows)};
  }
};

GemmOperands::Input GemmOperands::input_a() const {
  const Gemm& g = layout_.problem;
  return {g.precision.a, Gemm::kStreamA, layout_.a,
          g.rows_a(),    g.columns_a(),  layout_.executed.rows_a()};
}

GemmOperands::Input GemmOperands::input_b() const {
  const Gemm& g = layout_.problem;
  return {g.b_type,   Gemm::kStreamB, layout_.b,
          g.rows_b(), g.columns_b(),  layout_.executed.rows_b()};
}

GemmOperands::GemmOperands(const GemmLayout& layout, const plugin::CopyPlan& plan, Inputs inputs,
                           uint64_t seed, Stream& stream)
    : MatrixOperands(stream), layout_(layout), inputs_(inputs), seed_(seed), count_(plan.copies) {
  a_ = Copies(layout.a_bytes(), count_);
  b_ = Copies(layout.b_bytes(), count_);
  c_ = Copies(layout.c_bytes(), count_);
  if (layout.in_place)
    initial_c_ = Buffer(c_.bytes());
  else
    d_ = Copies(layout.c_bytes(), count_);
  fill_operands();
  if (!layout.in_place) {
    if (layout.is_padded()) d_.clear(stream_);
    poison_outputs();
  }
  stream_.synchronize();
}

// A refill finds all but temporary memory allocated: calls and graphs hold the addresses.
void GemmOperands::fill_operands() {
  Copies once_a, once_b;  // the sources of operands that are converted beforehand; freed on return
  make_input(input_a(), a_, plain_a_, once_a);
  make_input(input_b(), b_, plain_b_, once_b);
  convert_beforehand(once_a, once_b);
  a_.replicate(stream_);
  b_.replicate(stream_);
  make_initial_c();
  stream_.synchronize();
}

void GemmOperands::fill_operand(const Matrix& matrix, uint32_t operand) const {
  const bool is_floating = layout_.problem.precision.precision != Precision::kInt8;
  if (inputs_ == Inputs::kIntegers && is_floating)
    fill_integers(matrix, layout_.problem.integers(operand), seed_, operand, stream_);
  else
    fill(matrix, inputs_ == Inputs::kIntegers ? Inputs::kUniform : inputs_, seed_, operand,
         stream_);
}

void GemmOperands::make_input(const Input& input, Copies& stored, Copies& plain,
                              Copies& temporary) {
  if (layout_.is_padded()) stored.clear(stream_);
  if (input.conversion == Conversion::kNone)
    return fill_operand(input.stored(stored.at(0)), input.stream);
  const bool in_call = input.conversion == Conversion::kInCall;
  const uint64_t bytes =
      uint64_t(input.rows) * uint64_t(input.columns) * uint64_t(size_of(input.type));
  Copies& source = in_call ? plain : temporary;
  if (source.count() == 0) source = Copies(bytes, in_call ? count_ : 1);
  fill_operand(input.plain(source.at(0)), input.stream);
  source.replicate(stream_);
}

void GemmOperands::make_initial_c() {
  if (layout_.is_padded()) c_.clear(stream_);
  fill_operand(c_matrix(0), Gemm::kStreamC);
  c_.replicate(stream_);
  if (layout_.in_place) copy_on_device(initial_c_.data(), c_.at(0), c_.bytes(), stream_);
}

void GemmOperands::refill(const std::string& inputs, uint64_t seed) {
  inputs_ = plugin::parse_refill_inputs(inputs);
  seed_ = seed;
  fill_operands();
}

// Converts the constant operands into copy 0, which the caller then replicates, and sets the time
// of one conversion, which is measured once per process and shape.
void GemmOperands::convert_beforehand(const Copies& plain_a, const Copies& plain_b) {
  if (plain_a.count() == 0 && plain_b.count() == 0) return;
  const auto convert_all = [&](uint64_t) {
    if (plain_a.count())
      transpose(input_a().plain(plain_a.at(0)), input_a().stored(a_.at(0)), stream_);
    if (plain_b.count())
      transpose(input_b().plain(plain_b.at(0)), input_b().stored(b_.at(0)), stream_);
  };
  convert_all(0);
  // The same for every kernel of these dimensions: measured once in a process.
  static plugin::MemoCache<std::array<int64_t, 7>, double> known;
  const Gemm& run = layout_.executed;
  const std::array<int64_t, 7> key = {stream_.device(),
                                      run.m,
                                      run.n,
                                      run.k,
                                      int64_t(run.precision.precision),
                                      int64_t(plain_a.count()),
                                      int64_t(plain_b.count())};
  conversion_ns_ = known.get(key, [&] { return time_calls(stream_, convert_all); });
}

void GemmOperands::convert(uint64_t copy) const {
  if (layout_.a == Conversion::kInCall)
    transpose(input_a().plain(plain_a_.at(copy)), input_a().stored(a_.at(copy)), stream_);
  if (layout_.b == Conversion::kInCall)
    transpose(input_b().plain(plain_b_.at(copy)), input_b().stored(b_.at(copy)), stream_);
}

Matrix GemmOperands::c_matrix(uint64_t copy) const {
  const Gemm& g = layout_.problem;
  return {c(copy), g.precision.c, uint64_t(g.m), uint64_t(g.n), 1, uint64_t(layout_.executed.m)};
}

Matrix GemmOperands::output(uint64_t copy) const {
  Matrix matrix = c_matrix(copy);
  matrix.data = d(copy);
  return matrix;
}

void GemmOperands::restore() {
  if (layout_.in_place) c_.overwrite(initial_c_.data(), stream_);
}

void GemmOperands::poison_outputs() {
  if (layout_.in_place) return restore();
  for (uint64_t copy = 0; copy < count_; ++copy) cuda::poison(output(copy), stream_);
}

}  // namespace deepbench::cuda
