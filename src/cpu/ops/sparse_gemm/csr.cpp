// Builds CSR matrices on all cores. Each element's hash is evaluated once: every worker stores the
// indices that it finds until the number of non-zeros of all workers is known.
#include "ops/sparse_gemm/csr.hpp"

#include <algorithm>
#include <limits>

#include "deepbench/backend/vector_clones.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kRowsTogether = 16;  // The unit of a worker's share of rows.
constexpr int64_t kMaxNonzeros = std::numeric_limits<int32_t>::max();

// Computes words[i] = the upper half of deepbench_bits(seed, kStreamPattern, first + i * stride).
DEEPBENCH_VECTOR_CLONES void hash_words(uint64_t seed, uint64_t first, uint64_t stride,
                                        uint64_t count, uint32_t* words) {
  for (uint64_t i = 0; i < count; ++i)
    words[i] = static_cast<uint32_t>(
        deepbench_bits(seed, SparseGemm::kStreamPattern, first + i * stride) >> 32);
}

class CsrBuilder {
 public:
  CsrBuilder(const SparseGemm& gemm, uint64_t seed)
      : rows_(uint64_t(gemm.rows_a())),
        columns_(uint64_t(gemm.columns_a())),
        least_(gemm.nonzero_threshold()),
        seed_(seed),
        counts_(rows_),
        found_(host_workers().size()) {
    for_each_row([this](uint64_t row, size_t worker) { find_nonzeros(row, found_[worker]); });
  }

  int64_t nnz() const {
    int64_t total = 0;
    for (const auto& found : found_) total += int64_t(found.size());
    return total;
  }

  void write_offsets(int32_t* offsets) const {
    offsets[0] = 0;
    for (size_t row = 0; row < counts_.size(); ++row)
      offsets[row + 1] = offsets[row] + counts_[row];
  }

  // Each worker handles consecutive rows, so that its indices are contiguous.
  void write_elements(const int32_t* offsets, Inputs inputs, int32_t* indices, float* values) {
    std::vector<size_t> taken(found_.size());
    for_each_row([&](uint64_t row, size_t worker) {
      const int32_t* const from = found_[worker].data() + taken[worker];
      taken[worker] += size_t(counts_[row]);
      std::copy(from, from + counts_[row], indices + offsets[row]);
      for (int32_t i = 0; i < counts_[row]; ++i)
        values[offsets[row] + i] = value(row, uint64_t(from[i]), inputs);
    });
  }

 private:
  template <class Body>
  void for_each_row(Body body) {
    host_workers().parallel_for(rows_, kRowsTogether,
                                [&](uint64_t begin, uint64_t end, size_t worker) {
                                  for (uint64_t row = begin; row < end; ++row) body(row, worker);
                                });
  }

  void find_nonzeros(uint64_t row, std::vector<int32_t>& found) {
    constexpr uint64_t kBlock = 1024;
    uint32_t words[kBlock];
    int32_t chosen[kBlock];
    const size_t before = found.size();
    for (uint64_t begin = 0; begin < columns_; begin += kBlock) {
      const uint64_t count = std::min(kBlock, columns_ - begin);
      // The element numbers of a dense A run by columns.
      hash_words(seed_, row + begin * rows_, rows_, count, words);
      size_t taken = 0;
      // Without a branch, because random branches are mispredicted.
      for (uint64_t i = 0; i < count; ++i) {
        chosen[taken] = int32_t(begin + i);
        taken += words[i] >= least_;
      }
      found.insert(found.end(), chosen, chosen + taken);
    }
    counts_[row] = int32_t(found.size() - before);
  }

  float value(uint64_t row, uint64_t column, Inputs inputs) const {
    if (inputs != Inputs::kUniform) return inputs == Inputs::kOnes ? 1.0f : 0.0f;
    return deepbench_uniform(seed_, SparseGemm::kStreamA, row + column * rows_);
  }

  uint64_t rows_, columns_;
  uint32_t least_;
  uint64_t seed_;
  std::vector<int32_t> counts_;
  std::vector<std::vector<int32_t>> found_;  // One list per worker.
};

}  // namespace

CsrCopies::CsrCopies(const SparseGemm& gemm, uint64_t copies, Inputs inputs, uint64_t seed)
    : rows_(gemm.rows_a()), columns_(gemm.columns_a()) {
  CsrBuilder maker(gemm, seed);
  nnz_ = maker.nnz();
  if (nnz_ > kMaxNonzeros)
    plugin::unsupported("A has " + std::to_string(nnz_) +
                        " non-zeros, which exceeds the range of 32-bit offsets");
  // At least one element, because libraries require a valid pointer.
  const auto elements = std::max<uint64_t>(1, uint64_t(nnz_));
  offsets_ = Copies(uint64_t(rows_ + 1) * sizeof(int32_t), copies);
  indices_ = Copies(elements * sizeof(int32_t), copies);
  values_ = Copies(elements * sizeof(float), copies);
  auto* const offsets = reinterpret_cast<int32_t*>(offsets_.at(0));
  maker.write_offsets(offsets);
  maker.write_elements(offsets, inputs, reinterpret_cast<int32_t*>(indices_.at(0)),
                       reinterpret_cast<float*>(values_.at(0)));
  offsets_.replicate(), indices_.replicate(), values_.replicate();
}

Csr CsrCopies::at(uint64_t copy) const {
  return {rows_, columns_, reinterpret_cast<const int32_t*>(offsets_.at(copy)),
          reinterpret_cast<const int32_t*>(indices_.at(copy)),
          reinterpret_cast<const float*>(values_.at(copy))};
}

uint64_t CsrCopies::bytes(const SparseGemm& gemm, double nnz) {
  return uint64_t(nnz * (sizeof(int32_t) + sizeof(float))) +
         uint64_t(gemm.rows_a() + 1) * sizeof(int32_t);
}

int64_t first_row_of_part(const Csr& csr, size_t part, size_t parts) {
  if (part == parts) return csr.rows;
  // Every row has a fixed cost: its output is read and written.
  const auto cost = [&](int64_t row) { return double(csr.offsets[row]) + 8.0 * double(row); };
  const double share = cost(csr.rows) * double(part) / double(parts);
  int64_t first = 0, last = csr.rows;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (cost(middle) < share)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

}  // namespace deepbench::cpu
