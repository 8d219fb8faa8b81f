// The operands of a matrix product: their storage, their initial values and the result for
// verification.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "copies.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "host_memory.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

enum class Output {
  kInPlace,   // The result replaces C.
  kSeparate,  // C is unchanged and D is the result.
  kOverwrite  // beta = 0: there is no C and D is the result.
};

struct GemmStorage {
  Gemm gemm;
  deepbench_type a_type = DEEPBENCH_F32;  // S7 if the full range would saturate.
  Output output = Output::kInPlace;
  bool float_c = false;         // kInPlace: C holds the precision's values and the result in float.
  uint64_t packed_a_bytes = 0;  // If not 0, A is stored in the library's layout with this size.

  deepbench_type c_type() const { return float_c ? DEEPBENCH_F32 : gemm.precision.c; }
  uint64_t plain_a_bytes() const;
  uint64_t a_bytes() const { return packed_a_bytes ? packed_a_bytes : plain_a_bytes(); }
  uint64_t b_bytes() const;
  uint64_t c_bytes() const;        // The bytes of C, and also of D, which has the same type.
  uint64_t bias_bytes() const;     // 0 without an epilogue
  uint64_t touched_bytes() const;  // The bytes that one call reads and writes.
  // kInPlace only: the number of products that can be added to C before a sum might leave C's
  // range.
  int64_t calls_before_overflow(Inputs inputs) const;
  // The bytes that prepare() allocates, without the library's workspace.
  uint64_t needed_bytes(const CopyPlan& plan) const;

 private:
  uint64_t batch_bytes(int64_t rows, int64_t columns, deepbench_type type) const;
};

class GemmOperands final : public ArrayOperands {
 public:
  GemmOperands(const GemmStorage& storage, const CopyPlan& plan, Inputs inputs, uint64_t seed);

  const GemmStorage& storage() const { return storage_; }
  int64_t calls_before_overflow() const { return storage_.calls_before_overflow(inputs_); }
  const Gemm& gemm() const { return storage_.gemm; }
  uint64_t copies() const { return copies_; }

  // No library writes to A, B or a separate C, so that kernels share single copies unless they
  // refill them.
  void* a(uint64_t copy) const { return shared_a_ ? shared_a_->data() : a_.at(copy); }
  void* b(uint64_t copy) const { return shared_b_ ? shared_b_->data() : b_.at(copy); }
  // The result: C itself with kInPlace, and D otherwise. With kOverwrite there is no C.
  void* c(uint64_t copy) const { return shared_c_ ? shared_c_->data() : c_.at(copy); }
  void* d(uint64_t copy) const;
  // Only with an epilogue; all copies share the bias.
  void* bias() const { return bias_.data(); }

  // Only with packed_a_bytes: A in the problem's layout, for packing into a(0).
  std::shared_ptr<const Buffer> plain_a() const;
  void replicate_a() { a_.replicate(); }

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  // Problems that need exact sums own their operands, and only they can be refilled.
  void refill(const std::string& inputs, uint64_t seed) override;
  void poison_outputs() override;

 protected:
  HostMemory::Array output(uint64_t copy) const override;
  const void* restored() const override;

 private:
  bool shares_inputs() const { return copies_ == 1 && !gemm().needs_exact_sums(); }
  void make_inputs();
  void make_input(deepbench_type type, uint64_t elements, uint32_t stream, Copies& copies,
                  std::shared_ptr<const Buffer>& shared) const;
  void fill_input(void* data, deepbench_type type, uint64_t elements, uint32_t stream) const;
  std::shared_ptr<const Buffer> generated_operand(deepbench_type type, uint64_t elements,
                                                  uint32_t stream) const;
  std::shared_ptr<const Buffer> initial_c();
  uint64_t batch_of(int64_t rows, int64_t columns) const {
    return uint64_t(rows) * uint64_t(columns) * uint64_t(gemm().batch);
  }
  uint64_t elements_a() const { return batch_of(gemm().m, gemm().k); }
  uint64_t elements_b() const { return batch_of(gemm().k, gemm().n); }
  uint64_t outputs() const { return batch_of(gemm().m, gemm().n); }

  GemmStorage storage_;
  Inputs inputs_;
  uint64_t seed_, copies_;
  // Null if the kernel owns its copies.
  std::shared_ptr<const Buffer> shared_a_, shared_b_, shared_c_;
  Copies a_, b_, c_, d_;
  Buffer bias_;
  std::shared_ptr<const Buffer> initial_c_;  // kInPlace: the values that restore() writes.
  std::shared_ptr<Buffer> own_initial_c_;    // the same, if no other kernel may share it
};

}  // namespace deepbench::cpu
