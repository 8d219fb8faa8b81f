// Compiled kernels on disk, so that a process need not wait for the compiler. Any problem with the
// cache or one of its files only causes a new compilation. Each file begins with a header that
// contains the format, the sizes of the following parts and their checksum; the parts are the full
// key, the kernel's name and its code. The files contain machine code that the process will run:
// neither files nor a folder of them that another user owns or can write are used. Header-only, for
// backends.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
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
inline constexpr time_t kTemporaryLifetime = 24 * 60 * 60;  // seconds

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

// A file or a folder. `name` is the absolute path of a folder; files are opened relative to the
// descriptor of their folder, because a user who can write a folder above it could replace its name
// by a link at any time.
class CacheFile {
 public:
  CacheFile(int folder, const char* name, int flags)
      : descriptor_(openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)) {}
  ~CacheFile() { close(); }
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  // Whether this is of the type (S_IFREG, S_IFDIR), belongs to this user or to root, and only its
  // owner can write it.
  bool is_trusted(mode_t type) const {
    struct stat facts = {};
    return fstat(descriptor_, &facts) == 0 && (facts.st_mode & S_IFMT) == type &&
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

inline CacheFile open_folder(const std::filesystem::path& folder) {
  return CacheFile(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
}

inline std::optional<std::string> contents_of(const std::filesystem::path& path) {
  const CacheFile folder = open_folder(path.parent_path());
  if (!folder.is_trusted(S_IFDIR)) return std::nullopt;
  // Does not block on a pipe.
  const CacheFile file(folder.descriptor(), path.filename().c_str(), O_RDONLY | O_NONBLOCK);
  if (!file.is_trusted(S_IFREG)) return std::nullopt;
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
inline void write_and_rename(int folder, const std::string& temporary, const std::string& finished,
                             const std::string& text) {
  CacheFile file(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) return;
  const bool written = file.write_all(text);
  if (!file.close() || !written ||
      renameat(folder, temporary.c_str(), folder, finished.c_str()) != 0)
    unlinkat(folder, temporary.c_str(), 0);
}

// Removes temporary files that killed processes left behind.
inline void remove_leftovers(int folder) {
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = own < 0 ? nullptr : fdopendir(own);  // takes the descriptor
  if (!entries) return;
  const time_t oldest = std::time(nullptr) - kTemporaryLifetime;
  while (const dirent* entry = readdir(entries)) {
    if (std::filesystem::path(entry->d_name).extension() != kTemporarySuffix) continue;
    struct stat facts = {};  // another process may remove the same files
    const int found = fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW);
    if (found == 0 && facts.st_mtime < oldest) unlinkat(folder, entry->d_name, 0);
  }
  closedir(entries);
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
  if (!kernel_files::make_folders(kernels)) return false;
  const kernel_files::CacheFile folder = kernel_files::open_folder(kernels);
  return folder.is_trusted(S_IFDIR) && faccessat(folder.descriptor(), ".", W_OK | X_OK, 0) == 0;
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
  const kernel_files::CacheFile folder = kernel_files::open_folder(file.parent_path());
  if (!folder.is_trusted(S_IFDIR)) return;
  kernel_files::remove_leftovers(folder.descriptor());
  const std::string name = file.filename();
  const std::string temporary = name + "." + std::to_string(getpid()) + "." +
                                std::to_string(counter++) + kernel_files::kTemporarySuffix;
  kernel_files::write_and_rename(folder.descriptor(), temporary, name,
                                 kernel_files::serialize(key, image));
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
