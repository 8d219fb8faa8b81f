// Routes each request for U's gradient to the cheapest computation.
#include "ops/rnn/reference_operands.hpp"

#include <algorithm>
#include <vector>

namespace deepbench::cpu {
namespace {

void add_weighted(const float* values, uint64_t first, uint64_t count, uint64_t rows, uint64_t seed,
                  double* sums) {
  for (uint64_t i = 0; i < count; ++i)
    sums[(first + i) % rows] += double(values[i]) * deepbench_weight(seed, (first + i) / rows);
}

}  // namespace

void ReferenceOperands::poison_outputs() {
  deferred_ = nullptr;
  LayerOperands::poison_outputs();
}

void ReferenceOperands::complete_weight_gradient(uint64_t copy) const {
  if (!deferred_) return;
  deferred_->complete(static_cast<float*>(at(LayerPart::kDu, copy)));
  deferred_ = nullptr;
}

deepbench_scan ReferenceOperands::scan_output(uint64_t copy) const {
  complete_weight_gradient(copy);
  return LayerOperands::scan_output(copy);
}

void ReferenceOperands::project_output(uint64_t copy, uint64_t rows, uint64_t seed,
                                       double* sums) const {
  const uint64_t dx = storage().elements(LayerPart::kDx), dh0 = storage().elements(LayerPart::kDh0);
  if (!deferred_ || !WeightGradient::can_project(rnn(), rows) || (dx + dh0) % rows != 0) {
    complete_weight_gradient(copy);
    return LayerOperands::project_output(copy, rows, seed, sums);
  }
  std::fill_n(sums, rows, 0.0);
  add_weighted(static_cast<const float*>(at(LayerPart::kDx, copy)), 0, dx, rows, seed, sums);
  add_weighted(static_cast<const float*>(at(LayerPart::kDh0, copy)), dx, dh0, rows, seed, sums);
  deferred_->add_projection(rows, seed, (dx + dh0) / rows, sums);
}

void ReferenceOperands::read_output(uint64_t copy, const uint64_t* indices, size_t count,
                                    double* values) const {
  if (deferred_ && read_deferred(copy, indices, count, values)) return;
  LayerOperands::read_output(copy, indices, count, values);
}

// Handles requests whose elements are all inside U's gradient; returns false for others, after
// completing the gradient if some elements are inside.
bool ReferenceOperands::read_deferred(uint64_t copy, const uint64_t* indices, size_t count,
                                      double* values) const {
  const uint64_t first = storage().elements(LayerPart::kDx) + storage().elements(LayerPart::kDh0);
  const auto outputs = uint64_t(rnn().outputs());
  std::vector<uint64_t> inside;
  for (size_t i = 0; i < count; ++i)
    if (indices[i] >= first && indices[i] < outputs) inside.push_back(indices[i] - first);
  if (inside.empty()) return false;
  if (inside.size() == count && deferred_->read(inside.data(), count, values)) return true;
  complete_weight_gradient(copy);
  return false;
}

}  // namespace deepbench::cpu
