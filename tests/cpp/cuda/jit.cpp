// Compiling the built-in kernels with the installed NVRTC, which needs no device, and running them
// on a device.
#include "kernels/jit.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../paths.hpp"
#include "../scoped_environment_variable.hpp"
#include "../temporary_folder.hpp"
#include "buffer.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "gpu.hpp"
#include "kernels/compile.hpp"
#include "kernels/precompile.hpp"
#include "kernels/sources.hpp"
#include "libraries.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::Source;
using testing::ScopedEnvironmentVariable;
using testing::TemporaryFolder;

// The tests use the kernel sources of the build.
const int kernels_are_found =
    setenv("DEEPBENCH_CUDA_KERNELS",
           (testing::stage_folder() + std::string("/deepbench_cuda")).c_str(), 0);

bool has_nvrtc() {
  const cuda::LibraryReport& library = cuda::report<nvidia::Nvrtc>();
  if (!library.usable()) MESSAGE("nothing tested: " << library.reason);
  return library.usable();
}

Source source_of(const std::string& text) { return cuda::source_of_text("text.cu", text); }

template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const plugin::Error& error) {
    return std::to_string(error.status()) + " " + error.what();
  }
  return "";
}

TEST_CASE("jit: sources contain the headers that they include, directly or indirectly") {
  const Source source = cuda::read_kernel_source("operand");
  CHECK(source.name == "kernels/operand.cu");
  std::vector<std::string> names;
  for (const cuda::Header& header : source.headers) names.push_back(header.name);
  CHECK(names == std::vector<std::string>{"element.h", "fill.h", "strided_layout.h"});
  CHECK(error_of([] { cuda::read_kernel_source("nothing"); }).find("nothing.cu") !=
        std::string::npos);
  const std::string missing = error_of([] { source_of("# include \"missing.h\" // why\n"); });
  CHECK(missing.find("missing.h") != std::string::npos);
  CHECK(source_of("// #include \"missing.h\"\n#include <missing.h>\n").headers.empty());
}

TEST_CASE("jit: what is no readable source is refused, and the variable is named that chose it") {
  const TemporaryFolder folder;
  const ScopedEnvironmentVariable chosen("DEEPBENCH_CUDA_KERNELS", folder.path());
  REQUIRE(mkfifo((folder / "pipe.cu").c_str(), 0600) == 0);
  folder.link("endless.cu", "/dev/zero");
  folder.link("loop.cu", "loop.cu");
  std::filesystem::create_directory(folder / "folder.cu");
  std::filesystem::resize_file(folder.write("huge.cu"), (64 << 20) + 1);
  folder.write("includes.cu", "#include \"pipe.cu\"\n");
  const auto refused = [&](const std::string& source, const std::string& reason) {
    const std::string cure =
        "; DEEPBENCH_CUDA_KERNELS must name a folder with all sources of the kernels";
    return error_of([&] { cuda::read_kernel_source(source); }).find(reason + cure) !=
           std::string::npos;
  };
  CHECK(refused("pipe", folder / "pipe.cu" + " is not a regular file"));
  CHECK(refused("includes", folder / "pipe.cu" + " is not a regular file"));
  CHECK(refused("endless", "endless.cu is not a regular file"));
  CHECK(refused("folder", "folder.cu is not a regular file"));
  CHECK(refused("missing", "missing.cu does not exist"));
  CHECK(refused("loop", "loop.cu cannot be read: Too many levels of symbolic links"));
  CHECK(refused("huge", "huge.cu has more than 64 MiB"));
  const ScopedEnvironmentVariable none("DEEPBENCH_CUDA_KERNELS", std::nullopt);
  CHECK(error_of([] { cuda::read_kernel_source("missing"); }).find("reinstall the package") !=
        std::string::npos);
}

TEST_CASE("jit: the target is machine code for known generations and PTX for newer ones") {
  const std::vector<int> known = {75, 80, 86, 90, 100, 120};
  const auto option = [&](int device) { return cuda::target_for(device, known).option(); };
  CHECK(option(75) == "sm_75");
  CHECK(option(86) == "sm_86");
  CHECK(option(89) == "sm_86");
  CHECK(option(90) == "sm_90");
  CHECK(option(103) == "sm_100");
  CHECK(option(110) == "compute_100");
  CHECK(option(130) == "compute_120");
  CHECK(error_of([&] { option(70); }).find("1 this device has architecture sm_70") == 0);
  CHECK(error_of([&] { option(70); }).find("cu12") != std::string::npos);
}

