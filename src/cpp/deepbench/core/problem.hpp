// A problem: an operation and its complete, valid attributes. One text form serves as suite line,
// command line, row key and bug report: parse and str are inverses.
#pragma once

#include <string>
#include <string_view>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"

namespace deepbench {

class Operation;

class DEEPBENCH_API Problem {
 public:
  // All attributes of the operation, which must be valid; throws InvalidProblem otherwise.
  Problem(const Operation& operation, Attributes attributes, Attributes metadata = {});

  // Reads "gemm m=1 n=2 k=3 ...". `defaults` is key=value text for parameters that the line does
  // not give; keys that the operation does not have are ignored there. Throws an InvalidProblem
  // whose message is one line.
  static Problem parse(std::string_view line, std::string_view defaults = "");

  const Operation& operation() const { return *operation_; }
  const std::string& op() const;
  const Attributes& attributes() const { return attributes_; }
  // Attributes that describe the problem without being part of it: application="...".
  const Attributes& metadata() const { return metadata_; }

  int64_t integer(std::string_view name) const { return attributes_.integer(name); }
  double real(std::string_view name) const { return attributes_.real(name); }
  std::string text(std::string_view name) const { return attributes_.text(name); }

  // Every parameter, including defaults, in the operation's order, without metadata.
  std::string str() const;
  bool operator==(const Problem& other) const {
    return operation_ == other.operation_ && attributes_ == other.attributes_;
  }

 private:
  const Operation* operation_;
  Attributes attributes_;
  Attributes metadata_;
};

}  // namespace deepbench
