// Follows section 3 of RFC 7693.
#include "deepbench/core/blake2s.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace deepbench {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr std::array<uint32_t, 8> kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
// The order in which each round mixes the words of a block.
constexpr uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

uint32_t rotate_right(uint32_t word, int bits) { return (word >> bits) | (word << (32 - bits)); }

uint32_t load_word(const unsigned char* bytes) {
  return uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 |
         uint32_t(bytes[3]) << 24;
}

void mix(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t x, uint32_t y) {
  a += b + x, d = rotate_right(d ^ a, 16);
  c += d, b = rotate_right(b ^ c, 12);
  a += b + y, d = rotate_right(d ^ a, 8);
  c += d, b = rotate_right(b ^ c, 7);
}

class Hash {
 public:
  Hash(size_t key_bytes, size_t digest_bytes) : state_(kInitial) {
    state_[0] ^= 0x01010000 ^ uint32_t(key_bytes << 8) ^ uint32_t(digest_bytes);
  }

  // `block` has kBlockBytes bytes, of which `count` belong to the message and the rest are zero.
  void compress(const unsigned char* block, size_t count, bool is_last) {
    hashed_ += count;
    uint32_t m[16], v[16];
    for (size_t i = 0; i < 16; ++i) m[i] = load_word(block + 4 * i);
    std::copy(state_.begin(), state_.end(), v);
    std::copy(kInitial.begin(), kInitial.end(), v + 8);
    v[12] ^= uint32_t(hashed_), v[13] ^= uint32_t(hashed_ >> 32);
    if (is_last) v[14] = ~v[14];
    for (const auto& order : kOrder) {
      for (size_t i = 0; i < 4; ++i)  // the columns, then the diagonals
        mix(v[i], v[4 + i], v[8 + i], v[12 + i], m[order[2 * i]], m[order[2 * i + 1]]);
      for (size_t i = 0; i < 4; ++i)
        mix(v[i], v[4 + (i + 1) % 4], v[8 + (i + 2) % 4], v[12 + (i + 3) % 4], m[order[8 + 2 * i]],
            m[order[9 + 2 * i]]);
    }
    for (size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[8 + i];
  }

  std::string digest(size_t bytes) const {
    std::string text(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(state_[i / 4] >> (i % 4 * 8));
    return text;
  }

 private:
  std::array<uint32_t, 8> state_;
  uint64_t hashed_ = 0;  // bytes
};

}  // namespace

std::string blake2s(std::string_view key, std::string_view message, size_t bytes) {
  Hash hash(key.size(), bytes);
  std::array<unsigned char, kBlockBytes> block{};
  if (!key.empty()) {
    std::memcpy(block.data(), key.data(), key.size());
    hash.compress(block.data(), kBlockBytes, message.empty());
    if (message.empty()) return hash.digest(bytes);
  }
  do {  // an empty message has one empty block
    const size_t count = std::min(message.size(), kBlockBytes);
    block.fill(0);
    std::memcpy(block.data(), message.data(), count);
    message.remove_prefix(count);
    hash.compress(block.data(), count, message.empty());
  } while (!message.empty());
  return hash.digest(bytes);
}

bool is_equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace deepbench
