// The texts of the built-in kernels: a source and the headers of this folder that it includes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace deepbench::cuda {

struct Header {
  std::string name, text;
};

struct Source {
  std::string name;  // appears in messages: "kernels/operand.cu"
  std::string text;
  std::vector<Header> headers;  // each header once, sorted by name
};

// The folder of the installed sources: beside the plugin, or DEEPBENCH_CUDA_KERNELS.
std::filesystem::path kernel_folder();

// Reads FILE.cu from the folder. Throws plugin::Error if the file or one of its headers is missing.
Source read_kernel_source(const std::string& file);
// Uses a text that may include headers of the folder.
Source source_of_text(const std::string& name, const std::string& text);

}  // namespace deepbench::cuda
