// Reads kernel sources and follows their includes.
#include "kernels/sources.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kFolderVariable = "DEEPBENCH_CUDA_KERNELS";
constexpr uintmax_t kMostSourceBytes = 64 << 20;

// The folder that the user has chosen, or an empty path.
std::filesystem::path chosen_folder() {
  const char* chosen = std::getenv(kFolderVariable);
  return chosen ? chosen : "";
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  const std::string cure =
      chosen_folder().empty()
          ? "it should be installed beside the backend: reinstall the package"
          : std::string(kFolderVariable) + " must name a folder with all sources of the kernels";
  plugin::failed("the kernel source " + path.string() + " " + reason + "; " + cure);
}

// Opens regular files only, since reading a pipe or a device may never end.
std::string text_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found) refuse(path, "does not exist");
  if (error) refuse(path, "cannot be read: " + error.message());
  if (type != std::filesystem::file_type::regular) refuse(path, "is not a regular file");
  if (std::filesystem::file_size(path, error) > kMostSourceBytes)
    refuse(path, "has more than " + std::to_string(kMostSourceBytes >> 20) + " MiB");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open() || !text) refuse(path, "cannot be read");
  return text.str();
}

// Returns the name in a line such as `#include "fill.h"`, or an empty string for any other line.
std::string included_header(const std::string& line) {
  const size_t open = line.find('"'), close = line.rfind('"');
  std::string directive = line.substr(0, open);
  directive.erase(std::remove(directive.begin(), directive.end(), ' '), directive.end());
  return directive == "#include" && open < close ? line.substr(open + 1, close - open - 1) : "";
}

void add_headers(const std::string& text, const std::filesystem::path& folder,
                 std::vector<Header>* headers) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = included_header(line.substr(0, line.find("/*")));
    const auto is_known = [&](const Header& header) { return header.name == name; };
    if (name.empty() || std::any_of(headers->begin(), headers->end(), is_known)) continue;
    const std::string header = text_of(folder / name);
    headers->push_back({name, header});
    add_headers(header, folder, headers);
  }
}

}  // namespace

std::filesystem::path kernel_folder() {
  if (const std::filesystem::path chosen = chosen_folder(); !chosen.empty()) return chosen;
  Dl_info self = {};
  if (!dladdr(reinterpret_cast<const void*>(&kernel_folder), &self) || !self.dli_fname)
    plugin::failed("the folder of the CUDA backend cannot be determined");
  std::error_code ignored;
  std::filesystem::path file = std::filesystem::canonical(self.dli_fname, ignored);
  if (file.empty()) file = self.dli_fname;
  return file.parent_path() / "deepbench_cuda";
}

Source source_of_text(const std::string& name, const std::string& text) {
  Source source{name, text, {}};
  add_headers(text, kernel_folder(), &source.headers);
  std::sort(source.headers.begin(), source.headers.end(),
            [](const Header& left, const Header& right) { return left.name < right.name; });
  return source;
}

Source read_kernel_source(const std::string& file) {
  const std::string name = file + ".cu";
  return source_of_text("kernels/" + name, text_of(kernel_folder() / name));
}

}  // namespace deepbench::cuda
