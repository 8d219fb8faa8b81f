// Reads and parses the kernel's text files.
#include "system_files.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace deepbench::cpu {

std::optional<std::string> read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char block[4096];
  for (size_t got; (got = std::fread(block, 1, sizeof block, file.get())) > 0;)
    text.append(block, got);
  if (std::ferror(file.get())) return std::nullopt;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

std::optional<int64_t> read_integer(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long long value = std::strtoll(text->c_str(), &end, 10);
  if (end == text->c_str()) return std::nullopt;
  return value;
}

std::vector<std::string> read_lines(const std::string& path) {
  const auto text = read_text(path);
  return text ? split(*text, '\n') : std::vector<std::string>{};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  constexpr int kMaxCpus = 1 << 20;  // rejects malformed lists; far above any machine
  std::vector<int> cpus;
  for (const std::string& range : split(text, ',')) {
    int first = 0, last = 0;
    const int fields = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (fields < 1 || first < 0) continue;
    if (fields == 1) last = first;
    for (int cpu = first; cpu <= last && cpu < kMaxCpus; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

int64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || value < 0) return 0;
  switch (*end) {
    case 'K':
      return value << 10;
    case 'M':
      return value << 20;
    case 'G':
      return value << 30;
    default:
      return value;
  }
}

std::optional<int64_t> find_field(const std::vector<std::string>& lines, const std::string& key) {
  for (const std::string& line : lines) {
    if (line.compare(0, key.size(), key) != 0 || line.size() == key.size()) continue;
    const char next = line[key.size()];
    if (next != ':' && next != ' ' && next != '\t') continue;
    const size_t digits = line.find_first_of("0123456789", key.size());
    if (digits == std::string::npos) continue;
    return std::strtoll(line.c_str() + digits, nullptr, 10);
  }
  return std::nullopt;
}

}  // namespace deepbench::cpu
