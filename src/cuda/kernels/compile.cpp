// Compiles kernels with NVRTC.
#include "kernels/compile.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "deepbench/plugin.hpp"
#include "libraries.hpp"
#include "python_packages.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// --device-as-default-execution-space makes lambdas in kernels device functions by default, as
// newer compilers do. --modify-stack-limit=false keeps NVRTC from changing the stack limit of the
// whole process, in which other threads may compile at the same time.
constexpr std::array<const char*, 3> kOptions = {
    "--std=c++17", "--device-as-default-execution-space", "--modify-stack-limit=false"};

class Program {
 public:
  explicit Program(const Source& source) : name_(source.name) {
    std::vector<const char*> texts, names;
    for (const Header& header : source.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    CUDA_CHECK(nvrtc().nvrtcCreateProgram(&program_, source.text.c_str(), name_.c_str(),
                                          int(names.size()), texts.data(), names.data()));
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void add_name_expression(const std::string& expression) {
    CUDA_CHECK(nvrtc().nvrtcAddNameExpression(program_, expression.c_str()));
  }

  void compile(const Target& target) {
    const std::string architecture = "--gpu-architecture=" + target.option();
    std::vector<const char*> options(kOptions.begin(), kOptions.end());
    options.push_back(architecture.c_str());
    const nvidia::nvrtcResult result =
        nvrtc().nvrtcCompileProgram(program_, int(options.size()), options.data());
    if (result != nvidia::NVRTC_SUCCESS)
      plugin::failed(name_ + " cannot be compiled for " + target.option() + " (" +
                     nvrtc().nvrtcGetErrorString(result) + "): " + compile_log());
  }

  std::string compiled_code(const Target& target) {
    return target.machine_code ? fetch(nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN)
                               : fetch(nvrtc().nvrtcGetPTXSize, nvrtc().nvrtcGetPTX);
  }

  std::string lowered_name(const std::string& expression) {
    const char* name = nullptr;
    CUDA_CHECK(nvrtc().nvrtcGetLoweredName(program_, expression.c_str(), &name));
    return name;
  }

 private:
  using Size = nvidia::nvrtcResult (*)(nvidia::nvrtcProgram, size_t*);
  using Get = nvidia::nvrtcResult (*)(nvidia::nvrtcProgram, char*);

  std::string fetch(Size size, Get get) {
    size_t bytes = 0;
    CUDA_CHECK(size(program_, &bytes));
    std::string text(bytes, '\0');
    CUDA_CHECK(get(program_, text.data()));
    return text;
  }

  // The compiler's log on one line, because every message is a single line.
  std::string compile_log() {
    const std::string text = fetch(nvrtc().nvrtcGetProgramLogSize, nvrtc().nvrtcGetProgramLog);
    std::string line;
    for (const char c : text) {
      if (c == '\0') break;
      if (c != '\n' && c != ' ')
        line += c;
      else if (!line.empty() && line.back() != ' ')
        line += ' ';
    }
    return line;
  }

  std::string name_;
  nvidia::nvrtcProgram program_ = nullptr;
};

std::vector<int> known_architectures() {
  int count = 0;
  CUDA_CHECK(nvrtc().nvrtcGetNumSupportedArchs(&count));
  std::vector<int> known(size_t(std::max(count, 0)));
  if (count > 0) CUDA_CHECK(nvrtc().nvrtcGetSupportedArchs(known.data()));
  return known;
}

}  // namespace

std::string Target::option() const {
  return (machine_code ? "sm_" : "compute_") + std::to_string(architecture);
}

// Machine code runs on devices of the same major version whose minor version is at least as high.
Target target_for(int device, const std::vector<int>& known) {
  int newest = 0;
  for (const int architecture : known)
    if (architecture <= device) newest = std::max(newest, architecture);
  if (newest != 0) return {newest, newest / 10 == device / 10};
  const int oldest = known.empty() ? 0 : *std::min_element(known.begin(), known.end());
  plugin::unsupported("this device has architecture sm_" + std::to_string(device) +
                      ", but this NVRTC compiles only for sm_" + std::to_string(oldest) +
                      " and newer; use the libraries of CUDA 12: " + install_command(12));
}

CompiledImage compile(const Source& source, const std::string& expression,
                      int device_architecture) {
  const Target target = target_for(device_architecture, known_architectures());
  Program program(source);
  if (!expression.empty()) program.add_name_expression(expression);
  program.compile(target);
  return {program.compiled_code(target),
          expression.empty() ? "" : program.lowered_name(expression)};
}

std::string compiler_identity() {
  const LibraryReport& library = report<nvidia::Nvrtc>();
  if (!library.usable()) plugin::unsupported(library.reason);
  struct stat file = {};
  stat(library.path.c_str(), &file);
  return library.path + " " + library.version + " " + std::to_string(file.st_size) + " " +
         std::to_string(file.st_mtime);
}

std::string cache_key(const Source& source, const std::string& expression, int device_architecture,
                      const std::string& compiler) {
  std::string key =
      compiler + "\n" + std::to_string(device_architecture) + "\n" + expression + "\n";
  for (const char* option : kOptions) key += std::string(option) + "\n";
  key += source.name + "\n" + source.text;
  for (const Header& header : source.headers) key += "\n" + header.name + "\n" + header.text;
  return key;
}

}  // namespace deepbench::cuda
