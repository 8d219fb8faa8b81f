// Reads the kernel's small text files (sysfs, procfs, cgroups), below a root that tests replace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepbench::cpu {

// The folders of sysfs and procfs. Tests point both at a folder of fixtures.
struct SystemRoot {
  std::string sys = "/sys";
  std::string proc = "/proc";
};

// The whole file without trailing white space, or nothing if it cannot be read.
std::optional<std::string> read_text(const std::string& path);
std::optional<int64_t> read_integer(const std::string& path);

// The lines of a file; empty if it cannot be read.
std::vector<std::string> read_lines(const std::string& path);

std::vector<std::string> split(const std::string& text, char separator);

// Parses a list of processors: "0-3,8,10-11" is 0 1 2 3 8 10 11.
std::vector<int> parse_cpu_list(const std::string& text);

// Parses a cache size: "48K", "1024K", "32M" or plain bytes; 0 for any other text.
int64_t parse_size(const std::string& text);

// The value of a line "Key:   123 kB" or "key 123", in the file's unit; nothing if the key is
// absent.
std::optional<int64_t> find_field(const std::vector<std::string>& lines, const std::string& key);

}  // namespace deepbench::cpu