TEST_CASE("jit: keys depend on everything that changes the code") {
  const Source source = {"a.cu", "text", {{"h.h", "header"}}};
  const std::string key = cuda::cache_key(source, "f<1>", 90, "compiler");
  CHECK(key == cuda::cache_key(source, "f<1>", 90, "compiler"));
  CHECK(key != cuda::cache_key(source, "f<2>", 90, "compiler"));
  CHECK(key != cuda::cache_key(source, "f<1>", 80, "compiler"));
  CHECK(key != cuda::cache_key(source, "f<1>", 90, "other"));
  CHECK(key != cuda::cache_key({"a.cu", "texts", source.headers}, "f<1>", 90, "compiler"));
  CHECK(key != cuda::cache_key({"a.cu", "text", {{"h.h", "other"}}}, "f<1>", 90, "compiler"));
}

TEST_CASE("jit: every kernel compiles for every generation") {
  if (!has_nvrtc()) return;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cuda::kernel_folder())) {
    if (entry.path().extension() != ".cu") continue;
    ++files;
    for (const int device : {80, 90, 100, 120}) {
      CAPTURE(entry.path().string());
      CAPTURE(device);
      const cuda::CompiledImage image =
          cuda::compile(cuda::read_kernel_source(entry.path().stem()), "", device);
      const bool machine_code = image.code.substr(1, 3) == "ELF";
      CHECK((machine_code || image.code.find(".target") != std::string::npos));
      CHECK(image.entry.empty());
    }
  }
  CHECK(files >= 5);
}

TEST_CASE("jit: template instances have an entry name, and newer devices get PTX") {
  if (!has_nvrtc()) return;
  const Source source = source_of(
      "template <class T, int n> __global__ void add(T* x) { *x += n; }\n"
      "extern \"C\" __global__ void plain(int* x) { *x = 1; }\n");
  const cuda::CompiledImage image = cuda::compile(source, "add<float, 3>", 90);
  CHECK(image.code.substr(1, 3) == "ELF");
  CHECK(image.entry.find("add") != std::string::npos);
  CHECK(image.code.find(image.entry) != std::string::npos);
  const cuda::CompiledImage newer = cuda::compile(source, "", 990);
  CHECK(newer.code.find(".target sm_") != std::string::npos);
  CHECK(newer.code.find("plain") != std::string::npos);
  CHECK(newer.code.back() == '\0');
}

TEST_CASE("jit: errors contain the file and the compiler's log on one line") {
  if (!has_nvrtc()) return;
  const std::string error = error_of([] {
    cuda::compile(source_of("#include \"strided_layout.h\"\n__global__ void f() { nonsense(); }\n"),
                  "", 90);
  });
  CHECK(error.find("5 text.cu cannot be compiled for sm_90") == 0);
  CHECK(error.find("text.cu(2): error") != std::string::npos);
  CHECK(error.find("nonsense") != std::string::npos);
  CHECK(error.find('\n') == std::string::npos);
  CHECK(error_of([] { cuda::compile(source_of("int x;"), "f<1>", 90); }).find("f<1>") !=
        std::string::npos);
}

TEST_CASE("jit: the compiler is identified by its file") {
  if (!has_nvrtc()) return;
  const std::string identity = cuda::compiler_identity();
  CHECK(identity.find(cuda::report<nvidia::Nvrtc>().path) == 0);
  CHECK(identity == cuda::compiler_identity());
}

// ---- on a device --------------------------------------------------------------------------------

unsigned result_of(const cuda::Function& function, unsigned argument) {
  const cuda::Stream& stream = cuda::Stream::of(0);
  const cuda::HostBuffer word(sizeof(unsigned), /*pageable=*/false);
  auto* const value = reinterpret_cast<unsigned*>(word.data());
  *value = 0;
  function.launch({}, stream.get(), static_cast<void*>(value), argument);
  stream.synchronize();
  return *value;
}

std::string adder_source(int number) {
  return "extern \"C\" __global__ void add(unsigned* x, unsigned y) { *x = y + " +
         std::to_string(number) + "; }\n" +
         "template <int n> __global__ void more(unsigned* x, unsigned y) { *x = y + n; }\n";
}

TEST_CASE("jit: kernels of candidates are compiled in advance and cached") {
  if (!has_nvrtc()) return;
  const TemporaryFolder folder;
  const plugin::KernelCache cache(folder.path());
  const Source source = source_of(adder_source(1));
  const auto is_cached = [&](const std::string& expression) {
    return cache.load(cuda::cache_key(source, expression, 90, cuda::compiler_identity()))
        .has_value();
  };
  const std::vector<std::string> expressions = {"more<1>", "more<2>", "more<1>", "none<3>"};
  cuda::compile_missing(source, expressions, 90, cache);
  for (const char* expression : {"more<1>", "more<2>"}) CHECK(is_cached(expression));
  CHECK_FALSE(is_cached("none<3>"));
  const std::filesystem::directory_iterator files(folder / "kernels");
  CHECK(std::distance(files, {}) == 2);
  for (const auto& nowhere : {std::optional<std::filesystem::path>(),
                              std::optional<std::filesystem::path>("/proc/nothing")}) {
    CHECK_FALSE(plugin::KernelCache(nowhere).is_writable());
    cuda::compile_missing(source, expressions, 90, plugin::KernelCache(nowhere));
  }
}

