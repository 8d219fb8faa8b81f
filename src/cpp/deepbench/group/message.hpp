// Encodes messages between ranks as bytes: consecutive fields, each text preceded by its length and
// each list by the number of its elements. All machines of a group have the same byte order, which
// the greeting verifies.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "deepbench/group/socket.hpp"

namespace deepbench {

class Packer {
 public:
  Packer& text(std::string_view text) {
    number(static_cast<uint64_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  template <class Number>
  Packer& number(Number value) {
    static_assert(std::is_arithmetic_v<Number> && sizeof(Number) == 8, "int64_t, uint64_t, double");
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& texts(const std::vector<std::string>& texts) {
    number(static_cast<uint64_t>(texts.size()));
    for (const std::string& one : texts) text(one);
    return *this;
  }
  Packer& numbers(const std::vector<double>& numbers) {
    number(static_cast<uint64_t>(numbers.size()));
    for (const double one : numbers) number(one);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws ConnectionError if the message is too short.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  std::string text() { return std::string(take_bytes(number<uint64_t>())); }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (auto left = number<uint64_t>(); left > 0; --left) texts.push_back(text());
    return texts;
  }
  std::vector<double> numbers() {
    std::vector<double> numbers;
    for (auto left = number<uint64_t>(); left > 0; --left) numbers.push_back(number<double>());
    return numbers;
  }

 private:
  std::string_view take_bytes(uint64_t count) {
    if (count > rest_.size()) throw ConnectionError("sent a truncated message");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace deepbench
