// Compiled kernels on disk, so that a process need not wait for the compiler. Whatever is wrong
// with the cache, or with a file in it, costs a compilation and nothing else. What others own or
// can write is not read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace deepbench::cuda {

// What compiling gives.
struct Image {
  std::string code;   // machine code, or PTX ending in a 0
  std::string entry;  // the kernel's name in it; empty if the caller knows it
};

class KernelCache {
 public:
  // Without a folder nothing is kept.
  explicit KernelCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  // Whether there is a folder that can be written.
  bool is_writable() const;
  // The image stored under exactly this key, if there is one and it is whole.
  std::optional<Image> load(const std::string& key) const;
  // Readers see all of it or nothing. Never throws for a folder that cannot be written.
  void store(const std::string& key, const Image& image) const;

  std::filesystem::path file_of(const std::string& key) const;  // there must be a folder

 private:
  std::optional<std::filesystem::path> folder_;
};

// DEEPBENCH_CACHE_DIR, else deepbench in XDG_CACHE_HOME, else in ~/.cache; none without a home, nor
// with a DEEPBENCH_CACHE_DIR that is no absolute path: it would be the working folder's.
std::optional<std::filesystem::path> cache_folder();

}  // namespace deepbench::cuda
