// Fills operands with the summands of fill.h; all other functions apply the general ones rank by
// rank.
#include "ops/all_reduce/operands.hpp"

#include <algorithm>
#include <numeric>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "kernels/jit.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kFillThreads = 256, kFillBlocksPerMultiprocessor = 8;
constexpr uint64_t kReadAtOnce = 1 << 20;

uint64_t payload(const AllReduce& all_reduce) {
  return saturating_multiply(uint64_t(all_reduce.elements),
                             uint64_t(size_of(all_reduce.precision.c)));
}

void fill_summands(void* data, const AllReduce& all_reduce, int rank, int ranks, uint64_t seed,
                   const Stream& stream) {
  LaunchShape shape;
  shape.block_x = kFillThreads;
  const auto multiprocessors = uint32_t(device_facts(stream.device()).multiprocessors);
  const uint64_t needed_blocks = (uint64_t(all_reduce.elements) + kFillThreads - 1) / kFillThreads;
  shape.grid_x =
      uint32_t(std::min<uint64_t>(needed_blocks, multiprocessors * kFillBlocksPerMultiprocessor));
  function("summand", "fill_summands", stream)
      .launch(shape, stream.get(), data, int32_t(all_reduce.precision.c),
              uint64_t(all_reduce.elements), seed, uint32_t(rank), uint32_t(ranks));
}

}  // namespace

// ---- operands of one rank ----------------------------------------------------------------------

RankOperands::RankOperands(const AllReduce& all_reduce, int rank, int ranks,
                           const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed,
                           Stream& stream)
    : type_(all_reduce.precision.c),
      elements_(uint64_t(all_reduce.elements)),
      in_place_(all_reduce.in_place),
      stream_(stream) {
  stream_.make_current();
  input_ = Copies(payload(all_reduce), plan.copies, AllocationKind::kDedicated);
  if (inputs == Inputs::kUniform)
    fill_summands(input_.at(0), all_reduce, rank, ranks, seed, stream_);
  else
    fill(array(input_.at(0)), inputs, seed, 0, stream_);
  input_.replicate(stream_);
  if (in_place_) {
    initial_ = Buffer(payload(all_reduce));
    CUDA_CHECK(cudart().cudaMemcpyAsync(initial_.data(), input_.at(0), initial_.bytes(),
                                        nvidia::cudaMemcpyDeviceToDevice, stream_.get()));
  } else {
    result_ = Copies(payload(all_reduce), plan.copies, AllocationKind::kDedicated);
    poison();
  }
  stream_.synchronize();
}

void RankOperands::restore() const {
  if (!in_place_) return;
  stream_.make_current();
  for (uint64_t copy = 0; copy < input_.count(); ++copy)
    CUDA_CHECK(cudart().cudaMemcpyAsync(input_.at(copy), initial_.data(), initial_.bytes(),
                                        nvidia::cudaMemcpyDeviceToDevice, stream_.get()));
}

void RankOperands::poison() const {
  if (in_place_) return restore();
  stream_.make_current();
  for (uint64_t copy = 0; copy < result_.count(); ++copy)
    cuda::poison(array(result_.at(copy)), stream_);
}

deepbench_scan RankOperands::scan(uint64_t copy) const {
  stream_.make_current();
  return cuda::scan(array(result(copy)), in_place_ ? initial_.data() : nullptr, stream_);
}

void RankOperands::project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
  stream_.make_current();
  cuda::project(array(result(copy)), rows, seed, sums, stream_);
}

void RankOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                        double* values) const {
  stream_.make_current();
  cuda::read(array(result(copy)), indices, count, values, stream_);
}

// ---- operands of all ranks of this process ------------------------------------------------------

uint64_t AllReduceOperands::touched_bytes(const AllReduce& all_reduce) {
  return saturating_multiply(payload(all_reduce), all_reduce.in_place ? 1 : 2);
}

uint64_t AllReduceOperands::needed_bytes(const AllReduce& all_reduce,
                                         const plugin::CopyPlan& plan) {
  const uint64_t one = Copies::needed(payload(all_reduce), plan.copies);
  return saturating_add(saturating_add(one, all_reduce.in_place ? payload(all_reduce) : one),
                        plan.flush_bytes);
}

AllReduceOperands::AllReduceOperands(const AllReduce& all_reduce, const Participants& participants,
                                     const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed)
    : problem_(all_reduce), participants_(participants) {
  int rank = participants.first_rank;
  for (const int device : participants.devices)
    all_.push_back(std::make_unique<RankOperands>(all_reduce, rank++, participants.ranks, plan,
                                                  inputs, seed, Stream::of(device)));
  all_.front()->stream().make_current();
}

void AllReduceOperands::describe(plugin::Sink& sink) const {
  sink.integer("ranks", participants_.ranks);
  if (participants_.local() > 1) sink.integer("local_ranks", participants_.local());
  if (!problem_.in_place) return;
  sink.integer("in_place", 1);
  sink.integer("restore_every", sums_before_overflow(problem_.precision.c, participants_.ranks));
}

// The ranks of a process have separate streams. All operands must be restored before a rank whose
// stream is ahead adds to them.
void AllReduceOperands::restore() {
  for (const auto& one : all_) one->restore();
  for (const auto& one : all_) one->stream().synchronize();
}

void AllReduceOperands::poison() {
  for (const auto& one : all_) one->poison();
  for (const auto& one : all_) one->stream().synchronize();
}

deepbench_scan AllReduceOperands::scan(uint64_t copy) const {
  deepbench_scan total = {sizeof total, 0, 0, 0};
  for (const auto& one : all_) {
    const deepbench_scan scan = one->scan(copy);
    total.count += scan.count;
    total.untouched += scan.untouched;
    total.non_finite += scan.non_finite;
  }
  return total;
}

// If there are several ranks, a row of the projection combines outputs on several devices, so the
// host computes it.
void AllReduceOperands::project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
  if (all_.size() == 1) return all_.front()->project(copy, rows, seed, sums);
  const uint64_t outputs = elements() * all_.size();
  std::fill(sums, sums + rows, 0.0);
  std::vector<uint64_t> indices;
  std::vector<double> values;
  for (uint64_t first = 0; first < outputs; first += indices.size()) {
    indices.resize(std::min(kReadAtOnce, outputs - first));
    values.resize(indices.size());
    std::iota(indices.begin(), indices.end(), first);
    read(copy, indices.data(), indices.size(), values.data());
    for (size_t i = 0; i < values.size(); ++i)
      sums[indices[i] % rows] += values[i] * deepbench_weight(seed, indices[i] / rows);
  }
}

// Reads runs of indices that belong to the same rank.
void AllReduceOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                             double* values) const {
  std::vector<uint64_t> local_indices;
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    const uint64_t rank = indices[begin] / elements();
    if (rank >= all_.size())
      plugin::invalid("read_output: element " + std::to_string(indices[begin]) + " of " +
                      std::to_string(elements() * all_.size()));
    local_indices.clear();
    for (end = begin; end < count && indices[end] / elements() == rank; ++end)
      local_indices.push_back(indices[end] - rank * elements());
    all_[rank]->read(copy, local_indices.data(), local_indices.size(), values + begin);
  }
}

}  // namespace deepbench::cuda