TEST_CASE("gpu: kernels and template instances are compiled, launched and cached") {
  REQUIRE_GPU();
  const TemporaryFolder folder;
  const ScopedEnvironmentVariable cached("DEEPBENCH_CACHE_DIR", folder.path());
  const cuda::Stream& stream = cuda::Stream::of(0);
  const cuda::Function& add = cuda::function_from_text("launched", adder_source(1), "add", stream);
  CHECK(result_of(add, 4) == 5);
  CHECK(&add == &cuda::function_from_text("launched", adder_source(1), "add", stream));
  CHECK(result_of(cuda::function_from_text("launched", adder_source(1), "more<7>", stream), 4) ==
        11);
  CHECK(result_of(cuda::function_from_text("launched", adder_source(1), "more<8>", stream), 4) ==
        12);
  const std::filesystem::directory_iterator files(folder / "kernels");
  CHECK(std::distance(files, {}) == 3);
}

TEST_CASE(
    "gpu: a cached image is used if it can be loaded, otherwise the kernel is compiled again") {
  REQUIRE_GPU();
  const TemporaryFolder folder;
  const ScopedEnvironmentVariable cached("DEEPBENCH_CACHE_DIR", folder.path());
  const cuda::Stream& stream = cuda::Stream::of(0);
  const int device = cuda::device_facts(0).architecture();
  const plugin::KernelCache cache(folder.path());
  const auto key_of = [&](const std::string& text) {
    return cuda::cache_key(cuda::source_of_text("cached", text), "", device,
                           cuda::compiler_identity());
  };
  // Code of another kernel stored under this key shows that the cache is read.
  cache.store(key_of(adder_source(10)), cuda::compile(source_of(adder_source(20)), "", device));
  CHECK(result_of(cuda::function_from_text("cached", adder_source(10), "add", stream), 1) == 21);
  cache.store(key_of(adder_source(30)), {"no code", ""});
  CHECK(result_of(cuda::function_from_text("cached", adder_source(30), "add", stream), 1) == 31);
  CHECK(cache.load(key_of(adder_source(30)))->code.substr(1, 3) == "ELF");
}

TEST_CASE("gpu: an unwritable cache folder is ignored, a missing kernel is an error") {
  REQUIRE_GPU();
  const ScopedEnvironmentVariable cached("DEEPBENCH_CACHE_DIR", "/proc/nothing");
  const cuda::Stream& stream = cuda::Stream::of(0);
  CHECK(result_of(cuda::function_from_text("uncached", adder_source(3), "add", stream), 1) == 4);
  const std::string error =
      error_of([&] { cuda::function_from_text("uncached", adder_source(3), "missing", stream); });
  CHECK(error.find("5 ") == 0);
}

TEST_CASE("gpu: stamps read the clocks of the multiprocessors") {
  REQUIRE_GPU();
  struct ClockStamp {
    unsigned long long clock, nanoseconds;
    unsigned multiprocessor, padding;
  };
  const cuda::Stream& stream = cuda::Stream::of(0);
  const auto count = uint32_t(cuda::device_facts(0).multiprocessors);
  const cuda::HostBuffer memory(2 * count * sizeof(ClockStamp), /*pageable=*/false);
  auto* const stamps = reinterpret_cast<ClockStamp*>(memory.data());
  const cuda::Function& stamp = cuda::function("clock", "stamp", stream);
  cuda::LaunchShape shape;
  shape.grid_x = count;
  stamp.launch(shape, stream.get(), static_cast<void*>(stamps));
  stamp.launch(shape, stream.get(), static_cast<void*>(stamps + count));
  stream.synchronize();
  std::vector<bool> seen(1024);
  for (uint32_t i = 0; i < count; ++i) {
    REQUIRE(stamps[i].multiprocessor < seen.size());
    seen[stamps[i].multiprocessor] = true;
    CHECK(stamps[i].nanoseconds > 0);
    CHECK(stamps[count + i].nanoseconds >= stamps[0].nanoseconds);
  }
  MESSAGE(std::count(seen.begin(), seen.end(), true)
          << " of " << count << " multiprocessors were stamped");
}

}  // namespace
}  // namespace deepbench::cuda_test
