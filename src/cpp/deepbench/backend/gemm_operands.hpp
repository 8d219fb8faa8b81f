// The operands of a matrix product in a device's memory: their creation and conversion, the access
// to results for verification, and the row's facts about padding and conversions. Header-only, for
// backends.
//
// `Memory` is the backend's access to the memory of one device. Its Array is a Matrix. It has,
// beside what OutputOperands asks of a Memory:
//   Copies, Buffer                            the backend's classes of allocated arrays
//   allocate(bytes, copies), allocate(bytes)  a Copies, a Buffer
//   device(), synchronize()                   the device's number; waits until all work is done
//   fill(matrix, inputs, seed, operand)       the values of fill.h
//   fill_integers(matrix, integers, seed, operand)
//   transpose(from, to)                       to(i, j) = from(j, i)
//   clear(copies)                             zeros in all copies
//   copy(to, from, bytes), replicate(copies), overwrite(copies, from), poison(matrix)
//   time_calls(enqueue)                       samples in ns of the time of one enqueue(copy)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/conversion_facts.hpp"
#include "deepbench/backend/gemm_layout.hpp"
#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/matrix.hpp"
#include "deepbench/backend/memo_cache.hpp"
#include "deepbench/backend/output_operands.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"

namespace deepbench::plugin {

template <class Memory>
class GemmOperands : public OutputOperands<Memory> {
  using Copies = typename Memory::Copies;

 public:
  GemmOperands(const GemmLayout& layout, const CopyPlan& plan, Inputs inputs, uint64_t seed,
               Memory device_memory)
      : OutputOperands<Memory>(std::move(device_memory)),
        layout_(layout),
        inputs_(inputs),
        seed_(seed),
        count_(plan.copies) {
    a_ = memory().allocate(layout.a_bytes(), count_);
    b_ = memory().allocate(layout.b_bytes(), count_);
    if (layout.problem.has_epilogue())
      bias_ = memory().allocate(layout.bias_bytes(), 1);
    else
      c_ = memory().allocate(layout.c_bytes(), count_);
    if (layout.problem.scales_blocks) {
      scale_a_ = memory().allocate(layout.scale_a_bytes(), count_);
      scale_b_ = memory().allocate(layout.scale_b_bytes(), count_);
    }
    if (layout.in_place)
      initial_c_ = memory().allocate(c_.bytes());
    else
      d_ = memory().allocate(layout.c_bytes(), count_);
    fill_operands();
    if (!layout.in_place) {
      if (layout.is_padded()) memory().clear(d_);
      poison_outputs();
    }
    memory().synchronize();
  }

  // The bytes that the constructor allocates, with the library's workspace.
  static uint64_t needed_bytes(const GemmLayout& layout, const CopyPlan& plan,
                               uint64_t workspace_bytes) {
    const auto plain = [&](Conversion conversion, uint64_t bytes) {
      if (conversion == Conversion::kNone) return uint64_t{0};
      return Copies::needed_bytes(bytes, conversion == Conversion::kInCall ? plan.copies : 1);
    };
    uint64_t bytes = saturating_add(Copies::needed_bytes(layout.a_bytes(), plan.copies),
                                    Copies::needed_bytes(layout.b_bytes(), plan.copies));
    bytes = saturating_add(bytes, layout.problem.has_epilogue()
                                      ? Copies::needed_bytes(layout.bias_bytes(), 1)
                                      : Copies::needed_bytes(layout.c_bytes(), plan.copies));
    // D or, in place, the first values of C.
    bytes = saturating_add(
        bytes, Copies::needed_bytes(layout.c_bytes(), layout.in_place ? 1 : plan.copies));
    if (layout.problem.scales_blocks)
      bytes = saturating_add(
          bytes, saturating_add(Copies::needed_bytes(layout.scale_a_bytes(), plan.copies),
                                Copies::needed_bytes(layout.scale_b_bytes(), plan.copies)));
    bytes = saturating_add(bytes, plain(layout.a, layout.plain_a_bytes()));
    bytes = saturating_add(bytes, plain(layout.b, layout.plain_b_bytes()));
    return saturating_add(saturating_add(bytes, workspace_bytes), plan.flush_bytes);
  }

  const GemmLayout& layout() const { return layout_; }

  void* a(uint64_t copy) const { return a_.at(copy); }
  void* b(uint64_t copy) const { return b_.at(copy); }
  // With an epilogue there is no C: the result takes its place, and all copies share the bias.
  void* c(uint64_t copy) const {
    return layout_.problem.has_epilogue() ? d_.at(copy) : c_.at(copy);
  }
  void* bias() const { return bias_.at(0); }
  void* scale_a(uint64_t copy) const { return scale_a_.at(copy); }
  void* scale_b(uint64_t copy) const { return scale_b_.at(copy); }
  void* d(uint64_t copy) const { return layout_.in_place ? c_.at(copy) : d_.at(copy); }

