// The cache of compiled kernels: stored images are loaded again, and any defect of the cache is
// only a miss.
#include "deepbench/backend/kernel_cache.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "../forked_process.hpp"
#include "../scoped_environment_variable.hpp"
#include "../temporary_folder.hpp"

namespace deepbench::plugin {
namespace {

using testing::ScopedEnvironmentVariable;
using testing::TemporaryFolder;

const std::string kKey("a key\nof several lines");
const CompiledImage kImage = {std::string("machine\0code", 12), "name"};

bool is_same(const std::optional<CompiledImage>& got, const CompiledImage& expected) {
  return got && got->code == expected.code && got->entry == expected.entry;
}

std::string file_contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void overwrite_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

size_t files_in(const std::filesystem::path& folder) {
  return size_t(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("cache: a stored image is loaded again, only under its key") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  CHECK_FALSE(cache.load(kKey));
  cache.store(kKey, kImage);
  CHECK(is_same(cache.load(kKey), kImage));
  CHECK_FALSE(cache.load(kKey + " "));
  const CompiledImage other = {"other code", ""};
  cache.store(kKey, other);
  CHECK(is_same(cache.load(kKey), other));
  CHECK(files_in(cache.file_of(kKey).parent_path()) == 1);  // no temporary file is left
}

TEST_CASE("cache: an incomplete or changed file is a miss") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store(kKey, kImage);
  const std::filesystem::path file = cache.file_of(kKey);
  const std::string whole = file_contents(file);
  for (size_t length = 0; length < whole.size(); ++length) {
    overwrite_file(file, whole.substr(0, length));
    CHECK_FALSE(cache.load(kKey));
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = char(changed[i] ^ 1);
    overwrite_file(file, changed);
    CHECK_FALSE(cache.load(kKey));
  }
  overwrite_file(file, whole + "x");
  CHECK_FALSE(cache.load(kKey));
  overwrite_file(file, whole);
  CHECK(is_same(cache.load(kKey), kImage));
}

TEST_CASE("cache: the file of another key with the same file name is a miss") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store("other", kImage);
  std::filesystem::copy(cache.file_of("other"), cache.file_of("wrong"));
  CHECK_FALSE(cache.load("wrong"));
}

TEST_CASE("cache: a folder that cannot be created, read or written causes only misses") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "not a folder");
  for (const std::string& path : {file, file + "/below", std::string("/proc/nothing/here")}) {
    const KernelCache cache(path);
    cache.store(kKey, kImage);
    CHECK_FALSE(cache.load(kKey));
  }
  const KernelCache none(std::nullopt);
  none.store(kKey, kImage);
  CHECK_FALSE(none.load(kKey));

  const KernelCache cache(folder.path());
  std::filesystem::create_directories(cache.file_of(kKey));  // a folder instead of the file
  cache.store(kKey, kImage);
  CHECK_FALSE(cache.load(kKey));
}

TEST_CASE("cache: two processes can store the same key concurrently") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  const CompiledImage large = {std::string(1 << 20, 'x'), "large"};
  testing::ForkedProcess child([&] {
    for (int i = 0; i < 50; ++i) cache.store(kKey, large);
    return 0;
  });
  int wrong = 0, found = 0;
  while (!child.has_ended()) {
    cache.store(kKey, large);
    const std::optional<CompiledImage> got = cache.load(kKey);
    wrong += !is_same(got, large);
    found += got.has_value();
  }
  CHECK(child.end() == 0);
  CHECK(wrong == 0);
  CHECK(found > 0);
  CHECK(files_in(cache.file_of(kKey).parent_path()) == 1);
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat facts = {};
  REQUIRE(lstat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777u;
}

TEST_CASE("cache: files and folders are accessible only to the user") {
  const TemporaryFolder folder;
  const KernelCache cache(folder / "made/by us");
  const mode_t before = umask(0);
  cache.store(kKey, kImage);
  umask(before);
  CHECK(is_same(cache.load(kKey), kImage));
  CHECK(mode_of(cache.file_of(kKey)) == 0600u);
  for (const char* created : {"made", "made/by us", "made/by us/kernels"})
    CHECK(mode_of(folder / created) == 0700u);
}

