// Tests handles that exist once for each device.
#include "deepbench/backend/per_device.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace deepbench::plugin {
namespace {

class TestStream {
 public:
  TestStream(int device, std::vector<int>& made_current)
      : device_(device), made_current_(made_current) {}
  int device() const { return device_; }
  void make_current() const { made_current_.push_back(device_); }

 private:
  int device_;
  std::vector<int>& made_current_;
};

TEST_CASE("a handle is made once for each device and worker, with the device current") {
  std::vector<int> made_current;
  int made = 0;
  const auto handle = [&](int device, size_t worker) {
    return get_or_create_per_device(
        TestStream(device, made_current), [&] { return ++made; }, worker);
  };
  CHECK(handle(0, 0) == 1);
  CHECK(handle(1, 0) == 2);
  CHECK(handle(1, 3) == 3);
  CHECK(handle(0, 0) == 1);
  CHECK(handle(1, 3) == 3);
  CHECK(made_current == std::vector<int>{0, 1, 1});
}

TEST_CASE("two kinds of handles of one type are apart") {
  std::vector<int> made_current;
  const TestStream stream(0, made_current);
  CHECK(get_or_create_per_device(stream, [] { return std::string("first"); }) == "first");
  CHECK(get_or_create_per_device(stream, [] { return std::string("second"); }) == "second");
}

TEST_CASE("a handle that could not be made is tried again") {
  std::vector<int> made_current;
  bool fails = true;
  const auto handle = [&] {
    return get_or_create_per_device(TestStream(0, made_current), [&] {
      if (fails) throw std::runtime_error("no library");
      return 7;
    });
  };
  CHECK_THROWS_WITH(handle(), "no library");
  fails = false;
  CHECK(handle() == 7);
}

}  // namespace
}  // namespace deepbench::plugin
