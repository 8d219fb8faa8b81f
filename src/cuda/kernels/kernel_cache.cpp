// The files of the cache. Each begins with a header that contains the format, the sizes of the
// following parts and their checksum; the parts are the full key, the kernel's name and its code.
// The files contain machine code that the process will run, so files that another user could have
// written are rejected.
#include "kernels/kernel_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace deepbench::cuda {
namespace {

constexpr const char* kKernels = "kernels";  // the subfolder of the cache folder
constexpr std::array<char, 24> kMagic = {"deepbench kernel, v1\n"};
constexpr const char* kTemporarySuffix = ".temporary";
// An older temporary file belongs to a killed process.
constexpr std::chrono::hours kTemporaryLifetime{24};

struct FileHeader {
  std::array<char, 24> magic;
  uint64_t key_bytes, entry_bytes, code_bytes, checksum;
};

// The FNV-1a hash.
uint64_t hash_of(const std::string& text, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hexadecimal(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

class CacheFile {
 public:
  CacheFile(const std::filesystem::path& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)) {}
  ~CacheFile() { close(); }
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }

  // Whether this is a regular file that belongs to this user or to root and that only its owner can
  // write.
  bool is_trusted() const {
    struct stat facts = {};
    return fstat(descriptor_, &facts) == 0 && S_ISREG(facts.st_mode) &&
           (facts.st_uid == geteuid() || facts.st_uid == 0) &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  std::optional<std::string> contents() const {
    std::string text;
    std::array<char, 1 << 16> part;
    while (true) {
      const ssize_t got = ::read(descriptor_, part.data(), part.size());
      if (got == 0) return text;
      if (got > 0)
        text.append(part.data(), size_t(got));
      else if (errno != EINTR)
        return std::nullopt;
    }
  }

  bool write_all(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
      if (written > 0)
        done += size_t(written);
      else if (written == 0 || errno != EINTR)
        return false;
    }
    return true;
  }

  // Some file systems report a lack of space only when the file is closed.
  bool close() {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor >= 0 && ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

std::optional<std::string> contents_of(const std::filesystem::path& path) {
  const CacheFile file(path, O_RDONLY | O_NONBLOCK);  // does not block on a pipe
  if (!file.is_open() || !file.is_trusted()) return std::nullopt;
  return file.contents();
}

std::string serialize(const std::string& key, const Image& image) {
  const std::string body = key + image.entry + image.code;
  const FileHeader header = {kMagic, key.size(), image.entry.size(), image.code.size(),
                             hash_of(body)};
  std::string text(sizeof header, '\0');
  std::memcpy(text.data(), &header, sizeof header);
  return text + body;
}

std::optional<Image> deserialize(const std::string& text, const std::string& key) {
  FileHeader header = {};
  if (text.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, text.data(), sizeof header);
  const std::string body = text.substr(sizeof header);
  if (header.magic != kMagic || header.key_bytes != key.size() ||
      header.entry_bytes > body.size() || header.code_bytes == 0 ||
      header.code_bytes > body.size() ||
      header.key_bytes + header.entry_bytes + header.code_bytes != body.size() ||
      header.checksum != hash_of(body) || body.compare(0, key.size(), key) != 0)
    return std::nullopt;
  return Image{body.substr(key.size() + header.entry_bytes),
               body.substr(key.size(), header.entry_bytes)};
}

// Creates missing folders with access for this user only.
bool make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return true;
  if (folder.has_relative_path() && !make_folders(folder.parent_path())) return false;
  return mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

// Writes a new file and renames it. If the temporary file exists already, another process owns it,
// and nothing is written.
void write_and_rename(const std::filesystem::path& temporary, const std::filesystem::path& finished,
                      const std::string& text) {
  CacheFile file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) return;
  const bool written = file.write_all(text);
  if (!file.close() || !written || ::rename(temporary.c_str(), finished.c_str()) != 0)
    unlink(temporary.c_str());
}

// Removes temporary files that killed processes left behind.
void remove_leftovers(const std::filesystem::path& folder) {
  const auto oldest = std::filesystem::file_time_type::clock::now() - kTemporaryLifetime;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != kTemporarySuffix) continue;
    std::error_code gone;  // another process may remove the same files
    const auto written = entry->last_write_time(gone);
    if (!gone && written < oldest) unlink(entry->path().c_str());
  }
}

// The absolute path in an environment variable. Any other value is ignored.
std::optional<std::filesystem::path> folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value || !std::filesystem::path(value).is_absolute()) return std::nullopt;
  return value;
}

}  // namespace

std::filesystem::path KernelCache::file_of(const std::string& key) const {
  const uint64_t hash = hash_of(key);
  return *folder_ / kKernels / (hexadecimal(hash) + hexadecimal(hash_of(key, ~hash)));
}

bool KernelCache::is_writable() const {
  if (!folder_) return false;
  const std::filesystem::path kernels = *folder_ / kKernels;
  return make_folders(kernels) && access(kernels.c_str(), W_OK | X_OK) == 0;
}

std::optional<Image> KernelCache::load(const std::string& key) const {
  if (!folder_) return std::nullopt;
  const std::optional<std::string> text = contents_of(file_of(key));
  return text ? deserialize(*text, key) : std::nullopt;
}

void KernelCache::store(const std::string& key, const Image& image) const {
  if (!folder_) return;
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path file = file_of(key);
  if (!make_folders(file.parent_path())) return;
  remove_leftovers(file.parent_path());
  std::filesystem::path temporary = file;
  temporary += "." + std::to_string(getpid()) + "." + std::to_string(counter++) + kTemporarySuffix;
  write_and_rename(temporary, file, serialize(key, image));
}

std::optional<std::filesystem::path> cache_folder() {
  if (const char* chosen = std::getenv("DEEPBENCH_CACHE_DIR"); chosen && *chosen)
    return folder_from("DEEPBENCH_CACHE_DIR");
  if (const auto base = folder_from("XDG_CACHE_HOME")) return *base / "deepbench";
  if (const auto home = folder_from("HOME")) return *home / ".cache" / "deepbench";
  return std::nullopt;
}

}  // namespace deepbench::cuda
