// Compiled kernels on disk, so that a process need not wait for the compiler. Any problem with the
// cache or one of its files only causes a new compilation. Each file begins with a header that
// contains the format, the sizes of the following parts and their checksum; the parts are the full
// key, the kernel's name and its code. The files contain machine code that the process will run, so
// files that another user owns or can write are not read. Header-only, for backends.
#pragma once

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
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace deepbench::plugin {

// The result of a compilation.
struct CompiledImage {
  std::string code;   // machine code, or PTX with a terminating 0
  std::string entry;  // the kernel's name in the code; empty if the caller knows it
};

class KernelCache {
 public:
  // Without a folder, the cache stores nothing.
  explicit KernelCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  // Whether the cache has a folder and can write to it.
  bool is_writable() const;
  // The image stored under exactly this key, if its file exists and is intact.
  std::optional<CompiledImage> load(const std::string& key) const;
  // Readers see the whole image or none. Does not throw if the folder cannot be written.
  void store(const std::string& key, const CompiledImage& image) const;

  std::filesystem::path file_of(const std::string& key) const;  // requires a folder

 private:
  std::optional<std::filesystem::path> folder_;
};

namespace kernel_files {

inline constexpr const char* kKernels = "kernels";  // the subfolder of the cache folder
inline constexpr std::array<char, 24> kMagic = {"deepbench kernel, v1\n"};
inline constexpr const char* kTemporarySuffix = ".temporary";
// An older temporary file belongs to a killed process.
inline constexpr std::chrono::hours kTemporaryLifetime{24};

struct FileHeader {
  std::array<char, 24> magic;
  uint64_t key_bytes, entry_bytes, code_bytes, checksum;
};

// The FNV-1a hash.
inline uint64_t hash_of(const std::string& text, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

inline std::string hexadecimal(uint64_t number) {
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

inline std::optional<std::string> contents_of(const std::filesystem::path& path) {
  const CacheFile file(path, O_RDONLY | O_NONBLOCK);  // does not block on a pipe
  if (!file.is_open() || !file.is_trusted()) return std::nullopt;
  return file.contents();
}

inline std::string serialize(const std::string& key, const CompiledImage& image) {
  const std::string body = key + image.entry + image.code;
  const FileHeader header = {kMagic, key.size(), image.entry.size(), image.code.size(),
                             hash_of(body)};
  std::string text(sizeof header, '\0');
  std::memcpy(text.data(), &header, sizeof header);
  return text + body;
}

inline std::optional<CompiledImage> deserialize(const std::string& text, const std::string& key) {
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
  return CompiledImage{body.substr(key.size() + header.entry_bytes),
                       body.substr(key.size(), header.entry_bytes)};
}

// Creates missing folders with access for this user only.
inline bool make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return true;
  if (folder.has_relative_path() && !make_folders(folder.parent_path())) return false;
  return mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

// Writes a new file and renames it. If the temporary file exists already, another process owns it,
// and nothing is written.
inline void write_and_rename(const std::filesystem::path& temporary,
                             const std::filesystem::path& finished, const std::string& text) {
  CacheFile file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) return;
  const bool written = file.write_all(text);
  if (!file.close() || !written || ::rename(temporary.c_str(), finished.c_str()) != 0)
    unlink(temporary.c_str());
}

// Removes temporary files that killed processes left behind.
inline void remove_leftovers(const std::filesystem::path& folder) {
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
inline std::optional<std::filesystem::path> folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value || !std::filesystem::path(value).is_absolute()) return std::nullopt;
  return value;
}

}  // namespace kernel_files

inline std::filesystem::path KernelCache::file_of(const std::string& key) const {
  const uint64_t hash = kernel_files::hash_of(key);
  return *folder_ / kernel_files::kKernels /
         (kernel_files::hexadecimal(hash) +
          kernel_files::hexadecimal(kernel_files::hash_of(key, ~hash)));
}

inline bool KernelCache::is_writable() const {
  if (!folder_) return false;
  const std::filesystem::path kernels = *folder_ / kernel_files::kKernels;
  return kernel_files::make_folders(kernels) && access(kernels.c_str(), W_OK | X_OK) == 0;
}

inline std::optional<CompiledImage> KernelCache::load(const std::string& key) const {
  if (!folder_) return std::nullopt;
  const std::optional<std::string> text = kernel_files::contents_of(file_of(key));
  return text ? kernel_files::deserialize(*text, key) : std::nullopt;
}

inline void KernelCache::store(const std::string& key, const CompiledImage& image) const {
  if (!folder_) return;
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path file = file_of(key);
  if (!kernel_files::make_folders(file.parent_path())) return;
  kernel_files::remove_leftovers(file.parent_path());
  std::filesystem::path temporary = file;
  temporary += "." + std::to_string(getpid()) + "." + std::to_string(counter++) +
               kernel_files::kTemporarySuffix;
  kernel_files::write_and_rename(temporary, file, kernel_files::serialize(key, image));
}

// DEEPBENCH_CACHE_DIR, otherwise XDG_CACHE_HOME/deepbench, otherwise ~/.cache/deepbench. Returns
// nothing without a home folder, or if DEEPBENCH_CACHE_DIR is a relative path, which would depend
// on the working folder.
inline std::optional<std::filesystem::path> cache_folder() {
  if (const char* chosen = std::getenv("DEEPBENCH_CACHE_DIR"); chosen && *chosen)
    return kernel_files::folder_from("DEEPBENCH_CACHE_DIR");
  if (const auto base = kernel_files::folder_from("XDG_CACHE_HOME")) return *base / "deepbench";
  if (const auto home = kernel_files::folder_from("HOME")) return *home / ".cache" / "deepbench";
  return std::nullopt;
}

}  // namespace deepbench::plugin
