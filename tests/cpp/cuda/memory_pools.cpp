// The origin of buffers: sets of buffers up to three times the cache size get the same addresses
// again.
#include "memory_pools.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "device.hpp"
#include "gpu.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::Buffer;

std::vector<const void*> addresses(const std::vector<Buffer>& buffers) {
  std::vector<const void*> all;
  for (const Buffer& buffer : buffers) all.push_back(buffer.data());
  return all;
}

uint64_t free_bytes() {
  size_t free = 0, total = 0;
  CUDA_CHECK(cuda::cudart().cudaMemGetInfo(&free, &total));
  return free;
}

std::vector<Buffer> allocate_buffers(const std::vector<uint64_t>& sizes) {
  std::vector<Buffer> buffers;
  for (const uint64_t bytes : sizes) buffers.emplace_back(bytes);
  return buffers;
}

TEST_CASE("gpu: pool: small sets of buffers get the same addresses again") {
  REQUIRE_GPU();
  const cuda::DeviceFacts& facts = cuda::device_facts(0);
  if (!facts.memory_pools) return;
  cuda::Stream& stream = cuda::Stream::of(0);
  const uint64_t cache = facts.l2_bytes;
  const std::vector<uint64_t> sizes = {cache / 2, cache / 3, 1000, cache / 2};
  const std::vector<const void*> first = addresses(allocate_buffers(sizes));
  for (const uint64_t between : {cache / 7, cache, 4 * cache, uint64_t{1}})
    allocate_buffers({between, between / 2 + 1});
  stream.synchronize();
  cuda::trim_pool(0);
  const uint64_t free = free_bytes();
  const std::vector<Buffer> again = allocate_buffers(sizes);
  CHECK(addresses(again) == first);
  CHECK(free_bytes() == free);  // the pool already had this memory from the device
}

TEST_CASE("gpu: pool: larger sets come from the runtime's pool and do not overlap") {
  REQUIRE_GPU();
  const cuda::DeviceFacts& facts = cuda::device_facts(0);
  if (!facts.memory_pools) return;
  const uint64_t cache = facts.l2_bytes;
  const std::vector<Buffer> buffers = allocate_buffers(std::vector<uint64_t>(8, cache));
  std::vector<const std::byte*> starts;
  for (const Buffer& buffer : buffers) starts.push_back(buffer.data());
  std::sort(starts.begin(), starts.end());
  for (size_t i = 1; i < starts.size(); ++i) CHECK(uint64_t(starts[i] - starts[i - 1]) >= cache);
}

}  // namespace
}  // namespace deepbench::cuda_test
