// The texts of our kernels: a source and the headers of this folder that it includes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace deepbench::cuda {

struct Header {
  std::string name, text;
};

struct Source {
  std::string name;  // for messages: "kernels/operand.cu"
  std::string text;
  std::vector<Header> headers;  // each once, sorted by name
};

// Where they are installed: beside the plugin, or DEEPBENCH_CUDA_KERNELS.
std::filesystem::path kernel_folder();

// The file FILE.cu of the folder. Throws plugin::Error if it or a header is not there.
Source source_of_file(const std::string& file);
// A text which may include headers of the folder.
Source source_of_text(const std::string& name, const std::string& text);

}  // namespace deepbench::cuda
