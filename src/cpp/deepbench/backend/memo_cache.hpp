// Caches the results of slow queries for as long as the process lives: handles of a library, facts
// about a device, measured times of its steps. Every row makes the same queries. Header-only, for
// backends.
#pragma once

#include <map>
#include <mutex>

namespace deepbench::plugin {

// Allocate a static cache whose values need a library with `new` and never delete it: the process
// may unload the library first.
template <class Key, class Value>
class MemoCache {
 public:
  // Calls find() for the value the first time and stores nothing if find() throws. Other threads
  // wait meanwhile, so that no value is computed twice.
  template <class Find>
  Value get(const Key& key, Find find) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    return values_.emplace(key, find()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace deepbench::plugin
