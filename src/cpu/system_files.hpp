// Small reads of the kernel's text files (sysfs, procfs, cgroups), below a root that tests replace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepbench::cpu {

// Where the kernel's files are. Tests point both at a folder of fixtures.
struct SystemRoot {
  std::string sys = "/sys";
  std::string proc = "/proc";
};

// The whole file, without trailing white space; nothing if it cannot be read.
std::optional<std::string> read_text(const std::string& path);
std::optional<int64_t> read_integer(const std::string& path);

// Lines of a file; none if it cannot be read.
std::vector<std::string> read_lines(const std::string& path);

std::vector<std::string> split(const std::string& text, char separator);

// "0-3,8,10-11" -> 0 1 2 3 8 10 11, as cpulists are written.
std::vector<int> parse_cpu_list(const std::string& text);

// "48K", "1024K", "32M" or plain bytes, as cache sizes are written; 0 if it is none.
int64_t parse_size(const std::string& text);

// Value of a "Key:   123 kB" or "key 123" line, in the file's own unit; nothing if absent.
std::optional<int64_t> find_field(const std::vector<std::string>& lines, const std::string& key);

}  // namespace deepbench::cpu