  // Enqueues the conversions that every call performs. Most layouts have none.
  void convert(uint64_t copy) const {
    if (layout_.a == Conversion::kInCall) transpose(input_a(), plain_a_, a_, copy);
    if (layout_.b == Conversion::kInCall) transpose(input_b(), plain_b_, b_, copy);
  }

  void describe(Sink& sink) const final {
    if (layout_.in_place) {
      sink.integer("in_place", 1);
      sink.integer("restore_every",
                   calls_before_overflow(layout_.problem, inputs_ == Inputs::kUniform));
    }
    describe_padding(sink);
    describe_rounding(sink);
    describe_conversion(sink);
  }
  void restore() final {
    if (layout_.in_place) memory().overwrite(c_, initial_c_.data());
  }
  void refill(const std::string& inputs, uint64_t seed) final {
    inputs_ = parse_refill_inputs(inputs);
    seed_ = seed;
    fill_operands();
  }
  void poison_outputs() final {
    if (layout_.in_place) return restore();
    for (uint64_t copy = 0; copy < count_; ++copy) memory().poison(output(copy));
  }

 protected:
  using OutputOperands<Memory>::memory;

  // Emits how the backend's units and libraries round, if that is more than the precision implies.
  virtual void describe_rounding(Sink& sink) const { (void)sink; }

 private:
  // Describes A or B.
  struct Input {
    deepbench_type type;
    uint32_t stream;
    Conversion conversion;
    int64_t rows, columns;      // in the problem's layout
    int64_t leading, trailing;  // rows and columns in the library's layout
    int64_t batch;

    // A view of the operand in the library's layout. If the operand is converted, it has the rows
    // and columns of the transposed one.
    Matrix stored(void* data) const {
      const bool transposed = conversion != Conversion::kNone;
      Matrix matrix{data, type, uint64_t(rows), uint64_t(columns), 1, uint64_t(leading)};
      if (transposed) std::swap(matrix.rows, matrix.columns);
      matrix.planes = uint64_t(batch), matrix.plane_stride = uint64_t(leading * trailing);
      return matrix;
    }
    // Operands of a batch are not converted (gemm_layouts()).
    Matrix plain(void* data) const {
      return {data, type, uint64_t(rows), uint64_t(columns), 1, uint64_t(rows)};
    }
  };

  Input input_a() const {
    const Gemm &g = layout_.problem, &run = layout_.executed;
    return {g.precision.a, Gemm::kStreamA, layout_.a,       g.rows_a(),
            g.columns_a(), run.rows_a(),   run.columns_a(), g.batch};
  }
  Input input_b() const {
    const Gemm &g = layout_.problem, &run = layout_.executed;
    return {g.b_type,      Gemm::kStreamB, layout_.b,       g.rows_b(),
            g.columns_b(), run.rows_b(),   run.columns_b(), g.batch};
  }
  Matrix c_matrix(void* data) const {
    const Gemm &g = layout_.problem, &run = layout_.executed;
    Matrix matrix{data, g.precision.c, uint64_t(g.m), uint64_t(g.n), 1, uint64_t(run.m)};
    matrix.planes = uint64_t(g.batch), matrix.plane_stride = uint64_t(run.m * run.n);
    return matrix;
  }
  Matrix output(uint64_t copy) const final { return c_matrix(d(copy)); }
  const void* restored() const final { return layout_.in_place ? initial_c_.data() : nullptr; }

  // Rewrites the operands. During a refill all memory except temporary memory stays allocated,
  // because calls and graphs hold its addresses.
  void fill_operands() {
    // The sources of operands that are converted beforehand; freed on return.
    Copies once_a, once_b;
    make_input(input_a(), a_, plain_a_, once_a);
    make_input(input_b(), b_, plain_b_, once_b);
    convert_beforehand(once_a, once_b);
    memory().replicate(a_);
    memory().replicate(b_);
    if (layout_.problem.scales_blocks) make_scales();
    if (layout_.problem.has_epilogue())
      make_bias();
    else
      make_initial_c();
    memory().synchronize();
  }

  void make_input(const Input& input, Copies& stored, Copies& plain, Copies& temporary) {
    if (layout_.is_padded()) memory().clear(stored);
    if (input.conversion == Conversion::kNone)
      return fill(input.stored(stored.at(0)), input.stream);
    const bool in_call = input.conversion == Conversion::kInCall;
    Copies& source = in_call ? plain : temporary;
    if (source.count() == 0)
      source = memory().allocate(matrix_bytes(input.rows, input.columns, input.type),
                                 in_call ? count_ : 1);
    fill(input.plain(source.at(0)), input.stream);
    memory().replicate(source);
  }

