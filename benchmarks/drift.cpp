// Measures the drift of a machine: rates of three single-threaded loops that depend only on the
// clock of the core, the cache or the memory, as medians of windows of some seconds. No product can
// be more repeatable than these.
//   drift [SECONDS, default 100]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Rates = std::vector<double>;

constexpr size_t kWindows = 20;
constexpr int kMultiplications = 1 << 20;
constexpr size_t kCacheFloats = (1 << 20) / sizeof(float),
                 kMemoryFloats = (64 << 20) / sizeof(float);
constexpr int kReadings = 40;  // of the cache
constexpr std::chrono::milliseconds kPause{50};

template <class Body>
double time_s(Body body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Each multiplication waits for the previous one, so the number of cycles is fixed.
double multiplications_per_ns() {
  uint64_t x = 3;
  const double took = time_s([&] {
    for (int i = 0; i < kMultiplications; ++i) {
      x *= x;
      asm volatile("" : "+r"(x));
    }
  });
  return kMultiplications / took / 1e9;
}

double gb_per_s(const std::vector<float>& data, int times) {
  float sums[16] = {};
  const double took = time_s([&] {
    for (int time = 0; time < times; ++time) {
      for (size_t i = 0; i + 16 <= data.size(); i += 16)
        for (size_t k = 0; k < 16; ++k) sums[k] += data[i + k];
      asm volatile("" : : "r"(sums) : "memory");
    }
  });
  return double(times) * double(data.size() * sizeof(float)) / took / 1e9;
}

double median(Rates rates) {
  const auto middle = rates.begin() + std::ptrdiff_t(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

void print_drift(const char* name, const Rates& rates) {
  std::printf("%-22s", name);
  Rates medians;
  const size_t each = rates.size() / kWindows;
  for (size_t i = 0; i < kWindows; ++i) {
    const auto begin = rates.begin() + std::ptrdiff_t(i * each);
    medians.push_back(median({begin, begin + std::ptrdiff_t(each)}));
    std::printf(" %.3f", medians.back());
  }
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  std::printf("  apart by %.1f %%\n", 100 * (*most / *least - 1));
}

}  // namespace

int main(int argc, char** argv) {
  const double duration_s = argc > 1 ? std::atof(argv[1]) : 100;
  const std::vector<float> cached(kCacheFloats, 1), large(kMemoryFloats, 1);
  Rates clock, cache, memory;
  const auto begin = Clock::now();
  while (clock.size() < kWindows ||
         Clock::now() - begin < std::chrono::duration<double>(duration_s)) {
    clock.push_back(multiplications_per_ns());
    cache.push_back(gb_per_s(cached, kReadings));
    memory.push_back(gb_per_s(large, 1));
    std::this_thread::sleep_for(kPause);
  }
  print_drift("multiplications per ns", clock);
  print_drift("cache, 1 MB, GB/s", cache);
  print_drift("memory, 64 MB, GB/s", memory);
}
