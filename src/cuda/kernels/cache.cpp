// The cache's files. Each begins with a line that names the format, the sizes of what follows and a
// checksum over it: the key, in full, then the kernel's name, then its code.
#include "kernels/cache.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace deepbench::cuda {
namespace {

constexpr std::array<char, 24> kMagic = {"deepbench kernel, v1\n"};

struct Head {
  std::array<char, 24> magic;
  uint64_t key_bytes, entry_bytes, code_bytes, checksum;
};

// FNV-1a.
uint64_t hash_of(const std::string& text, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hexadecimal(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

std::optional<std::string> contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();  // fails where the path is a folder's
  if (!text) return std::nullopt;
  return text.str();
}

std::string packed(const std::string& key, const Image& image) {
  const std::string body = key + image.entry + image.code;
  const Head head = {kMagic, key.size(), image.entry.size(), image.code.size(), hash_of(body)};
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), &head, sizeof head);
  return text + body;
}

std::optional<Image> unpacked(const std::string& text, const std::string& key) {
  Head head = {};
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data(), sizeof head);
  const std::string body = text.substr(sizeof head);
  if (head.magic != kMagic || head.key_bytes != key.size() || head.entry_bytes > body.size() ||
      head.code_bytes == 0 || head.code_bytes > body.size() ||
      head.key_bytes + head.entry_bytes + head.code_bytes != body.size() ||
      head.checksum != hash_of(body) || body.compare(0, key.size(), key) != 0)
    return std::nullopt;
  return Image{body.substr(key.size() + head.entry_bytes),
               body.substr(key.size(), head.entry_bytes)};
}

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file.good();
}

// An absolute path from the environment; others mean nothing in particular.
std::optional<std::filesystem::path> folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value || !std::filesystem::path(value).is_absolute()) return std::nullopt;
  return value;
}

}  // namespace

std::filesystem::path KernelCache::file_of(const std::string& key) const {
  const uint64_t hash = hash_of(key);
  return *folder_ / "kernels" / (hexadecimal(hash) + hexadecimal(hash_of(key, ~hash)));
}

std::optional<Image> KernelCache::load(const std::string& key) const {
  if (!folder_) return std::nullopt;
  const std::optional<std::string> text = contents_of(file_of(key));
  return text ? unpacked(*text, key) : std::nullopt;
}

void KernelCache::store(const std::string& key, const Image& image) const {
  if (!folder_) return;
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path file = file_of(key);
  std::filesystem::path unfinished = file;
  unfinished += "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".unfinished";
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) return;
  if (write_file(unfinished, packed(key, image))) std::filesystem::rename(unfinished, file, error);
  std::filesystem::remove(unfinished, error);
}

std::optional<std::filesystem::path> cache_folder() {
  if (const char* chosen = std::getenv("DEEPBENCH_CACHE_DIR"); chosen && *chosen) return chosen;
  if (const auto base = folder_from("XDG_CACHE_HOME")) return *base / "deepbench";
  if (const auto home = folder_from("HOME")) return *home / ".cache" / "deepbench";
  return std::nullopt;
}

}  // namespace deepbench::cuda
