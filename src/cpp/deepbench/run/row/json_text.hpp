// Finds members in the text of a JSON object and replaces their values, so that all other text
// stays as it was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deepbench {

// The items between the brackets of an object or a list, which commas separate. Views into `value`.
// Throws std::invalid_argument for other text.
std::vector<std::string_view> split_items(std::string_view value, char open, char close);

// The name of a member of an object, with its quotes.
std::string_view name_of_member(std::string_view member);

// The value of the first member called `name`; empty if there is none. A view into `object`.
std::string_view member_value(std::string_view object, std::string_view name);

// The number that a value is; 0 for null and other values.
double number_of(std::string_view value);

// The number that is the value of a member; 0 if there is none or if it is null.
double member_number(std::string_view object, std::string_view name);

// `text` with `value` in place of `old`, which is a view into it.
std::string replace_value(std::string_view text, std::string_view old, std::string_view value);

// The items between brackets, with commas.
std::string join_items(char open, const std::vector<std::string_view>& items, char close);

// The object with the members of `added`, also an object, instead of its own of the same names.
std::string with_members(std::string_view object, std::string_view added);

}  // namespace deepbench
