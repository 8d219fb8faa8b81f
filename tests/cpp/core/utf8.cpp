// Which bytes are a character, and which characters steer what shows them.
#include "deepbench/core/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

namespace deepbench {
namespace {

TEST_CASE("a character is a well-formed sequence of UTF-8") {
  CHECK(utf8_length("a") == 1);
  CHECK(utf8_length("\xc3\xa9 and more") == 2);
  CHECK(utf8_length("\xe2\x82\xac") == 3);
  CHECK(utf8_length("\xf0\x9f\x98\x80") == 4);
  for (const std::string text :
       {"", "\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
    CHECK_MESSAGE(utf8_length(text) == 0, text);
}

TEST_CASE("controls of both kinds, ends of lines and changes of direction are control sequences") {
  for (const std::string control :
       {"\x01", "\x1b", "\n", "\t", "\x7f", "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xe2\x80\x8e",
        "\xe2\x80\x8f", "\xd8\x9c"})
    CHECK_MESSAGE(is_control_sequence(control), control);
  for (const std::string letter :
       {"a", " ", "~", "\xc2\xa0", "\xc3\xa9", "\xd8\x9b", "\xe2\x80\xa6", "\xe2\x80\x93",
        "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    CHECK_FALSE_MESSAGE(is_control_sequence(letter), letter);
}

}  // namespace
}  // namespace deepbench
