// A folder for one test, deleted when the test ends.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace deepbench::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int made = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("deepbench_tests_" + std::to_string(getpid()) + "_" + std::to_string(made++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  std::string write(const std::string& name, const std::string& content = "") const {
    std::ofstream(path_ / name) << content;
    return *this / name;
  }
  std::string link(const std::string& name, const std::string& target) const {
    std::filesystem::create_symlink(target, path_ / name);
    return *this / name;
  }
  std::vector<std::string> lines(const std::string& name) const {
    std::ifstream file(path_ / name);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace deepbench::testing
