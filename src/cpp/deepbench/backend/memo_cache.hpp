// Remembers the results of slow questions for as long as the process lives: handles of a library,
// facts about a device, plans of a library's heuristics. Checking, planning and
// preparing one row ask the same questions. Header-only, for backends.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <mutex>

namespace deepbench::plugin {

// A cache that has kMaxEntries values forgets all of them before it stores the next one. Allocate a
// static cache whose values need a library with `new` and never delete it: the process may unload
// the library first.
template <class Key, class Value, size_t kMaxEntries = std::numeric_limits<size_t>::max()>
class MemoCache {
 public:
  // Calls find() for the value the first time and stores nothing if find() throws. Other threads
  // wait meanwhile, so that no value is computed twice.
  template <class Find>
  Value get(const Key& key, Find find) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    if (values_.size() >= kMaxEntries) values_.clear();
    return values_[key] = find();
  }
  bool has(const Key& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_.count(key) != 0;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace deepbench::plugin
