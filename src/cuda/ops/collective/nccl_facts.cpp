// Reads NCCL's environment variables, except those for logging, which do not affect a sum.
#include "ops/collective/nccl_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "libraries.hpp"

namespace deepbench::cuda {

std::string nccl_settings(const char* const* environment) {
  std::vector<std::string> all;
  for (const char* const* one = environment; one && *one; ++one)
    if (std::strncmp(*one, "NCCL_", 5) == 0 && std::strncmp(*one, "NCCL_DEBUG", 10) != 0)
      all.emplace_back(*one);
  std::sort(all.begin(), all.end());
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : " ") + one;
  return text;
}

void describe_nccl_settings(plugin::Sink& sink) {
  const std::string settings = nccl_settings(environ);
  if (!settings.empty()) sink.text("note.nccl", settings);
}

}  // namespace deepbench::cuda
