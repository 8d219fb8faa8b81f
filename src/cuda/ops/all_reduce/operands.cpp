// Filling by the generator's summands; the rest as for any operand, rank after rank.
#include "ops/all_reduce/operands.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "kernels/jit.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kFillThreads = 256, kFillBlocksPerMultiprocessor = 8;
constexpr uint64_t kReadAtOnce = 1 << 20;

uint64_t payload(const AllReduce& sum) {
  return saturating_multiply(uint64_t(sum.elements), uint64_t(size_of(sum.precision.c)));
}

void fill_summands(void* data, const AllReduce& sum, int rank, int ranks, uint64_t seed,
                   const Stream& stream) {
  Shape shape;
  shape.block_x = kFillThreads;
  const auto most = uint32_t(device_facts(stream.device()).multiprocessors);
  const uint64_t wanted = (uint64_t(sum.elements) + kFillThreads - 1) / kFillThreads;
  shape.grid_x = uint32_t(std::min<uint64_t>(wanted, most * kFillBlocksPerMultiprocessor));
  function("summand", "fill_summands", stream)
      .launch(shape, stream.get(), data, int32_t(sum.precision.c), uint64_t(sum.elements), seed,
              uint32_t(rank), uint32_t(ranks));
}

}  // namespace

// ---- one rank's ---------------------------------------------------------------------------------

RankOperands::RankOperands(const AllReduce& sum, int rank, int ranks, const plugin::CopyPlan& plan,
                           Inputs inputs, uint64_t seed, Stream& stream)
    : type_(sum.precision.c),
      elements_(uint64_t(sum.elements)),
      in_place_(sum.in_place),
      stream_(stream) {
  stream_.enter();
  mine_ = Copies(payload(sum), plan.copies, Origin::kOwn);
  if (inputs == Inputs::kUniform)
    fill_summands(mine_.at(0), sum, rank, ranks, seed, stream_);
  else
    fill(array(mine_.at(0)), inputs, seed, 0, stream_);
  mine_.replicate(stream_);
  if (in_place_) {
    first_ = Buffer(payload(sum));
    CUDA_CHECK(cudart().cudaMemcpyAsync(first_.data(), mine_.at(0), first_.bytes(),
                                        nvidia::cudaMemcpyDeviceToDevice, stream_.get()));
  } else {
    result_ = Copies(payload(sum), plan.copies, Origin::kOwn);
    poison();
  }
  stream_.synchronize();
}

void RankOperands::restore() const {
  if (!in_place_) return;
  stream_.enter();
  for (uint64_t copy = 0; copy < mine_.count(); ++copy)
    CUDA_CHECK(cudart().cudaMemcpyAsync(mine_.at(copy), first_.data(), first_.bytes(),
                                        nvidia::cudaMemcpyDeviceToDevice, stream_.get()));
}

void RankOperands::poison() const {
  if (in_place_) return restore();
  stream_.enter();
  for (uint64_t copy = 0; copy < result_.count(); ++copy)
    cuda::poison(array(result_.at(copy)), stream_);
}

deepbench_scan RankOperands::scan(uint64_t copy) const {
  stream_.enter();
  return cuda::scan(array(result(copy)), in_place_ ? first_.data() : nullptr, stream_);
}

void RankOperands::project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const {
  stream_.enter();
  cuda::project(array(result(copy)), rows, seed, sums, stream_);
}

void RankOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                        double* values) const {
  stream_.enter();
  cuda::read(array(result(copy)), indices, count, values, stream_);
}

// ---- all of this process ------------------------------------------------------------------------

uint64_t AllReduceOperands::touched_bytes(const AllReduce& sum) {
  return saturating_multiply(payload(sum), sum.in_place ? 1 : 2);
}

uint64_t AllReduceOperands::needed_bytes(const AllReduce& sum, const plugin::CopyPlan& plan) {
  const uint64_t one = Copies::needed(payload(sum), plan.copies);
  return saturating_add(saturating_add(one, sum.in_place ? payload(sum) : one), plan.flush_bytes);
}

AllReduceOperands::AllReduceOperands(const AllReduce& sum, const Seats& seats,
                                     const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed)
    : sum_(sum), seats_(seats) {
  int rank = seats.first_rank;
  for (const int device : seats.devices)
    all_.push_back(std::make_unique<RankOperands>(sum, rank++, seats.ranks, plan, inputs, seed,
                                                  Stream::of(device)));
  all_.front()->stream().enter();
}

void AllReduceOperands::describe(plugin::Sink& sink) const {
  sink.integer("ranks", seats_.ranks);
  if (seats_.local() > 1) sink.integer("local_ranks", seats_.local());
  if (!sum_.in_place) return;
  sink.integer("in_place", 1);
  sink.integer("restore_every", sums_in_range(sum_.precision.c, seats_.ranks));
}

// Ranks of one process have streams of their own: each must have its operands before another,
// whose stream is further on, adds to them.
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

// Rows of several ranks' outputs together lie on several devices.
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

// In runs of indices of the same rank.
void AllReduceOperands::read(uint64_t copy, const uint64_t* indices, size_t count,
                             double* values) const {
  std::vector<uint64_t> own;
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    const uint64_t rank = indices[begin] / elements();
    if (rank >= all_.size())
      plugin::invalid("read_output: element " + std::to_string(indices[begin]) + " of " +
                      std::to_string(elements() * all_.size()));
    own.clear();
    for (end = begin; end < count && indices[end] / elements() == rank; ++end)
      own.push_back(indices[end] - rank * elements());
    all_[rank]->read(copy, own.data(), own.size(), values + begin);
  }
}

}  // namespace deepbench::cuda
