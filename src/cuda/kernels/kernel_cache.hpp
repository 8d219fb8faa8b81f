// Compiled kernels on disk, so that a process need not wait for the compiler. Any problem with the
// cache or one of its files only causes a new compilation. Files that other users own or can write
// are not read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace deepbench::cuda {

// The result of a compilation.
struct Image {
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
  std::optional<Image> load(const std::string& key) const;
  // Readers see the whole image or none. Does not throw if the folder cannot be written.
  void store(const std::string& key, const Image& image) const;

  std::filesystem::path file_of(const std::string& key) const;  // requires a folder

 private:
  std::optional<std::filesystem::path> folder_;
};

// DEEPBENCH_CACHE_DIR, otherwise XDG_CACHE_HOME/deepbench, otherwise ~/.cache/deepbench. Returns
// nothing without a home folder, or if DEEPBENCH_CACHE_DIR is a relative path, which would depend
// on the working folder.
std::optional<std::filesystem::path> cache_folder();

}  // namespace deepbench::cuda
