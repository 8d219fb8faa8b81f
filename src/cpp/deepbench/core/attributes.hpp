// Named values in order: what problems, options and descriptions are made of, and the one grammar
// of `key=value` text that they are written in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

using Value = std::variant<int64_t, double, std::string>;

// As problem lines print it: integers plain, reals with the fewest digits that read back equal.
DEEPBENCH_API std::string to_text(const Value& value);

// For messages: at most `most` bytes of a text from outside, control characters as '?'.
DEEPBENCH_API std::string printable(std::string_view text, size_t most = 40);

// The same as a line of its own: control characters and ends of lines are spaces, and what is cut
// off is told by "...".
DEEPBENCH_API std::string one_line(std::string_view text, size_t most);

class DEEPBENCH_API Attributes {
 public:
  using Item = std::pair<std::string, Value>;

  void set(std::string_view name, Value value);
  const Value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The value, or the fallback where it is absent or of another kind.
  int64_t integer(std::string_view name, int64_t fallback = 0) const;
  double real(std::string_view name, double fallback = 0) const;
  std::string text(std::string_view name, std::string_view fallback = "") const;

  const std::vector<Item>& items() const { return items_; }
  bool operator==(const Attributes& other) const { return items_ == other.items_; }

 private:
  std::vector<Item> items_;
};

struct KeyValue {
  std::string key, value;
};

// Splits `a=1 b="two words"` at white space outside double quotes; inside them \" and \\ stand for
// themselves. Throws InvalidProblem for a word without '=', an empty key or value, a key given
// twice, an open quote, a control character.
DEEPBENCH_API std::vector<KeyValue> parse_key_values(std::string_view text);

// The inverse for one value: quoted where it must be.
DEEPBENCH_API std::string quoted(std::string_view value);

// Strict readers: the whole text, within range, or InvalidProblem naming `key`.
DEEPBENCH_API int64_t parse_integer(std::string_view key, std::string_view text);
DEEPBENCH_API double parse_real(std::string_view key, std::string_view text);

}  // namespace deepbench
