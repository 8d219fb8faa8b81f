// Ordered named values (the contents of problems, options and descriptions), and the grammar of
// `key=value` text.
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

// The value as problem lines print it: integers plain, reals with the fewest digits that parse back
// to the same double.
DEEPBENCH_API std::string to_text(const Value& value);

// The text with control characters replaced by '?', cut to `max_bytes`. Error messages quote user
// input in this form.
DEEPBENCH_API std::string printable(std::string_view text, size_t max_bytes = 40);

// The text as a single line: control characters and line breaks become spaces, and "..." marks a
// cut.
DEEPBENCH_API std::string one_line(std::string_view text, size_t max_bytes);

class DEEPBENCH_API Attributes {
 public:
  using Item = std::pair<std::string, Value>;

  void set(std::string_view name, Value value);
  const Value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // The value, or `fallback` where the attribute is absent or has another type.
  int64_t integer(std::string_view name, int64_t fallback = 0) const;
  double real(std::string_view name, double fallback = 0) const;
  std::string text(std::string_view name, std::string_view fallback = "") const;

  const std::vector<Item>& items() const { return items_; }
  bool operator==(const Attributes& other) const;

 private:
  std::vector<Item> items_;
};

struct KeyValue {
  std::string key, value;
};

// Splits `a=1 b="two words"` at white space outside double quotes. Inside quotes \" stands for a
// quote and \\ for a backslash. Throws InvalidProblem for a word without '=', an empty key or
// value, a repeated key, an unclosed quote or a control character.
DEEPBENCH_API std::vector<KeyValue> parse_key_values(std::string_view text);

// The inverse of parse_key_values() for one value: adds quotes where the grammar requires them.
DEEPBENCH_API std::string quoted(std::string_view value);

// These parsers accept only a complete number within range; otherwise they throw an InvalidProblem
// that names `key`.
DEEPBENCH_API int64_t parse_integer(std::string_view key, std::string_view text);
DEEPBENCH_API double parse_real(std::string_view key, std::string_view text);

}  // namespace deepbench
