// The baseline for sparse products: Eigen in a bare loop, without any code of deepbench. The
// operation is the CPU backend's default: C += A B in place, with A in CSR. Bound OpenMP threads
// share the rows of A by equal numbers of nonzeros. The compiler options are the same.
//   bare_eigen m=7680 n=1500 k=2560 sparsity=0.95 [order=col|row] [seconds=2]
#define EIGEN_DONT_PARALLELIZE
#include <omp.h>

#include <Eigen/SparseCore>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bare_loop.hpp"

namespace {

using Sparse = Eigen::Map<const Eigen::SparseMatrix<float, Eigen::RowMajor, int>>;
template <int kOrder>
using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, kOrder>;

struct Problem {
  int64_t m = 0, n = 0, k = 0;
  double sparsity = -1, seconds = 2;
  bool by_rows = false;
};

Problem parse_problem(int count, char** words) {
  bare::Values values = bare::parse_values(count, words);
  Problem problem;
  problem.m = std::atoll(values["m"].c_str());
  problem.n = std::atoll(values["n"].c_str());
  problem.k = std::atoll(values["k"].c_str());
  if (values.count("sparsity")) problem.sparsity = std::atof(values["sparsity"].c_str());
  if (values.count("seconds")) problem.seconds = std::atof(values["seconds"].c_str());
  problem.by_rows = values["order"] == "row" && problem.n > 1;
  if (problem.m <= 0 || problem.n <= 0 || problem.k <= 0 || problem.sparsity < 0 ||
      problem.sparsity >= 1) {
    std::fprintf(stderr, "usage: bare_eigen m=M n=N k=K sparsity=S [order=row] [seconds=2]\n");
    std::exit(2);
  }
  return problem;
}

uint64_t next_random(uint64_t& seed) {
  return seed = seed * 6364136223846793005u + 1442695040888963407u;
}
float random_number(uint64_t& seed) { return float(int32_t(next_random(seed) >> 32)) * 0x1p-31f; }

template <class T>
T* allocate_array(size_t elements) {
  return static_cast<T*>(bare::allocate_large_pages(elements * sizeof(T)));
}

float* random_matrix(size_t elements, uint64_t seed) {
  float* const data = allocate_array<float>(elements);
  for (size_t i = 0; i < elements; ++i) data[i] = random_number(seed);
  return data;
}

class SparseProduct {
 public:
  explicit SparseProduct(const Problem& problem) : p_(problem) {
    make_a();
    b_ = random_matrix(size_t(p_.k * p_.n), 2);
    c_ = random_matrix(size_t(p_.m * p_.n), 3);
    for (int part = 0, parts = omp_get_max_threads(); part <= parts; ++part)
      begins_.push_back(
          std::lower_bound(offsets_, offsets_ + p_.m, int64_t(offsets_[p_.m]) * part / parts) -
          offsets_);
    begins_.back() = p_.m;
  }

  double flops() const { return 2.0 * double(offsets_[p_.m]) * double(p_.n); }

  void call() const {
#pragma omp parallel
    {
      const auto part = size_t(omp_get_thread_num());
      if (p_.by_rows)
        multiply<Eigen::RowMajor>(begins_[part], begins_[part + 1]);
      else
        multiply<Eigen::ColMajor>(begins_[part], begins_[part + 1]);
    }
  }

 private:
  void make_a() {
    std::vector<int> indices;
    std::vector<float> values;
    uint64_t seed = 1;
    offsets_ = allocate_array<int>(size_t(p_.m) + 1);
    for (int64_t i = 0; i < p_.m; ++i) {
      offsets_[i] = int(indices.size());
      for (int64_t l = 0; l < p_.k; ++l) {
        if (double(next_random(seed) >> 32) < p_.sparsity * 0x1p32) continue;
        indices.push_back(int(l));
        values.push_back(random_number(seed));
      }
    }
    offsets_[p_.m] = int(indices.size());
    indices_ = allocate_array<int>(indices.size() + 1);
    values_ = allocate_array<float>(values.size() + 1);
    std::copy(indices.begin(), indices.end(), indices_);
    std::copy(values.begin(), values.end(), values_);
  }

  template <int kOrder>
  void multiply(int64_t row, int64_t end) const {
    const Sparse a(end - row, p_.k, offsets_[p_.m], offsets_ + row, indices_, values_);
    const Eigen::Map<const Dense<kOrder>> b(b_, p_.k, p_.n);
    const bool by_rows = kOrder == Eigen::RowMajor;
    Eigen::Map<Dense<kOrder>, 0, Eigen::OuterStride<>> c(
        c_ + row * (by_rows ? p_.n : 1), end - row, p_.n,
        Eigen::OuterStride<>(by_rows ? p_.n : p_.m));
    c.noalias() += a * b;
  }

  const Problem p_;
  int* offsets_ = nullptr;
  int* indices_ = nullptr;
  float* values_ = nullptr;
  float* b_ = nullptr;
  float* c_ = nullptr;
  std::vector<int64_t> begins_;
};

}  // namespace

int main(int count, char** words) {
  const Problem problem = parse_problem(count, words);
  bare::bind_threads(words);
  const SparseProduct product(problem);
  bare::measure([&] { product.call(); }, problem.seconds, product.flops(),
                "threads=" + std::to_string(omp_get_max_threads()));
  return 0;
}
