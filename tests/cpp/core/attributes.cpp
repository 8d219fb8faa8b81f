// Tests of named values and of the grammar of key=value text.
#include "deepbench/core/attributes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

std::string parsed_pairs_text(const std::string& text) {
  std::string out;
  for (const auto& item : parse_key_values(text)) out += "[" + item.key + "|" + item.value + "]";
  return out;
}

TEST_CASE("attributes keep their order and their types") {
  Attributes attributes;
  attributes.set("b", int64_t{2});
  attributes.set("a", 0.5);
  attributes.set("c", std::string("text"));
  attributes.set("b", int64_t{3});
  REQUIRE(attributes.items().size() == 3);
  CHECK(attributes.items()[0].first == "b");
  CHECK(attributes.integer("b") == 3);
  CHECK(attributes.real("b") == 3.0);
  CHECK(attributes.real("a") == 0.5);
  CHECK(attributes.text("c") == "text");
  CHECK(attributes.has("a"));
  CHECK_FALSE(attributes.has("d"));
  // The fallback serves attributes that are absent or have another type.
  CHECK(attributes.integer("d", 7) == 7);
  CHECK(attributes.integer("c", 7) == 7);
  CHECK(attributes.integer("a", 7) == 7);
  CHECK(attributes.real("c", 1.5) == 1.5);
  CHECK(attributes.text("b", "none") == "none");
}

TEST_CASE("values print with the fewest digits that parse back to the same value") {
  CHECK(to_text(Value(int64_t{-5})) == "-5");
  CHECK(to_text(Value(std::numeric_limits<int64_t>::max())) == "9223372036854775807");
  CHECK(to_text(Value(0.95)) == "0.95");
  CHECK(to_text(Value(0.1 + 0.2)) == "0.30000000000000004");
  CHECK(to_text(Value(1e300)) == "1e+300");
  CHECK(to_text(Value(std::string("x y"))) == "x y");
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t bits = random();
    double number;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    CHECK(parse_real("x", to_text(Value(number))) == number);
  }
}

TEST_CASE("key=value text is split into keys and values") {
  CHECK(parsed_pairs_text("") == "");
  CHECK(parsed_pairs_text(" \t ") == "");
  CHECK(parsed_pairs_text("m=1") == "[m|1]");
  CHECK(parsed_pairs_text("  m=1\tn=2 \r\n k=3 ") == "[m|1][n|2][k|3]");
  CHECK(parsed_pairs_text("a=b=c") == "[a|b=c]");
  CHECK(parsed_pairs_text("a=\"two words\" b=1") == "[a|two words][b|1]");
  CHECK(parsed_pairs_text(R"(a="say \"so\"" b="back\\slash")") == R"([a|say "so"][b|back\slash])");
  CHECK(parsed_pairs_text("a=\"x ; y\"") == "[a|x ; y]");
  CHECK(parsed_pairs_text("a=\"tab\there\"") == "[a|tab\there]");
  CHECK(parsed_pairs_text("a=\xc3\xa9") == "[a|\xc3\xa9]");
}

TEST_CASE("invalid key=value text is rejected with the reason") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"m", "'m' is not of the form key=value"},
      {"m 1", "'m' is not of the form key=value"},
      {"=1", "'=1' is not of the form key=value"},
      {"m-n=1", "'m-n=1' is not of the form key=value"},
      {"m =1", "'m' is not of the form key=value"},
      {"m\x01n=1", "'m?n=1' is not of the form key=value"},
      {"m=", "'m=' has no value"},
      {"m= n=1", "'m=' has no value"},
      {"m=\"\"", "'m=' has no value"},
      {"m=1 n=2 m=3", "'m' is given twice"},
      {"m=1 m=1", "'m' is given twice"},
      {"a=\"open", "the quote of 'a' is not closed"},
      {"a=\"open\\\"", "the quote of 'a' is not closed"},
      {"a=\"x\"y", "a space must follow the closing quote of 'a'"},
      {"a=x\"y\"", "'x\"' holds a character that a plain value cannot; quote the value"},
      {"a=x\x02", "'x?' holds a character that a plain value cannot; quote the value"},
      {"a=\"x\x7fy\"", "'a' holds a control character"},
      {"a=\"x\ny\"", "'a' holds a control character"},
  };
  for (const auto& [text, message] : wrong) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_key_values(text), message.c_str(), InvalidProblem);
  }
}