TEST_CASE("cache: a file that another user could have written is a miss and is replaced") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store(kKey, kImage);
  const std::filesystem::path file = cache.file_of(kKey);
  for (const unsigned mode : {0620u, 0602u}) {
    REQUIRE(chmod(file.c_str(), mode) == 0);
    CHECK_FALSE(cache.load(kKey));
    cache.store(kKey, kImage);
    CHECK(is_same(cache.load(kKey), kImage));
  }
  if (geteuid() != 0) return;  // only root can change the owner
  REQUIRE(chown(file.c_str(), 12345, gid_t(-1)) == 0);
  CHECK_FALSE(cache.load(kKey));
  cache.store(kKey, kImage);
  CHECK(is_same(cache.load(kKey), kImage));
}

TEST_CASE("cache: a folder of kernels that others can write, or a link, is not used") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store(kKey, kImage);
  const std::filesystem::path kernels = cache.file_of(kKey).parent_path();
  const auto is_unused = [&] {
    cache.store("other", kImage);
    return !cache.is_writable() && !cache.load(kKey) &&
           !std::filesystem::exists(cache.file_of("other"));
  };
  for (const unsigned mode : {0720u, 0702u, 0777u, 01777u}) {
    REQUIRE(chmod(kernels.c_str(), mode) == 0);
    CHECK(is_unused());
  }
  REQUIRE(chmod(kernels.c_str(), 0700) == 0);
  std::filesystem::rename(kernels, folder / "elsewhere");
  std::filesystem::create_directory_symlink(folder / "elsewhere", kernels);
  CHECK(is_unused());
  std::filesystem::remove(kernels);
  std::filesystem::rename(folder / "elsewhere", kernels);
  // The folder above may belong to all: kernels lie in a folder of the user's own.
  REQUIRE(chmod(folder.path().c_str(), 0777) == 0);
  CHECK(cache.is_writable());
  CHECK(is_same(cache.load(kKey), kImage));
}

TEST_CASE("cache: links are not followed, and pipes do not block") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store(kKey, kImage);
  const std::filesystem::path file = cache.file_of(kKey);
  const std::string elsewhere = folder / "elsewhere";
  std::filesystem::rename(file, elsewhere);
  std::filesystem::create_symlink(elsewhere, file);
  CHECK_FALSE(cache.load(kKey));
  const CompiledImage other = {"other code", ""};
  const std::string whole = file_contents(elsewhere);
  cache.store(kKey, other);
  CHECK(is_same(cache.load(kKey), other));
  CHECK(file_contents(elsewhere) == whole);  // the link is replaced, not its target
  std::filesystem::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(cache.load(kKey));
}

TEST_CASE("cache: leftovers of killed processes are removed after a day") {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store(kKey, kImage);
  const std::filesystem::path finished = cache.file_of(kKey);
  const std::filesystem::path young = finished.string() + ".1.2.temporary";
  const std::filesystem::path old = finished.string() + ".1.3.temporary";
  for (const auto& path : {young, old}) overwrite_file(path, "half");
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& path : {finished, old})
    std::filesystem::last_write_time(path, now - std::chrono::hours(25));
  cache.store("another", kImage);
  CHECK_FALSE(std::filesystem::exists(old));
  CHECK(std::filesystem::exists(young));
  CHECK(is_same(cache.load(kKey), kImage));  // finished files do not expire
}

TEST_CASE("cache: environment variables determine the folder") {
  const ScopedEnvironmentVariable home("HOME", "/home/somebody"),
      xdg("XDG_CACHE_HOME", std::nullopt), explicit_folder("DEEPBENCH_CACHE_DIR", std::nullopt);
  CHECK(*cache_folder() == "/home/somebody/.cache/deepbench");
  {
    const ScopedEnvironmentVariable relative("XDG_CACHE_HOME", "relative");
    CHECK(*cache_folder() == "/home/somebody/.cache/deepbench");
    const ScopedEnvironmentVariable absolute("XDG_CACHE_HOME", "/caches");
    CHECK(*cache_folder() == "/caches/deepbench");
    const ScopedEnvironmentVariable chosen("DEEPBENCH_CACHE_DIR", "/here");
    CHECK(*cache_folder() == "/here");
    const ScopedEnvironmentVariable anywhere("DEEPBENCH_CACHE_DIR", "here");
    CHECK_FALSE(cache_folder());
  }
  const ScopedEnvironmentVariable empty("DEEPBENCH_CACHE_DIR", "");
  const ScopedEnvironmentVariable homeless("HOME", std::nullopt);
  CHECK_FALSE(cache_folder());
}

}  // namespace
}  // namespace deepbench::plugin
