// Pages that go from one buffer to the next.
#include "page_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <utility>

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

// Filled, so that it can be told whether it is cleared.
std::byte* taken(PagePool& store, uint64_t bytes) {
  std::byte* const pages = store.allocate(bytes);
  REQUIRE(pages);
  CHECK(reinterpret_cast<uintptr_t>(pages) % kPage == 0);
  CHECK(is_zero(pages, bytes));
  std::memset(pages, 7, bytes);
  return pages;
}

TEST_CASE("pages: what was given back is taken again, cleared") {
  PagePool store(8 * kPage);
  std::byte* const first = taken(store, 3 * kPage);
  store.release(first, 3 * kPage);
  CHECK(store.idle_bytes() == 3 * kPage);
  CHECK(taken(store, kPage) == first);
  CHECK(taken(store, 2 * kPage) == first + kPage);
  CHECK(store.idle_bytes() == 0);
  store.release(first + kPage, 2 * kPage);
  store.release(first, kPage);  // grow together
  CHECK(taken(store, 3 * kPage) == first);
  store.release(first, kPage);
  store.release(first + 2 * kPage, kPage);
  store.release(first + kPage, kPage);  // with both sides
  CHECK(taken(store, 3 * kPage) == first);
  store.release(first, 3 * kPage);
}

TEST_CASE("pages: the smallest extent that suffices") {
  PagePool store(16 * kPage);
  std::byte* const all = taken(store, 8 * kPage);
  store.release(all, 4 * kPage);
  store.release(all + 5 * kPage, 2 * kPage);
  CHECK(taken(store, 2 * kPage) == all + 5 * kPage);
  CHECK(taken(store, 4 * kPage) == all);
  store.release(all, 8 * kPage);
}

TEST_CASE("pages: beyond the limit they go back to the system, and all do when asked to") {
  PagePool store(2 * kPage);
  std::byte* const first = taken(store, 2 * kPage);
  std::byte* const second = taken(store, kPage);
  store.release(first, 2 * kPage);
  store.release(second, kPage);
  CHECK(store.idle_bytes() == 2 * kPage);
  store.clear();
  CHECK(store.idle_bytes() == 0);
  store.release(taken(store, kPage), kPage);
  PagePool none(0);
  none.release(taken(none, kPage), kPage);
  CHECK(none.idle_bytes() == 0);
}

TEST_CASE("pages: what no machine has is refused") {
  PagePool store(kPage);
  CHECK(store.allocate(uint64_t{1} << 62) == nullptr);
  CHECK(store.allocate(-kPage) == nullptr);
}

TEST_CASE("pages: a buffer gives them back once, to the store it has them from") {
  PagePool store(64 * kPage);
  constexpr uint64_t kStagger = 1 << 18;  // room for it
  cpu::Buffer first(2 * kPage - kStagger, store);
  std::byte* const data = first.data();
  cpu::Buffer second(std::move(first));
  CHECK(second.data() == data);
  first = cpu::Buffer(3 * kPage - kStagger, store);
  second = cpu::Buffer();
  first = std::move(second);
  second = cpu::Buffer(100);
  first = cpu::Buffer(100), second = cpu::Buffer(100);
  CHECK(store.idle_bytes() == (2 + 3) * kPage);
}

TEST_CASE("pages: of buffers of references they are kept, and memory that is short has them back") {
  PagePool& store = PagePool::for_references();
  store.clear();
  { const cpu::Buffer buffer(4 * kPage); }
  CHECK(store.idle_bytes() == 0);
  CHECK(PagePool::uncached().idle_bytes() == 0);
  { const cpu::Buffer buffer(4 * kPage, store); }
  const uint64_t idle = store.idle_bytes();
  CHECK((idle >= 4 * kPage) == (cpu::topology().memory_nodes == 1));
  CHECK(cpu::available_memory().available_bytes >= int64_t(idle));
  CHECK_NOTHROW(cpu::require_memory(kPage, "little"));
  CHECK(store.idle_bytes() == idle);
  CHECK_THROWS(cpu::require_memory(uint64_t{1} << 60, "much"));
  CHECK(store.idle_bytes() == 0);
}

}  // namespace
}  // namespace deepbench::cpu_test
