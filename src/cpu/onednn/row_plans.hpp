// Caches the results of planning one problem with oneDNN. All plans of a row share it, so that
// oneDNN plans each candidate once, whether it is listed, described or prepared.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace deepbench::cpu::onednn {

template <class LibraryPlan>
class RowPlans {
 public:
  // The plan of the candidate `id`, which `make` returns on first use. A failure of `make` is
  // passed to the caller and is not stored.
  template <class Make>
  std::shared_ptr<const LibraryPlan> plan(const std::string& id, const Make& make) {
    const auto known = plans_.find(id);
    if (known != plans_.end()) return known->second;
    auto made = std::make_shared<const LibraryPlan>(make());
    return plans_.emplace(id, std::move(made)).first->second;
  }

  // The ids of the candidates, which `list` returns on first use.
  template <class List>
  const std::vector<std::string>& candidates(const List& list) {
    if (candidates_.empty()) candidates_ = list();
    return candidates_;
  }

 private:
  std::map<std::string, std::shared_ptr<const LibraryPlan>> plans_;
  std::vector<std::string> candidates_;
};

}  // namespace deepbench::cpu::onednn
