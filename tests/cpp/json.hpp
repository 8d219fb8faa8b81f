// A strict JSON reader for tests: it reads rows and hello messages and throws if they are not valid
// JSON.
#pragma once

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace deepbench::testing {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  bool truth = false;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> members;

  bool is_null() const { return kind == Kind::kNull; }
  bool has(const std::string& name) const { return members.count(name) != 0; }
  const Json& operator[](const std::string& name) const {
    const auto at = members.find(name);
    if (at == members.end()) throw std::out_of_range("no member " + name);
    return at->second;
  }
};

class JsonReader {
 public:
  static Json read(std::string_view text) {
    JsonReader reader(text);
    const Json value = reader.value();
    if (reader.at_ != text.size()) reader.fail("something follows the value");
    return value;
  }

 private:
  explicit JsonReader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("not JSON at " + std::to_string(at_) + ": " + what);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected ") + c);
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Json value() {
    skip_spaces();
    Json json;
    if (peek() == '{') return object();
    if (peek() == '[') return array();
    if (peek() == '"') {
      json.kind = Json::Kind::kText;
      json.text = string();
    } else if (take_word("true") || take_word("false")) {
      json.kind = Json::Kind::kBool;
      json.truth = text_[at_ - 2] == 'u';
    } else if (!take_word("null")) {
      json.kind = Json::Kind::kNumber;
      json.number = number();
    }
    return json;
  }

  double number() {
    const size_t begin = at_;
    while (std::string_view("+-.0123456789eE").find(peek()) != std::string_view::npos && peek())
      ++at_;
    const std::string digits(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    const bool leading_zero =
        digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
    if (digits.empty() || *end || digits[0] == '+' || leading_zero) fail("no number");
    return value;
  }

  std::string string() {
    expect('"');
    std::string out;
    while (peek() != '"') {
      if (at_ >= text_.size() || static_cast<unsigned char>(peek()) < 0x20) fail("bad string");
      if (peek() != '\\') {
        out += text_[at_++];
        continue;
      }
      const char escape = text_.at(at_ + 1);
      at_ += 2;
      if (escape == 'u') {
        out +=
            static_cast<char>(std::strtol(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16));
        at_ += 4;
      } else if (escape == '"' || escape == '\\') {
        out += escape;
      } else {
        fail("an escape that is never written");
      }
    }
    ++at_;
    return out;
  }

  Json array() {
    Json json;
    json.kind = Json::Kind::kArray;
    expect('[');
    if (take(']')) return json;
    do json.items.push_back(value());
    while (take(','));
    expect(']');
    return json;
  }

  Json object() {
    Json json;
    json.kind = Json::Kind::kObject;
    expect('{');
    if (take('}')) return json;
    do {
      skip_spaces();
      const std::string name = string();
      expect(':');
      if (!json.members.emplace(name, value()).second) fail("member " + name + " twice");
    } while (take(','));
    expect('}');
    return json;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace deepbench::testing
