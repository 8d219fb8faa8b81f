// Creates one handle of a library for each device, for backends.
#pragma once

#include <cstddef>
#include <utility>

#include "deepbench/backend/memo_cache.hpp"

namespace deepbench::plugin {

// Returns what create() made in the first call for the stream's device and this worker, with the
// device current. Every type of `create`, thus every lambda expression, has handles of its own.
// They are never destroyed, because the process may unload the library first. Threads that call a
// library at the same time use the handles of different workers.
template <class Stream, class Create>
auto get_or_create_per_device(const Stream& stream, Create create, size_t worker = 0) {
  using Handle = decltype(create());
  static auto* handles = new MemoCache<std::pair<int, size_t>, Handle>();
  return handles->get({stream.device(), worker}, [&] {
    stream.make_current();
    return create();
  });
}

}  // namespace deepbench::plugin
