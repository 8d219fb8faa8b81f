// Characters of UTF-8 text.
#include "deepbench/core/utf8.hpp"

namespace deepbench {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned char lead = byte_at(text, 0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  const unsigned char second = length > 1 ? byte_at(text, 1) : 0;
  if (length == 3 && ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)))
    return 0;  // overlong encodings and surrogates
  if (length == 4 && ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)))
    return 0;  // overlong encodings and numbers beyond Unicode
  return length;
}

bool is_control_sequence(std::string_view character) {
  const unsigned char lead = byte_at(character, 0);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7f;
  if (character.size() == 2)  // U+0080 to U+009F, and the Arabic letter mark
    return (lead == 0xc2 && byte_at(character, 1) < 0xa0) || character == "\xd8\x9c";
  if (character.size() != 3 || lead != 0xe2) return false;
  const unsigned last = (byte_at(character, 1) & 0x3fU) << 6 | (byte_at(character, 2) & 0x3fU);
  return last == 0x0e || last == 0x0f || (last >= 0x28 && last <= 0x2e) ||
         (last >= 0x66 && last <= 0x69);  // offsets from U+2000
}

}  // namespace deepbench
