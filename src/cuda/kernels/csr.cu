// Creates a sparse matrix on the device: the kernels count the nonzero elements, write their
// positions and values, and clear the other elements of a dense matrix. A block handles one line at
// a time, and each of its threads a contiguous share of it, so that indices ascend within a line.
#include "element.h"
#include "sparsity_pattern.h"

namespace {

__device__ inline bool is_nonzero(const NonzeroRule& rule, uint64_t index) {
  return uint32_t(deepbench_bits(rule.seed, rule.stream, index) >> 32) >= rule.threshold;
}

struct LineShare {
  uint64_t begin, end;  // within a line
};

__device__ inline LineShare share_of_thread(uint32_t thread, uint64_t length) {
  const uint64_t each = (length + OPERAND_THREADS - 1) / OPERAND_THREADS;
  const uint64_t begin = thread * each, end = begin + each;
  return {begin < length ? begin : length, end < length ? end : length};
}

__device__ inline uint32_t count_share(const NonzeroRule& rule, const Lines& lines, uint64_t line,
                                       const LineShare& share) {
  uint32_t count = 0;
  for (uint64_t at = share.begin; at < share.end; ++at)
    count += is_nonzero(rule, line * lines.line_step + at * lines.step);
  return count;
}

// The sum of the counts of all threads with a smaller index.
__device__ uint32_t exclusive_sum(uint32_t thread, uint32_t count) {
  __shared__ uint32_t sums[OPERAND_THREADS];
  __syncthreads();  // all threads have read the sums of the previous line
  sums[thread] = count;
  for (uint32_t distance = 1; distance < OPERAND_THREADS; distance *= 2) {
    __syncthreads();
    const uint32_t other = thread >= distance ? sums[thread - distance] : 0;
    __syncthreads();
    sums[thread] += other;
  }
  return sums[thread] - count;
}

}  // namespace

extern "C" __global__ void count_nonzeros(Lines lines, NonzeroRule rule, uint32_t* counts) {
  const uint32_t thread = thread_of_block();
  for (uint64_t line = blockIdx.x; line < lines.count; line += gridDim.x) {
    uint32_t count[1] = {count_share(rule, lines, line, share_of_thread(thread, lines.length))};
    sum_over_block(count, thread, OPERAND_THREADS, 1);
    if (thread == 0) counts[line] = count[0];
  }
}

// `offsets` holds the position at which each line's nonzeros begin. The values are those of
// `operand`, as the type stores them.
extern "C" __global__ void write_nonzeros(Lines lines, NonzeroRule rule, const int32_t* offsets,
                                          int32_t type, uint32_t operand, int32_t* indices,
                                          void* values) {
  const uint32_t thread = thread_of_block();
  for (uint64_t line = blockIdx.x; line < lines.count; line += gridDim.x) {
    const LineShare share = share_of_thread(thread, lines.length);
    uint64_t offset =
        uint64_t(offsets[line]) + exclusive_sum(thread, count_share(rule, lines, line, share));
    with_element(type, [&](auto element) {
      using E = decltype(element);
      auto* const out = static_cast<typename E::Word*>(values);
      for (uint64_t at = share.begin; at < share.end; ++at) {
        const uint64_t index = line * lines.line_step + at * lines.step;
        if (!is_nonzero(rule, index)) continue;
        indices[offset] = int32_t(at);
        out[offset] = E::generated_word(rule.seed, operand, index);
        ++offset;
      }
    });
  }
}
