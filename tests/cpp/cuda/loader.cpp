// The choice of libraries and the reasons for refusals, with fake libraries in place of NVIDIA's.
#include "loader.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "fake_installation.hpp"
#include "python_packages.hpp"

namespace deepbench::cuda_test {
namespace {

using namespace cuda;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::map<std::string, LibraryReport> by_name(Loader& loader) {
  std::map<std::string, LibraryReport> reports;
  for (const LibraryReport& report : loader.all_reports()) reports[report.name] = report;
  return reports;
}

TEST_CASE("all libraries of a toolkit are found, with version, path and origin") {
  const FakeInstallation installation;
  installation.add_toolkit("lib", 13010);
  installation.add("driver/libcuda.so.1", 13000);
  installation.add("driver/libnvidia-ml.so.1", 13000);
  Loader loader = installation.loader({"lib"}, {"driver"});
  const auto reports = loader.all_reports();
  CHECK(reports.size() == 11);
  CHECK(reports[0].name == "driver");
  CHECK(reports[1].name == "cudart");
  for (const LibraryReport& report : reports) {
    INFO(report.name);
    CHECK(report.reason == "");
    CHECK(report.path.front() == '/');
    CHECK(report.found_by == (report.name == "driver" || report.name == "nvml" ? "driver" : "lib"));
  }
  CHECK(reports[0].version == "13.0");
  CHECK(reports[1].version == "13.1");
  CHECK(by_name(loader)["cublaslt"].version == "13.1.7");
  CHECK(by_name(loader)["cudnn"].version == "9.28.7");
  CHECK(by_name(loader)["nccl"].version == "2.28.7");
  CHECK(loader.mixed_major_warnings().empty());
  CHECK(bool(loader.get<nvidia::Cudart>().table.cudaMalloc));
}

TEST_CASE("without an installation, each library reports its name and how to install it") {
  const FakeInstallation installation;
  Loader loader = installation.loader({"lib"}, {"driver"});
  for (const LibraryReport& report : loader.all_reports()) {
    INFO(report.name);
    CHECK_FALSE(report.usable());
    CHECK(contains(report.reason, " was not found; "));
    CHECK(report.version == "");
    CHECK(report.path == "");
  }
  CHECK(by_name(loader)["cublaslt"].reason ==
        "libcublasLt.so.13 was not found; pip install 'cuda-toolkit[cublas]==13.*'");
  CHECK(contains(by_name(loader)["driver"].reason, "libcuda.so.1"));
  CHECK(loader.mixed_major_warnings().empty());
}

TEST_CASE("a single missing library causes exactly one reason") {
  for (const int version : {12090, 13000})
    for (const std::string& missing : FakeInstallation::toolkit(version)) {
      INFO(missing);
      const FakeInstallation installation;
      installation.add_toolkit("lib", version, missing);
      installation.add("driver/libcuda.so.1", 13000);
      Loader loader = installation.loader({"lib"}, {"driver"});
      int absent = 0;
      for (const LibraryReport& report : loader.all_reports()) {
        if (report.name == "nvml" || report.usable()) continue;
        ++absent;
        INFO(report.reason);
        if (report.name == "cudart")  // without a runtime, the major version is unknown
          CHECK(contains(report.reason,
                         "libcudart.so.13 was not found; " + cuda::install_command(13)));
        else
          CHECK(report.reason.rfind(missing + " was not found; pip install ", 0) == 0);
      }
      CHECK(absent == 1);
    }
}

TEST_CASE("the driver determines the major version") {
  const FakeInstallation installation;
  installation.add_toolkit("lib", 13000);
  installation.add_toolkit("lib12", 12090);
  std::filesystem::copy(installation.path("lib12/libcudart.so.12"),
                        installation.path("lib/libcudart.so.12"));
  installation.folder().write("lib/libcudart.so.12.cuda", "12090");
  installation.add("d13/libcuda.so.1", 13000);
  installation.add("d12/libcuda.so.1", 12040);
  installation.add("d11/libcuda.so.1", 11040);
  const auto version = [&](const std::string& driver) {
    Loader loader = installation.loader({"lib"}, {driver});
    const LibraryReport& report = loader.get<nvidia::Cudart>().report;
    return report.usable() ? report.version : report.reason;
  };
  CHECK(version("d13") == "13.0");
  CHECK(version("d12") == "12.9");
  CHECK(version("none") == "13.0");
  CHECK(version("d11") == "the driver is for CUDA 11.4, too old for CUDA 12: update it");
}

TEST_CASE("a library that needs a newer driver reports it, with the extra that suits the driver") {
  const FakeInstallation installation;
  installation.add_toolkit("lib", 13000);
  installation.add("driver/libcuda.so.1", 12040);
  Loader loader = installation.loader({"lib"}, {"driver"});
  CHECK(loader.get<nvidia::Cudart>().report.reason ==
        installation.path("lib/libcudart.so.13") +
            " needs a driver for CUDA 13, this one is for CUDA 12.4; " + cuda::install_command(12));
}

TEST_CASE("the nearest runtime determines the major version of all libraries") {
  const FakeInstallation installation;
  installation.add_toolkit("near", 12090);
  installation.add_toolkit("far", 13000);
  installation.add("driver/libcuda.so.1", 13000);
  Loader loader = installation.loader({"near", "far"}, {"driver"});
  for (const LibraryReport& report : loader.all_reports())
    if (report.name != "driver" && report.name != "nvml") CHECK(report.found_by == "near");
}

TEST_CASE("files with the same name in both major versions are chosen by their folder") {
  const FakeInstallation installation;
  const std::string wheels = "site-packages/nvidia/";
  installation.add_toolkit(wheels + "cu13/lib", 13000);
  for (const char* package : {"cuda_runtime", "cusparse"}) {
    const std::string folder = wheels + package + "/lib/";
    installation.add(
        folder + (package[1] == 'u' && package[2] == 's' ? "libcusparse.so.12" : "libcudart.so.12"),
        12090);
  }
  installation.add("d13/libcuda.so.1", 13000);
  installation.add("d12/libcuda.so.1", 12090);
  const std::vector<std::string> folders = {wheels + "cu13/lib", wheels + "cuda_runtime/lib",
                                            wheels + "cusparse/lib"};
  Loader on_13 = installation.loader(folders, {"d13"});
  CHECK(on_13.get<nvidia::Cusparse>().report.version == "12.6.7");
  Loader on_12 = installation.loader(folders, {"d12"});
  CHECK(on_12.get<nvidia::Cudart>().report.version == "12.9");
  CHECK(on_12.get<nvidia::Cusparse>().report.version == "12.5.7");
}

TEST_CASE("libraries of mixed major versions are used and named") {
  const FakeInstallation installation;
  installation.add_toolkit("lib", 13000, "libcudnn.so.9");
  installation.add_cudnn("lib", 12090);
  Loader loader = installation.loader({"lib"});
  CHECK(loader.get<nvidia::Cudnn>().report.usable());
  const auto lines = loader.mixed_major_warnings();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "cudnn 9.28.7 (" + installation.path("lib/libcudnn.so.9") +
                        ") was made for CUDA 12, cudart 13.0 (" +
                        installation.path("lib/libcudart.so.13") +
                        ") for CUDA 13: install all of one of the two");
}

TEST_CASE("cuDNN without one of its parts is not used") {
  const FakeInstallation installation;
  installation.add("lib/libcudart.so.13", 13000);
  installation.add_cudnn("lib", 13000, "_ops");
  installation.folder().write("lib/libcudnn_ops.so.9", "no library");
  Loader loader = installation.loader({"lib"});
  const std::string reason = loader.get<nvidia::Cudnn>().report.reason;
  CHECK(reason.rfind(installation.path("lib/libcudnn.so.9") + " needs libcudnn_ops.so.9: ", 0) ==
        0);
  CHECK(contains(reason, "; pip install nvidia-cudnn-cu13"));
}

TEST_CASE("NVRTC is used only if its builtins library can be opened") {
  const FakeInstallation installation;
  installation.add("lib/libcudart.so.13", 13000);
  installation.add("lib/libnvrtc.so.13", 13990);
  Loader without = installation.loader({"lib"});
  CHECK(without.get<nvidia::Nvrtc>().report.reason.rfind(
            installation.path("lib/libnvrtc.so.13") + " needs libnvrtc-builtins.so.13.99: ", 0) ==
        0);
  installation.add_builtins("lib", 13990);
  Loader with = installation.loader({"lib"});
  CHECK(with.get<nvidia::Nvrtc>().report.usable());
  void* open =
      dlopen(installation.path("lib/libnvrtc-builtins.so.13.99").c_str(), RTLD_LAZY | RTLD_NOLOAD);
  CHECK(open != nullptr);
  if (open) dlclose(open);
}

TEST_CASE("a library of another major version is used if none matches the runtime") {
  const FakeInstallation installation;
  installation.add("lib/libcudart.so.13", 13000);
  installation.add("lib/libcublasLt.so.12", 12090);
  installation.add("driver/libcuda.so.1", 13000);
  Loader loader = installation.loader({"lib"}, {"driver"});
  CHECK(loader.get<nvidia::CublasLt>().report.usable());
  CHECK(loader.mixed_major_warnings().size() == 1);
}

TEST_CASE("folders of stubs are skipped") {
  const FakeInstallation installation;
  installation.add("cuda/lib64/stubs/libcuda.so.1", 0);
  installation.add("copied/libcuda.so.1", 0);
  installation.add("driver/libcuda.so.1", 13000);
  Loader loader = installation.loader({}, {"cuda/lib64/stubs", "copied", "driver"});
  CHECK(loader.get<nvidia::Driver>().report.path == installation.path("driver/libcuda.so.1"));
  for (const std::string folder : {"cuda/lib64/stubs", "copied"}) {
    Loader without = installation.loader({}, {folder});
    const std::string reason = without.get<nvidia::Driver>().report.reason;
    CHECK(contains(reason, installation.path(folder + "/libcuda.so.1") + " is the toolkit's stub"));
    CHECK(contains(reason, "; no other libcuda.so.1 was found"));
  }
}

TEST_CASE("a library that is too old is named with its version and the missing function") {
  const FakeInstallation installation;
  installation.add("lib/libcudart.so.12", 12010);
  installation.add("lib/libcublasLt.so.12", 12010, "fake_old_cuda");
  Loader loader = installation.loader({"lib"});
  CHECK(loader.get<nvidia::CublasLt>().report.reason ==
        installation.path("lib/libcublasLt.so.12") +
            " (12.1.7) is too old: it has no cublasLtMatmul; pip install "
            "'cuda-toolkit[cublas]==12.*'");
}

TEST_CASE("a cuDNN that is too old is named with its version and the missing function") {
  const FakeInstallation installation;
  installation.add("lib/libcudart.so.12", 12090);
  installation.add_cudnn("lib", 12090);
  std::filesystem::remove(installation.path("lib/libcudnn.so.9"));
  installation.add("lib/libcudnn.so.9", 12090, "fake_old_cuda");
  Loader loader = installation.loader({"lib"});
  CHECK(loader.get<nvidia::Cudnn>().report.reason ==
        installation.path("lib/libcudnn.so.9") +
            " (9.28.7) is too old: it has no cudnnBackendExecute; pip install nvidia-cudnn-cu12");
}

TEST_CASE("a broken file is named, and a later location is used") {
  const FakeInstallation installation;
  installation.add("good/libcudart.so.13", 13000);
  std::filesystem::create_directories(installation.path("bad"));
  installation.folder().write("bad/libcudart.so.13", "no library");
  Loader only = installation.loader({"bad"});
  CHECK(
      contains(only.get<nvidia::Cudart>().report.reason, installation.path("bad/libcudart.so.13")));
  Loader both = installation.loader({"bad", "good"});
  CHECK(both.get<nvidia::Cudart>().report.usable());
}

TEST_CASE("NVML that does not start reports the reason") {
  const FakeInstallation installation;
  installation.add("driver/libnvidia-ml.so.1", 4);
  Loader loader = installation.loader({}, {"driver"});
  CHECK(loader.get<nvidia::Nvml>().report.reason ==
        installation.path("driver/libnvidia-ml.so.1") + ": Insufficient Permissions");
}

TEST_CASE("a file can be named instead of a folder, and links are resolved") {
  const FakeInstallation installation;
  installation.add("real/libcudart.so.13.0.96", 13000);
  Loader by_file = installation.loader({"real/libcudart.so.13.0.96"});
  CHECK(by_file.get<nvidia::Cudart>().report.usable());
  std::filesystem::create_directories(installation.path("links"));
  installation.folder().link("links/libcudart.so.13",
                             installation.path("real/libcudart.so.13.0.96"));
  Loader by_link = installation.loader({"links"});
  CHECK(by_link.get<nvidia::Cudart>().report.path ==
        installation.path("real/libcudart.so.13.0.96"));
}

}  // namespace
}  // namespace deepbench::cuda_test
