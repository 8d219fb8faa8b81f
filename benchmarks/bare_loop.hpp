// Shared parts of the bare loops: parsing of arguments, bound threads, large pages, and the loop.
// They contain no code of deepbench.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace bare {

using Values = std::map<std::string, std::string>;

inline Values parse_values(int count, char** words) {
  Values values;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const size_t equals = word.find('=');
    if (equals != std::string::npos) values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return values;
}

// OpenMP reads its variables before main, so if they are missing, set them and restart the program.
inline void bind_threads(char** words) {
  if (std::getenv("OMP_PROC_BIND")) return;
  setenv("OMP_PROC_BIND", "true", 1);
  setenv("OMP_PLACES", "cores", 0);
  setenv("OMP_DYNAMIC", "false", 0);
  execv("/proc/self/exe", words);
}

// Large pages, as in the buffers of the CPU backend.
inline void* allocate_large_pages(size_t bytes) {
  constexpr size_t kPage = size_t{2} << 20;
  bytes = (bytes + kPage) / kPage * kPage;
  void* data = std::aligned_alloc(kPage, bytes);
  if (!data) {
    std::fprintf(stderr, "out of memory\n");
    std::exit(1);
  }
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

template <class Call>
double time_ns(const Call& call, int64_t calls) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / double(calls);
}

// Calls for `seconds` in samples of at least 2 ms and prints their median. `facts` ends the line.
template <class Call>
void measure(const Call& call, double seconds, double flops, const std::string& facts) {
  constexpr double kSpanNs = 2e6;
  call();
  const auto calls = int64_t(std::max(1.0, kSpanNs / time_ns(call, 2)));
  std::vector<double> samples;
  const auto begin = std::chrono::steady_clock::now();
  while (samples.size() < 5 ||
         std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds))
    samples.push_back(time_ns(call, calls));
  std::sort(samples.begin(), samples.end());
  const double median = samples[samples.size() / 2];
  std::printf("median_us=%.3f min_us=%.3f gflops=%.2f samples=%zu batch=%lld %s\n", median / 1e3,
              samples.front() / 1e3, flops / median, samples.size(), static_cast<long long>(calls),
              facts.c_str());
}

}  // namespace bare
