// Allocates, fills and checks a matrix product's operands.
#include "ops/gemm/operands.hpp"

#include <cstring>
#include <string>

#include "deepbench/backend/matrix.hpp"
#include "deepbench/plugin.hpp"
#include "operand_cache.hpp"

namespace deepbench::cpu {

using plugin::matrix_bytes;

uint64_t GemmStorage::batch_bytes(int64_t rows, int64_t columns, deepbench_type type) const {
  return saturating_multiply(matrix_bytes(rows, columns, type), uint64_t(gemm.batch));
}
uint64_t GemmStorage::plain_a_bytes() const { return batch_bytes(gemm.m, gemm.k, a_type); }
uint64_t GemmStorage::b_bytes() const { return batch_bytes(gemm.k, gemm.n, gemm.b_type); }
uint64_t GemmStorage::c_bytes() const { return batch_bytes(gemm.m, gemm.n, c_type()); }

uint64_t GemmStorage::bias_bytes() const {
  return gemm.has_epilogue() ? matrix_bytes(gemm.m, 1, c_type()) : 0;
}

uint64_t GemmStorage::touched_bytes() const {
  const uint64_t inputs = saturating_add(a_bytes(), b_bytes());
  return saturating_add(inputs,
                        saturating_multiply(c_bytes(), output == Output::kSeparate ? 2 : 1));
}

uint64_t GemmStorage::needed_bytes(const CopyPlan& plan) const {
  uint64_t bytes = Copies::needed_bytes(a_bytes(), plan.copies);
  bytes = saturating_add(bytes, Copies::needed_bytes(b_bytes(), plan.copies));
  bytes = saturating_add(bytes, Copies::needed_bytes(c_bytes(), plan.copies));  // C, or the only D.
  if (output == Output::kSeparate)
    bytes = saturating_add(bytes, Copies::needed_bytes(c_bytes(), plan.copies));
  if (output == Output::kInPlace) bytes = saturating_add(bytes, c_bytes());
  if (packed_a_bytes) bytes = saturating_add(bytes, plain_a_bytes());
  bytes = saturating_add(bytes, bias_bytes());
  return saturating_add(bytes, plan.flush_bytes);
}

int64_t GemmStorage::calls_before_overflow(Inputs inputs) const {
  if (float_c) return kManyCalls;
  return deepbench::calls_before_overflow(gemm, inputs == Inputs::kUniform);
}

GemmOperands::GemmOperands(const GemmStorage& storage, const CopyPlan& plan, Inputs inputs,
                           uint64_t seed)
    : storage_(storage), inputs_(inputs), seed_(seed), copies_(plan.copies) {
  if (storage.packed_a_bytes) a_ = Copies(storage.packed_a_bytes, copies_);
  if (storage.output == Output::kInPlace)
    c_ = Copies(storage.c_bytes(), copies_);
  else
    d_ = Copies(storage.c_bytes(), copies_);
  if (gemm().has_epilogue()) bias_ = Buffer(storage.bias_bytes());
  make_inputs();
  if (storage.output != Output::kInPlace) poison_outputs();
}

// During a refill the copies stay allocated, because calls hold their addresses.
void GemmOperands::make_inputs() {
  if (!storage_.packed_a_bytes)
    make_input(storage_.a_type, elements_a(), Gemm::kStreamA, a_, shared_a_);
  make_input(gemm().b_type, elements_b(), Gemm::kStreamB, b_, shared_b_);
  if (storage_.output == Output::kSeparate)
    make_input(gemm().precision.c, outputs(), Gemm::kStreamC, c_, shared_c_);
  if (gemm().has_epilogue())
    fill_input(bias_.data(), gemm().precision.c, uint64_t(gemm().m), Gemm::kStreamC);
  if (storage_.output == Output::kInPlace) {
    initial_c_ = initial_c();
    restore();
  }
}

void GemmOperands::make_input(deepbench_type type, uint64_t elements, uint32_t stream,
                              Copies& copies, std::shared_ptr<const Buffer>& shared) const {
  if (shares_inputs()) {
    shared = generated_operand(type, elements, stream);
    return;
  }
  if (copies.count() == 0) copies = Copies(elements * uint64_t(size_of(type)), copies_);
  fill_input(copies.at(0), type, elements, stream);
  copies.replicate();
}

void GemmOperands::fill_input(void* data, deepbench_type type, uint64_t elements,
                              uint32_t stream) const {
  if (inputs_ == Inputs::kIntegers && !gemm().is_int8())
    fill_integers(data, type, elements, gemm().integers(stream), seed_, stream);
  else
    fill(data, type, elements, inputs_, seed_, stream);
}

std::shared_ptr<const Buffer> GemmOperands::generated_operand(deepbench_type type,
                                                              uint64_t elements,
                                                              uint32_t stream) const {
  if (!gemm().needs_exact_sums())
    return OperandCache::instance().get(type, elements, inputs_, seed_, stream);
  auto made = std::make_shared<Buffer>(elements * uint64_t(size_of(type)));
  fill_input(made->data(), type, elements, stream);
  return made;
}

// The operand cache stores values in their type; it has no float copy of another type's values.
std::shared_ptr<const Buffer> GemmOperands::initial_c() {
  const deepbench_type type = gemm().precision.c;
  if (!storage_.float_c && !gemm().needs_exact_sums())
    return generated_operand(type, outputs(), Gemm::kStreamC);
  if (!own_initial_c_) own_initial_c_ = std::make_shared<Buffer>(storage_.c_bytes());
  std::byte* const data = own_initial_c_->data();
  if (storage_.float_c && inputs_ != Inputs::kIntegers)
    fill_floats(reinterpret_cast<float*>(data), type, outputs(), inputs_, seed_, Gemm::kStreamC);
  else
    fill_input(data, storage_.c_type(), outputs(), Gemm::kStreamC);
  return own_initial_c_;
}

void GemmOperands::refill(const std::string& inputs, uint64_t seed) {
  if (!gemm().needs_exact_sums()) plugin::unsupported("kernels share the operands of this problem");
  inputs_ = plugin::parse_refill_inputs(inputs);
  seed_ = seed;
  make_inputs();
}

void* GemmOperands::d(uint64_t copy) const {
  return storage_.output == Output::kInPlace ? c_.at(copy) : d_.at(copy);
}

std::shared_ptr<const Buffer> GemmOperands::plain_a() const {
  return generated_operand(storage_.a_type, elements_a(), Gemm::kStreamA);
}

void GemmOperands::describe(plugin::Sink& sink) const {
  if (storage_.output == Output::kInPlace) {
    sink.integer("in_place", 1);
    sink.integer("restore_every", calls_before_overflow());
  }
  if (storage_.a_type == DEEPBENCH_S7) {
    sink.text("fill.a", "s7");
    sink.text("note.inputs",
              "A holds values in [-64, 63]: without VNNI, products of 8-bit integers pass "
              "through 16-bit sums, which saturate for the full range");
  }
}

void GemmOperands::restore() {
  if (storage_.output == Output::kInPlace) c_.overwrite(initial_c_->data());
}

void GemmOperands::poison_outputs() {
  if (storage_.output == Output::kInPlace) return restore();
  for (uint64_t copy = 0; copy < d_.count(); ++copy)
    cpu::poison(d_.at(copy), storage_.c_type(), outputs());
}

HostMemory::Array GemmOperands::output(uint64_t copy) const {
  return {d(copy), storage_.c_type(), outputs()};
}

const void* GemmOperands::restored() const { return initial_c_ ? initial_c_->data() : nullptr; }

}  // namespace deepbench::cpu
