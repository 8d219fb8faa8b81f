// Grouping failed candidates by reason.
#include "deepbench/run/row/skipped_candidates.hpp"

#include <algorithm>

namespace deepbench {
namespace {

constexpr size_t kListedReasons = 2;
constexpr size_t kListedCandidates = 4;  // candidates that a note lists per reason

std::string without_numbers(std::string text) {
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  text.erase(std::remove_if(text.begin(), text.end(), is_part), text.end());
  return text;
}

std::string list_of(const std::vector<std::string>& ids) {
  std::string list;
  for (size_t i = 0; i < std::min(ids.size(), kListedCandidates); ++i)
    list += (i > 0 ? ", " : "") + (ids[i].empty() ? "the library's default" : ids[i]);
  if (ids.size() > kListedCandidates)
    list += " and " + std::to_string(ids.size() - kListedCandidates) + " more";
  return list;
}

}  // namespace

void SkippedCandidates::add(const std::string& id, const std::string& reason) {
  ids_.push_back(id);
  // Computed once, since thousands of candidates may each have a long reason of their own.
  const std::string pattern = without_numbers(reason);
  for (Reason& known : reasons_)
    if (known.pattern == pattern) {
      known.is_shared = known.is_shared && known.text == reason;
      known.ids.push_back(id);
      return;
    }
  reasons_.push_back({reason, pattern, true, {id}});
}

std::string SkippedCandidates::note(const Reason& reason) const {
  if (reason.ids.size() > 1)
    return std::to_string(reason.ids.size()) + " candidates " + outcome_ + " (" +
           list_of(reason.ids) + (reason.is_shared ? "): " : "), the first of them: ") +
           reason.text;
  const std::string& id = reason.ids[0];
  return (id.empty() ? list_of(reason.ids) : "candidate " + id) + " " + outcome_ + ": " +
         reason.text;
}

void SkippedCandidates::add_notes_to(std::vector<std::string>& notes) const {
  size_t named = 0;
  for (size_t i = 0; i < std::min(reasons_.size(), kListedReasons); ++i) {
    notes.push_back(note(reasons_[i]));
    named += reasons_[i].ids.size();
  }
  const size_t rest = ids_.size() - named;
  if (rest > 0)
    notes.push_back(std::to_string(rest) + " more candidate" + (rest > 1 ? "s " : " ") + outcome_ +
                    ", for other reasons");
}

}  // namespace deepbench
