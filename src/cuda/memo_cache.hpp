// What was found out is kept by a text that says of what: planning, checking and preparing a row
// ask the same of a library.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace deepbench::cuda {

// At most kMaxEntries values; then it begins anew. One that lives as long as the process should be
// made by new: the libraries may be gone before it.
template <class Value, size_t kMaxEntries>
class MemoCache {
 public:
  template <class Find>
  Value get(const std::string& key, Find find) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    if (values_.size() >= kMaxEntries) values_.clear();
    return values_[key] = find();
  }
  bool has(const std::string& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_.count(key) != 0;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Value> values_;
};

}  // namespace deepbench::cuda
