// Tests BLAKE2s against digests that another implementation (Python's hashlib) computed.
#include "deepbench/core/blake2s.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace deepbench {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += "0123456789abcdef"[value >> 4];
    text += "0123456789abcdef"[value & 15];
  }
  return text;
}

std::string counting(size_t count) {
  std::string bytes(count, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

TEST_CASE("digests with and without a key, of messages around a block's size") {
  CHECK(hex(blake2s("", "", 32)) ==
        "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9");
  CHECK(hex(blake2s("", "abc", 32)) ==
        "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
  CHECK(hex(blake2s("key", "", 16)) == "a3b4183afaf6e74cde1a7043777d5486");
  CHECK(hex(blake2s("key", counting(200), 16)) == "7f473ff31c7ea41de95843933c3b0d16");
  CHECK(hex(blake2s(counting(32), counting(128), 32)) ==
        "0c311f38c35a4fb90d651c289d486856cd1413df9b0677f53ece2cd9e477c60a");
  CHECK(hex(blake2s("k", std::string(64, 'x'), 16)) == "2e59089d0e5f48f730e4bcb75e95c42c");
}

TEST_CASE("texts are compared to their ends") {
  CHECK(is_equal_in_constant_time("", ""));
  CHECK(is_equal_in_constant_time("tag", "tag"));
  CHECK_FALSE(is_equal_in_constant_time("tag", "tab"));
  CHECK_FALSE(is_equal_in_constant_time("tag", "ta"));
  CHECK_FALSE(is_equal_in_constant_time("tag", std::string_view("tag\0", 4)));
}

}  // namespace
}  // namespace deepbench
