// The page pool, which passes pages from one buffer to the next.
#include "page_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

using cpu::kLargePageBytes;
using cpu::PagePool;

constexpr uint64_t kPage = kLargePageBytes;

bool is_zero(const std::byte* pages, uint64_t bytes) {
  return std::all_of(pages, pages + bytes, [](std::byte one) { return one == std::byte{0}; });
}

// Allocates pages and fills them, so that a later allocation reveals whether they are cleared.
std::byte* allocate_and_fill(PagePool& pool, uint64_t bytes) {
  std::byte* const pages = pool.allocate(bytes);
  REQUIRE(pages);
  CHECK(reinterpret_cast<uintptr_t>(pages) % kPage == 0);
  CHECK(is_zero(pages, bytes));
  std::memset(pages, 7, bytes);
  return pages;
}

TEST_CASE("pages: threads take pages from one pool") {
  PagePool pool(8 * kPage);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&pool, i] {
      for (int round = 0; round < 20; ++round) {
        const uint64_t bytes = uint64_t(1 + i) * kPage;
        std::byte* const pages = pool.allocate(bytes);
        if (!pages) continue;
        std::memset(pages, i, 64);
        pool.release(pages, bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.idle_bytes() <= 8 * kPage);
}

TEST_CASE("pages: released pages are reused and cleared") {
  PagePool pool(8 * kPage);
  std::byte* const first = allocate_and_fill(pool, 3 * kPage);
  pool.release(first, 3 * kPage);
  CHECK(pool.idle_bytes() == 3 * kPage);
  CHECK(allocate_and_fill(pool, kPage) == first);
  CHECK(allocate_and_fill(pool, 2 * kPage) == first + kPage);
  CHECK(pool.idle_bytes() == 0);
  pool.release(first + kPage, 2 * kPage);
  pool.release(first, kPage);  // Adjacent extents merge.
  CHECK(allocate_and_fill(pool, 3 * kPage) == first);
  pool.release(first, kPage);
  pool.release(first + 2 * kPage, kPage);
  pool.release(first + kPage, kPage);  // It merges with both neighbors.
  CHECK(allocate_and_fill(pool, 3 * kPage) == first);
  pool.release(first, 3 * kPage);
}

TEST_CASE("pages: an allocation takes the smallest sufficient extent") {
  PagePool pool(16 * kPage);
  std::byte* const all = allocate_and_fill(pool, 8 * kPage);
  pool.release(all, 4 * kPage);
  pool.release(all + 5 * kPage, 2 * kPage);
  CHECK(allocate_and_fill(pool, 2 * kPage) == all + 5 * kPage);
  CHECK(allocate_and_fill(pool, 4 * kPage) == all);
  pool.release(all, 8 * kPage);
}

TEST_CASE("pages: pages beyond the limit return to the system, and clear returns all") {
  PagePool pool(2 * kPage);
  std::byte* const first = allocate_and_fill(pool, 2 * kPage);
  std::byte* const second = allocate_and_fill(pool, kPage);
  pool.release(first, 2 * kPage);
  pool.release(second, kPage);
  CHECK(pool.idle_bytes() == 2 * kPage);
  pool.clear();
  CHECK(pool.idle_bytes() == 0);
  pool.release(allocate_and_fill(pool, kPage), kPage);
  PagePool none(0);
  none.release(allocate_and_fill(none, kPage), kPage);
  CHECK(none.idle_bytes() == 0);
}

TEST_CASE("pages: an impossible size is refused") {
  PagePool pool(kPage);
  CHECK(pool.allocate(uint64_t{1} << 62) == nullptr);
  CHECK(pool.allocate(-kPage) == nullptr);
}

TEST_CASE("pages: a buffer releases its pages once, to the pool that it got them from") {
  PagePool pool(64 * kPage);
  constexpr uint64_t kStagger = 1 << 18;  // Room for the offset of a buffer's start.
  cpu::Buffer first(2 * kPage - kStagger, pool);
  std::byte* const data = first.data();
  cpu::Buffer second(std::move(first));
  CHECK(second.data() == data);
  first = cpu::Buffer(3 * kPage - kStagger, pool);
  second = cpu::Buffer();
  first = std::move(second);
  second = cpu::Buffer(100);
  first = cpu::Buffer(100), second = cpu::Buffer(100);
  CHECK(pool.idle_bytes() == (2 + 3) * kPage);
}

TEST_CASE("pages: the pool for references caches pages and releases them when memory is short") {
  PagePool& pool = PagePool::for_references();
  pool.clear();
  { const cpu::Buffer buffer(4 * kPage); }
  CHECK(pool.idle_bytes() == 0);
  CHECK(PagePool::without_reuse().idle_bytes() == 0);
  { const cpu::Buffer buffer(4 * kPage, pool); }
  const uint64_t idle = pool.idle_bytes();
  CHECK((idle >= 4 * kPage) == (cpu::topology().memory_nodes == 1));
  CHECK(cpu::available_memory().available_bytes >= int64_t(idle));
  CHECK_NOTHROW(cpu::require_memory(kPage, "little"));
  CHECK(pool.idle_bytes() == idle);
  CHECK_THROWS(cpu::require_memory(uint64_t{1} << 60, "much"));
  CHECK(pool.idle_bytes() == 0);
}

}  // namespace
}  // namespace deepbench::cpu_test