  // Creates the scales. Those of padding are 0.
  void make_scales() {
    const Gemm& g = layout_.problem;
    const auto columns = uint64_t(g.blocks_m()), blocks = uint64_t(g.blocks_k());
    make_scales(
        scale_a_,
        {scale_a_.at(0), DEEPBENCH_F32, blocks, columns, 1, uint64_t(layout_.leading_scale_a())},
        Gemm::kStreamScaleA);
    make_scales(
        scale_b_,
        {scale_b_.at(0), DEEPBENCH_F32, uint64_t(g.n), blocks, 1, uint64_t(layout_.executed.n)},
        Gemm::kStreamScaleB);
  }
  void make_scales(Copies& copies, const Matrix& scales, uint32_t stream) {
    memory().clear(copies);
    memory().fill_integers(scales, Gemm::scales(inputs_ == Inputs::kIntegers), seed_, stream);
    memory().replicate(copies);
  }

  void make_bias() {
    const Gemm& g = layout_.problem;
    if (layout_.is_padded()) memory().clear(bias_);
    fill({bias_.at(0), g.precision.c, uint64_t(g.m), 1, 1, uint64_t(g.m)}, Gemm::kStreamC);
  }

  void make_initial_c() {
    if (layout_.is_padded()) memory().clear(c_);
    fill(c_matrix(c(0)), Gemm::kStreamC);
    memory().replicate(c_);
    if (layout_.in_place) memory().copy(initial_c_.data(), c_.at(0), c_.bytes());
  }

  // Products of 8-bit integers are exact for all values and need no small integers.
  void fill(const Matrix& matrix, uint32_t operand) const {
    const bool integers = inputs_ == Inputs::kIntegers;
    if (integers && !layout_.problem.is_int8())
      memory().fill_integers(matrix, layout_.problem.integers(operand), seed_, operand);
    else
      memory().fill(matrix, integers ? Inputs::kUniform : inputs_, seed_, operand);
  }

  void transpose(const Input& input, const Copies& from, const Copies& to, uint64_t copy) const {
    memory().transpose(input.plain(from.at(copy)), input.stored(to.at(copy)));
  }

  // Converts the constant operands into copy 0, which the caller then replicates, and sets the
  // times of one conversion, which are measured once per process and shape.
  void convert_beforehand(const Copies& plain_a, const Copies& plain_b) {
    if (plain_a.count() == 0 && plain_b.count() == 0) return;
    const auto convert_all = [&](uint64_t) {
      if (plain_a.count()) transpose(input_a(), plain_a, a_, 0);
      if (plain_b.count()) transpose(input_b(), plain_b, b_, 0);
    };
    convert_all(0);
    // The times are the same for every kernel of these dimensions and are measured once in a
    // process.
    static MemoCache<std::array<int64_t, 7>, std::vector<double>> known;
    const Gemm& run = layout_.executed;
    const std::array<int64_t, 7> key = {memory().device(),
                                        run.m,
                                        run.n,
                                        run.k,
                                        int64_t(run.precision.precision),
                                        int64_t(plain_a.count()),
                                        int64_t(plain_b.count())};
    conversion_times_ = known.get(key, [&] { return memory().time_calls(convert_all); });
  }

  void describe_padding(Sink& sink) const {
    if (layout_.executed.m != layout_.problem.m) sink.integer("padded.m", layout_.executed.m);
    if (layout_.executed.n != layout_.problem.n) sink.integer("padded.n", layout_.executed.n);
    if (layout_.executed.k != layout_.problem.k) sink.integer("padded.k", layout_.executed.k);
    if (!layout_.padding_rule.empty()) sink.text("padding_rule", layout_.padding_rule);
  }

  void describe_conversion(Sink& sink) const {
    if (const std::string beforehand = layout_.operands_converted(Conversion::kBeforehand);
        !beforehand.empty())
      plugin::describe_conversion(beforehand, conversion_times_, sink);
    if (const std::string in_call = layout_.operands_converted(Conversion::kInCall);
        !in_call.empty())
      sink.text("note.conversion",
                "every call first transposes " + in_call +
                    ", which is included in its time: the operand is not constant "
                    "in its application, and the library computes the product "
                    "with the transposed operand");
  }

  const GemmLayout layout_;
  Inputs inputs_;
  uint64_t seed_, count_;
  Copies a_, b_, c_, d_, bias_, scale_a_, scale_b_;
  Copies plain_a_, plain_b_;           // Conversion::kInCall: the sources that every call converts
  typename Memory::Buffer initial_c_;  // C in place: the values that restore() writes
  // Times of one conversion of all operands that are converted beforehand.
  std::vector<double> conversion_times_;
};

}  // namespace deepbench::plugin
