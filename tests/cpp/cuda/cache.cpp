// The cache of compiled kernels: what is stored comes back, and nothing that is wrong with it is
// more than a miss.
#include "kernels/cache.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "../folder.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::Image;
using cuda::KernelCache;
using testing::Folder;

const std::string kKey("a key\nof several lines");
const Image kImage = {std::string("machine\0code", 12), "name"};

bool is_same(const std::optional<Image>& got, const Image& expected) {
  return got && got->code == expected.code && got->entry == expected.entry;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void overwrite(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

size_t files_in(const std::filesystem::path& folder) {
  return size_t(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("cache: what is stored comes back, under its key alone") {
  const Folder folder;
  const KernelCache cache(folder.path());
  CHECK_FALSE(cache.load(kKey));
  cache.store(kKey, kImage);
  CHECK(is_same(cache.load(kKey), kImage));
  CHECK_FALSE(cache.load(kKey + " "));
  const Image other = {"other code", ""};
  cache.store(kKey, other);
  CHECK(is_same(cache.load(kKey), other));
  CHECK(files_in(cache.file_of(kKey).parent_path()) == 1);  // nothing unfinished is left
}

TEST_CASE("cache: a file that is not whole is a miss") {
  const Folder folder;
  const KernelCache cache(folder.path());
  cache.store(kKey, kImage);
  const std::filesystem::path file = cache.file_of(kKey);
  const std::string whole = contents(file);
  for (size_t length = 0; length < whole.size(); ++length) {
    overwrite(file, whole.substr(0, length));
    CHECK_FALSE(cache.load(kKey));
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = char(changed[at] ^ 1);
    overwrite(file, changed);
    CHECK_FALSE(cache.load(kKey));
  }
  overwrite(file, whole + "x");
  CHECK_FALSE(cache.load(kKey));
  overwrite(file, whole);
  CHECK(is_same(cache.load(kKey), kImage));
}

TEST_CASE("cache: another key's file is a miss, should two keys ever have one name") {
  const Folder folder;
  const KernelCache cache(folder.path());
  cache.store("other", kImage);
  std::filesystem::copy(cache.file_of("other"), cache.file_of("wrong"));
  CHECK_FALSE(cache.load("wrong"));
}

TEST_CASE("cache: a folder that cannot be made, read or written costs nothing") {
  const Folder folder;
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
  std::filesystem::create_directories(cache.file_of(kKey));  // a folder in the file's place
  cache.store(kKey, kImage);
  CHECK_FALSE(cache.load(kKey));
}

TEST_CASE("cache: two processes at once") {
  const Folder folder;
  const KernelCache cache(folder.path());
  const Image large = {std::string(1 << 20, 'x'), "large"};
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (int i = 0; i < 50; ++i) cache.store(kKey, large);
    _exit(0);
  }
  int wrong = 0, found = 0, status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    cache.store(kKey, large);
    const std::optional<Image> got = cache.load(kKey);
    wrong += !is_same(got, large);
    found += got.has_value();
  }
  CHECK(status == 0);
  CHECK(wrong == 0);
  CHECK(found > 0);
  CHECK(files_in(cache.file_of(kKey).parent_path()) == 1);
}

// Sets a variable, or removes it, for its lifetime.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_CASE("cache: where it is") {
  const Variable home("HOME", "/home/somebody"), xdg("XDG_CACHE_HOME", nullptr),
      own("DEEPBENCH_CACHE_DIR", nullptr);
  CHECK(*cuda::cache_folder() == "/home/somebody/.cache/deepbench");
  {
    const Variable relative("XDG_CACHE_HOME", "relative");
    CHECK(*cuda::cache_folder() == "/home/somebody/.cache/deepbench");
    const Variable absolute("XDG_CACHE_HOME", "/caches");
    CHECK(*cuda::cache_folder() == "/caches/deepbench");
    const Variable chosen("DEEPBENCH_CACHE_DIR", "here");
    CHECK(*cuda::cache_folder() == "here");
  }
  const Variable empty("DEEPBENCH_CACHE_DIR", "");
  const Variable homeless("HOME", nullptr);
  CHECK_FALSE(cuda::cache_folder());
}

}  // namespace
}  // namespace deepbench::cuda_test