TEST_CASE("an error message quotes only the beginning of a long word") {
  try {
    parse_key_values(std::string(5000, 'x'));
    FAIL("parse_key_values() did not throw");
  } catch (const InvalidProblem& error) {
    CHECK(std::strlen(error.what()) < 120);
  }
}

TEST_CASE("printable text is short, fits one line and splits no UTF-8 character") {
  CHECK(printable("plain text") == "plain text");
  CHECK(printable("a\tb\nc\x1b[31m\x7f") == "a?b?c?[31m?");
  CHECK(printable("\xc2\x9b"
                  "31m \xe2\x80\xae \xff \xc3\xa9") == "?31m ? ? \xc3\xa9");
  CHECK(printable(std::string(100, 'x')) == std::string(40, 'x'));
  CHECK(printable("abc", 2) == "ab");
  CHECK(printable("a\xc3\xa9", 3) == "a\xc3\xa9");
  CHECK(printable("a\xc3\xa9", 2) == "a");
  CHECK(printable("\xe2\x82\xac\xe2\x82\xac", 5) == "\xe2\x82\xac");
  CHECK(printable("\x80\x80\x80", 2) == "");
}

TEST_CASE("one_line keeps the words of a text") {
  CHECK(one_line("two\nlines\tof\x1b[2J it", 100) == "two lines of [2J it");
  CHECK(one_line("line\xe2\x80\xa8of\xc2\x9b it", 100) == "line of  it");
  CHECK(one_line("a long text", 6) == "a long ...");
  CHECK(one_line("d\xc3\xa9", 2) == "d ...");
  CHECK(one_line("", 2) == "");
}

TEST_CASE("quoting is the inverse of parsing") {
  CHECK(quoted("plain") == "plain");
  CHECK(quoted("") == "\"\"");
  CHECK(quoted("two words") == "\"two words\"");
  CHECK(quoted("x;y") == "\"x;y\"");
  CHECK(quoted("say \"so\"") == R"("say \"so\"")");
  CHECK(quoted("back\\slash") == R"("back\\slash")");
  std::mt19937 random(2);
  const std::string letters = "ab =\";\\\t,\xc3\xa9";
  for (int i = 0; i < 5000; ++i) {
    std::string value;
    for (size_t length = 1 + random() % 12; value.size() < length;)
      value += letters[random() % letters.size()];
    const auto read = parse_key_values("key=" + quoted(value) + " next=1");
    REQUIRE(read.size() == 2);
    CHECK(read[0].value == value);
  }
}

TEST_CASE("integers are parsed strictly") {
  CHECK(parse_integer("m", "0") == 0);
  CHECK(parse_integer("m", "-12") == -12);
  CHECK(parse_integer("m", "007") == 7);
  CHECK(parse_integer("m", "9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(parse_integer("m", "-9223372036854775808") == std::numeric_limits<int64_t>::min());
  for (const std::string text : {"", "x", "1.5", "1e3", "+1", " 1", "1 ", "0x10", "1,000", "--1"})
    CHECK_THROWS_WITH_AS(parse_integer("m", text), ("m=" + text + " is not an integer").c_str(),
                         InvalidProblem);
  for (const std::string text : {"9223372036854775808", "-9223372036854775809"})
    CHECK_THROWS_WITH_AS(parse_integer("m", text), ("m=" + text + " does not fit 64 bits").c_str(),
                         InvalidProblem);
  const std::string huge(400, '9');
  CHECK_THROWS_WITH_AS(parse_integer("m", huge),
                       ("m=" + huge.substr(0, 40) + " does not fit 64 bits").c_str(),
                       InvalidProblem);
}

TEST_CASE("reals are parsed strictly") {
  CHECK(parse_real("s", "0.95") == 0.95);
  CHECK(parse_real("s", "-1e-3") == -1e-3);
  CHECK(parse_real("s", "1") == 1.0);
  CHECK(parse_real("s", ".5") == 0.5);
  for (const std::string text :
       {"", "x", "nan", "inf", "-inf", "0x1p3", "1.5.2", "1e", "1 ", " 1", "1e400", "-", "1,5"})
    CHECK_THROWS_WITH_AS(parse_real("s", text), ("s=" + text + " is not a number").c_str(),
                         InvalidProblem);
}

}  // namespace
}  // namespace deepbench
