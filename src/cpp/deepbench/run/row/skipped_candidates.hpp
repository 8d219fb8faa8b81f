// Collects the candidates that failed, and describes them in one note per reason.
#pragma once

#include <string>
#include <vector>

namespace deepbench {

class SkippedCandidates {
 public:
  // `outcome` completes a note: "left out" or "left out of the final".
  explicit SkippedCandidates(std::string outcome) : outcome_(std::move(outcome)) {}

  // An empty id is the library's default.
  void add(const std::string& id, const std::string& reason);

  const std::vector<std::string>& ids() const { return ids_; }
  void add_notes_to(std::vector<std::string>& notes) const;

 private:
  // Reasons that differ only in numbers are counted as one.
  struct Reason {
    std::string text;     // the first candidate's reason
    std::string pattern;  // the text without numbers
    bool is_shared;       // whether all candidates have the identical text
    std::vector<std::string> ids;
  };
  std::string note(const Reason& reason) const;

  std::string outcome_;
  std::vector<std::string> ids_;
  std::vector<Reason> reasons_;
};

}  // namespace deepbench
