// Pages that go from one buffer to the next.
#include "page_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "buffer.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

using cpu::kLargePageBytes;
using cpu::PageStore;

constexpr uint64_t kPage = kLargePageBytes;

bool is_zero(const std::byte* pages, uint64_t bytes) {
  return std::all_of(pages, pages + bytes, [](std::byte one) { return one == std::byte{0}; });
}

// Filled, so that it can be told whether it is cleared.
std::byte* taken(PageStore& store, uint64_t bytes) {
  std::byte* const pages = store.take(bytes);
  REQUIRE(pages);
  CHECK(reinterpret_cast<uintptr_t>(pages) % kPage == 0);
  CHECK(is_zero(pages, bytes));
  std::memset(pages, 7, bytes);
  return pages;
}

TEST_CASE("pages: what was given back is taken again, cleared") {
  PageStore store(8 * kPage);
  std::byte* const first = taken(store, 3 * kPage);
  store.give_back(first, 3 * kPage);
  CHECK(store.idle_bytes() == 3 * kPage);
  CHECK(taken(store, kPage) == first);
  CHECK(taken(store, 2 * kPage) == first + kPage);
  CHECK(store.idle_bytes() == 0);
  store.give_back(first + kPage, 2 * kPage);
  store.give_back(first, kPage);  // grow together
  CHECK(taken(store, 3 * kPage) == first);
  store.give_back(first, kPage);
  store.give_back(first + 2 * kPage, kPage);
  store.give_back(first + kPage, kPage);  // with both sides
  CHECK(taken(store, 3 * kPage) == first);
  store.give_back(first, 3 * kPage);
}

TEST_CASE("pages: the smallest extent that suffices") {
  PageStore store(16 * kPage);
  std::byte* const all = taken(store, 8 * kPage);
  store.give_back(all, 4 * kPage);
  store.give_back(all + 5 * kPage, 2 * kPage);
  CHECK(taken(store, 2 * kPage) == all + 5 * kPage);
  CHECK(taken(store, 4 * kPage) == all);
  store.give_back(all, 8 * kPage);
}

TEST_CASE("pages: beyond the limit they go back to the system, and all do when asked to") {
  PageStore store(2 * kPage);
  std::byte* const first = taken(store, 2 * kPage);
  std::byte* const second = taken(store, kPage);
  store.give_back(first, 2 * kPage);
  store.give_back(second, kPage);
  CHECK(store.idle_bytes() == 2 * kPage);
  store.clear();
  CHECK(store.idle_bytes() == 0);
  store.give_back(taken(store, kPage), kPage);
  PageStore none(0);
  none.give_back(taken(none, kPage), kPage);
  CHECK(none.idle_bytes() == 0);
}

TEST_CASE("pages: what no machine has is refused") {
  PageStore store(kPage);
  CHECK(store.take(uint64_t{1} << 62) == nullptr);
  CHECK(store.take(-kPage) == nullptr);
}

TEST_CASE("pages: a buffer gives them back once, to the store it has them from") {
  PageStore store(64 * kPage);
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
  PageStore& store = PageStore::of_references();
  store.clear();
  { const cpu::Buffer buffer(4 * kPage); }
  CHECK(store.idle_bytes() == 0);
  CHECK(PageStore::none().idle_bytes() == 0);
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
