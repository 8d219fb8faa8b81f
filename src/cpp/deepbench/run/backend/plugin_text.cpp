// Texts that a plugin gives.
#include "deepbench/run/backend/plugin_text.hpp"

#include <cstring>

#include "deepbench/core/utf8.hpp"

namespace deepbench {
namespace {

constexpr size_t kLongestCharacter = 4;  // bytes
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool is_white_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::string_view bounded_text(const char* text, size_t max_bytes) {
  return {text, strnlen(text, max_bytes + 1)};
}

std::string fault_of_name(const char* text, size_t max_characters) {
  std::string_view rest = bounded_text(text, max_characters * kLongestCharacter);
  for (size_t count = 0; !rest.empty(); ++count) {
    if (count == max_characters)
      return "has more than " + std::to_string(max_characters) + " characters";
    const size_t length = utf8_length(rest);
    if (length == 0) return "is not UTF-8";
    if (is_control_sequence(rest.substr(0, length))) return "has a control character";
    rest.remove_prefix(length);
  }
  return "";
}

std::string shown_text(const char* text, size_t max_bytes) {
  std::string_view rest = bounded_text(text, max_bytes + kLongestCharacter);
  std::string shown;
  while (!rest.empty()) {
    const size_t length = utf8_length(rest);
    const std::string_view character = rest.substr(0, length);
    const bool is_shown = length > 0 && !is_control_sequence(character);
    const std::string_view as =
        is_white_space(rest[0]) ? " " : (is_shown ? character : kReplacement);
    if (shown.size() + as.size() > max_bytes) return shown + " ...";
    shown += as;
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

}  // namespace deepbench
