// Counts nonzeros, sums the counts on the host, and writes the nonzeros.
#include "ops/sparse_gemm/csr.hpp"

#include <algorithm>
#include <limits>

#include "deepbench/plugin.hpp"
#include "kernels/jit.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kMaxNonzeros = uint64_t(std::numeric_limits<int32_t>::max());
constexpr uint64_t kMaxBlocks = 1 << 20;

NonzeroRule nonzero_rule(const SparseGemm& gemm, uint64_t seed) {
  return {seed, SparseGemm::kStreamPattern, gemm.nonzero_threshold()};
}

LaunchShape launch_shape_of_lines(const Lines& lines) {
  LaunchShape shape;
  shape.block_x = OPERAND_THREADS;
  shape.grid_x = uint32_t(std::min(lines.count, kMaxBlocks));
  return shape;
}

// Returns the number of nonzeros of each line.
std::vector<uint32_t> count_nonzeros(const Lines& lines, const NonzeroRule& rule,
                                     const Stream& stream) {
  const Buffer counts(lines.count * sizeof(uint32_t));
  function("csr", "count_nonzeros", stream)
      .launch(launch_shape_of_lines(lines), stream.get(), lines, rule,
              reinterpret_cast<uint32_t*>(counts.data()));
  std::vector<uint32_t> found(lines.count);
  CUDA_CHECK(cudart().cudaMemcpyAsync(found.data(), counts.data(), counts.bytes(),
                                      nvidia::cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return found;
}

}  // namespace

Lines rows_of_a(const SparseGemm& gemm) {
  return {uint64_t(gemm.rows_a()), uint64_t(gemm.columns_a()), 1, uint64_t(gemm.rows_a())};
}
Lines columns_of_a(const SparseGemm& gemm) {
  return {uint64_t(gemm.columns_a()), uint64_t(gemm.rows_a()), uint64_t(gemm.rows_a()), 1};
}

std::vector<int32_t> csr_offsets(const std::vector<uint32_t>& counts) {
  std::vector<int32_t> offsets(counts.size() + 1);
  uint64_t total = 0;
  for (size_t row = 0; row < counts.size(); ++row) {
    total += counts[row];
    offsets[row + 1] = int32_t(std::min(total, kMaxNonzeros));
  }
  if (total > kMaxNonzeros)
    plugin::unsupported("A has " + std::to_string(total) +
                        " nonzeros, which is more than 32-bit offsets can count");
  return offsets;
}

CsrCopies::CsrCopies(const SparseGemm& gemm, uint64_t copies, Inputs inputs, uint64_t seed,
                     const Stream& stream)
    : rows_(gemm.rows_a()), columns_(gemm.columns_a()) {
  const NonzeroRule rule = nonzero_rule(gemm, seed);
  const Lines rows = rows_of_a(gemm);
  const std::vector<uint32_t> counts = count_nonzeros(rows, rule, stream);
  const std::vector<int32_t> offsets = csr_offsets(counts);
  nonzeros_ = offsets.back();
  const auto& of_op_a = gemm.trans_a ? count_nonzeros(columns_of_a(gemm), rule, stream) : counts;
  empty_rows_ = std::count(of_op_a.begin(), of_op_a.end(), 0u);

  // Libraries require a pointer even for an empty matrix.
  const auto elements = std::max<uint64_t>(1, uint64_t(nonzeros_));
  offsets_ = Copies(offsets.size() * sizeof(int32_t), copies);
  indices_ = Copies(elements * sizeof(int32_t), copies);
  values_ = Copies(elements * uint64_t(size_of(gemm.precision.a)), copies);
  CUDA_CHECK(cudart().cudaMemcpyAsync(offsets_.at(0), offsets.data(), offsets_.bytes(),
                                      nvidia::cudaMemcpyHostToDevice, stream.get()));
  const Csr first = at(0);
  function("csr", "write_nonzeros", stream)
      .launch(launch_shape_of_lines(rows), stream.get(), rows, rule,
              static_cast<const int32_t*>(first.offsets), int32_t(gemm.precision.a),
              SparseGemm::kStreamA, static_cast<int32_t*>(first.indices), first.values);
  if (inputs != Inputs::kUniform)
    fill({first.values, gemm.precision.a, elements, 1, 1, elements}, inputs, seed,
         SparseGemm::kStreamA, stream);
  for (const Copies* part : {&offsets_, &indices_, &values_}) part->replicate(stream);
  stream.synchronize();  // `offsets` in host memory must outlive its copy
}

Csr CsrCopies::at(uint64_t copy) const {
  return {rows_, columns_, nonzeros_, offsets_.at(copy), indices_.at(copy), values_.at(copy)};
}

}  // namespace deepbench::cuda
