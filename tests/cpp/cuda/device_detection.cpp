// The detection of devices, with fakes of the driver, the runtime and the device nodes.
#include "device_detection.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "../scoped_environment_variable.hpp"
#include "deepbench/plugin.hpp"
#include "fake_installation.hpp"

namespace deepbench::cuda {
namespace {

using cuda_test::FakeInstallation;
using std::filesystem::perms;
using testing::ScopedEnvironmentVariable;

constexpr int kInsufficientDriver = 35, kNoDevice = 100, kUnknown = 999;
constexpr uid_t kNobody = 65534;

// A machine with a driver, the runtime of CUDA 12.9 and one device.
class FakeMachine {
 public:
  FakeMachine() {
    installation_.add("driver/libcuda.so.1", 12090);
    installation_.add("lib/libcudart.so.12", 12090);
    std::filesystem::create_directories(installation_.path("dev"));
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia0"}) {
      installation_.folder().write(dev(node));
      std::filesystem::permissions(path(node), perms(0666));
    }
    for (const std::string& folder : {installation_.path(""), installation_.path("dev")})
      std::filesystem::permissions(folder, perms(0755));
  }

  void driver_answers(int status) { installation_.answer("driver/libcuda.so.1", 12090, status); }
  void runtime_answers(int status) { installation_.answer("lib/libcudart.so.12", 12090, status); }
  void remove(const std::string& file) { std::filesystem::remove(installation_.path(file)); }
  void forbid(const std::string& node) { std::filesystem::permissions(path(node), perms(0400)); }
  std::string dev(const std::string& node) const { return "dev/" + node; }
  std::string path(const std::string& node) const { return installation_.path(dev(node)); }

  int32_t count() const {
    Loader loader = installation_.loader({"lib"}, {"driver"});
    return count_devices(loader, installation_.path("dev"));
  }
  // The number of devices, or the reason why none can be used.
  std::string devices() const {
    try {
      return std::to_string(count());
    } catch (const plugin::Error& error) {
      CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
      return error.what();
    }
  }

 private:
  FakeInstallation installation_;
  ScopedEnvironmentVariable visible_{"CUDA_VISIBLE_DEVICES", std::nullopt};
};

// Permissions apply to the real user id, and root has all permissions.
class UnprivilegedUser {
 public:
  UnprivilegedUser() : is_another_(getuid() == 0 && setreuid(kNobody, uid_t(-1)) == 0) {}
  ~UnprivilegedUser() {
    if (is_another_ && setreuid(0, uid_t(-1)) != 0) std::abort();
  }
  UnprivilegedUser(const UnprivilegedUser&) = delete;
  UnprivilegedUser& operator=(const UnprivilegedUser&) = delete;

  // Whether permissions can keep this user from the folder's files while the folder remains
  // visible.
  bool can_be_refused(const std::string& folder) const {
    const bool can = getuid() != 0 && access(folder.c_str(), X_OK) == 0;
    if (!can) MESSAGE("not checked: no other user can see " << folder);
    return can;
  }

 private:
  bool is_another_;
};

TEST_CASE("driver and runtime count the devices") {
  FakeMachine machine;
  CHECK(machine.devices() == "1");
  machine.runtime_answers(kNoDevice);
  CHECK(machine.devices() == "0");
  machine.driver_answers(kNoDevice);
  CHECK(machine.devices() == "0");
}

TEST_CASE("a lack of permission for a device node is reported for every status of the driver") {
  const UnprivilegedUser user;
  for (const int status : {kNoDevice, kUnknown})
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia0"}) {
      CAPTURE(status);
      FakeMachine machine;
      if (!user.can_be_refused(machine.path(""))) return;
      machine.driver_answers(status);
      machine.forbid(node);
      CHECK(machine.devices() ==
            "the NVIDIA driver cannot be used: unknown error; no permission for " +
                machine.path(node) +
                ": ask for membership of the group that owns it, or start the container with its "
                "GPUs");
      machine.driver_answers(0);  // the node may belong to another device
      CHECK(machine.devices() == "1");
    }
}

TEST_CASE("permissions are not reported if CUDA_VISIBLE_DEVICES hides all devices") {
  const UnprivilegedUser user;
  FakeMachine machine;
  if (!user.can_be_refused(machine.path(""))) return;
  machine.driver_answers(kNoDevice);
  machine.forbid("nvidia0");
  for (const char* devices : {"", "-1", "NoDevFiles"}) {
    const ScopedEnvironmentVariable visible("CUDA_VISIBLE_DEVICES", devices);
    CHECK(machine.devices() == "0");
  }
  for (const char* devices : {"0", "GPU-1", "MIG-1"}) {
    const ScopedEnvironmentVariable visible("CUDA_VISIBLE_DEVICES", devices);
    CHECK(machine.devices() != "0");
  }
}

TEST_CASE("a failing driver is reported if its kernel module is loaded") {
  FakeMachine machine;
  machine.driver_answers(kUnknown);
  CHECK(machine.devices() == "the NVIDIA driver cannot be used: unknown error");
  machine.remove("dev/nvidiactl");
  CHECK(machine.devices() == "0");
}

TEST_CASE("a device without its libraries is reported") {
  FakeMachine machine;
  machine.remove("lib/libcudart.so.12");
  CHECK(machine.devices().find("an NVIDIA device is there, but cudart cannot be used: ") == 0);
  machine.remove("driver/libcuda.so.1");
  CHECK(machine.devices().find("an NVIDIA device is there, but not its driver's library: ") == 0);
  machine.remove("dev/nvidiactl");
  CHECK(machine.devices() == "0");
}

TEST_CASE("a driver that is too old for the runtime is reported with both versions") {
  FakeMachine machine;
  machine.runtime_answers(kInsufficientDriver);
  const std::string reason = machine.devices();
  CHECK(reason.find("the driver is for CUDA 12.9 and older than ") == 0);
  CHECK(reason.find("libcudart.so.12 (12.9) needs: update it") != std::string::npos);
}

TEST_CASE("any other status of the runtime is reported") {
  FakeMachine machine;
  machine.runtime_answers(kUnknown);
  CHECK_THROWS_AS(machine.count(), plugin::Error);
}

}  // namespace
}  // namespace deepbench::cuda
