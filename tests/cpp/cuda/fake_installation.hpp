// Folders of fake libraries in the layouts of wheels and toolkits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "../paths.hpp"
#include "../temporary_folder.hpp"
#include "loader.hpp"

namespace deepbench::cuda_test {

class FakeInstallation {
 public:
  // Adds `file`, a path below the folder such as "nvidia/cu13/lib/libcudart.so.13".
  // fake/versions.cpp defines the meaning of `version`.
  void add(const std::string& file, int version, const std::string& fake = "fake_cuda") const {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::copy_file(testing::fake_cuda_folder() + ("/lib" + fake + ".so"), path);
    answer(file, version, 0);
  }
  // Sets what an existing fake library reports.
  void answer(const std::string& file, int version, int status) const {
    folder_.write(file + ".cuda", std::to_string(version) + " " + std::to_string(status));
  }
  // cuDNN consists of a front library and several parts.
  void add_cudnn(const std::string& folder, int version, const std::string& but = "none") const {
    for (const char* part : {"", "_graph", "_ops", "_cnn", "_adv"})
      if (part != but) add(folder + "/libcudnn" + part + ".so.9", version);
  }
  // NVRTC opens its builtins library itself.
  void add_builtins(const std::string& folder, int version) const {
    const std::string minor = std::to_string(version % 1000 / 10);
    add(folder + "/libnvrtc-builtins.so." + std::to_string(version / 1000) + "." + minor, version);
  }
  // Adds all libraries of the toolkit to one folder.
  void add_toolkit(const std::string& folder, int version, const std::string& but = "") const {
    for (const std::string& file : toolkit(version))
      if (file != but && file != "libcudnn.so.9") add(folder + "/" + file, version);
    if (but != "libcudnn.so.9") add_cudnn(folder, version);
    add_builtins(folder, version);
  }
  static std::vector<std::string> toolkit(int version) {
    const std::string major = std::to_string(version / 1000);
    return {"libcudart.so." + major,   "libnvrtc.so." + major,  "libnvJitLink.so." + major,
            "libcublasLt.so." + major, "libcublas.so." + major, "libcudnn.so.9",
            "libcusparse.so.12",       "libnccl.so.2",          "libnvtx3interop.so.1"};
  }

  std::string path(const std::string& file) const { return folder_ / file; }
  const testing::TemporaryFolder& folder() const { return folder_; }

  std::vector<cuda::Location> locations(const std::vector<std::string>& folders) const {
    std::vector<cuda::Location> all;
    for (const std::string& folder : folders) all.push_back({path(folder), folder});
    return all;
  }
  cuda::Loader loader(const std::vector<std::string>& toolkit,
                      const std::vector<std::string>& driver = {}) const {
    return {locations(toolkit), locations(driver)};
  }

 private:
  testing::TemporaryFolder folder_;
};

}  // namespace deepbench::cuda_test
