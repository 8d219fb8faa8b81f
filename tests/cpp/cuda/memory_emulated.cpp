// The kernels of memory problems, run by the host without a device: every word at every size.
#include <doctest/doctest.h>

#include <vector>

#include "deepbench/ops/memory/memory.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <memory.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint32_t kGuard = 0xdeadbeef;

// An array aligned to 16 bytes, followed by guard words that no kernel may touch.
class GuardedWords {
 public:
  explicit GuardedWords(uint64_t count) : count_(count), vectors_(count / 4 + 2) {
    for (uint64_t i = 0; i < 4 * vectors_.size(); ++i) data()[i] = kGuard;
  }
  uint32_t* data() { return &vectors_[0].x; }
  bool is_guarded() {
    for (uint64_t i = count_; i < 4 * vectors_.size(); ++i)
      if (data()[i] != kGuard) return false;
    return true;
  }

 private:
  struct alignas(16) Vector {
    uint32_t x, y, z, w;
  };
  uint64_t count_;
  std::vector<Vector> vectors_;
};

cuda::LaunchShape shape_of(uint32_t blocks) {
  cuda::LaunchShape shape;
  shape.grid_x = blocks;
  shape.block_x = 64;
  return shape;
}

TEST_CASE("kernels on the host: memory is read, written and copied at every size") {
  for (const uint64_t count : {1, 2, 3, 4, 5, 63, 64, 257, 1023, 4096, 6151, 10007})
    for (const uint32_t blocks : {1u, 3u, 7u}) {
      INFO(count, " words, ", blocks, " blocks");
      GuardedWords source(count), target(count), written(count);
      emulate(shape_of(blocks), Barriers::kNone,
              [&] { fill_words(source.data(), count, 1, 0, 9); });
      uint32_t total = 0;
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < count; ++i) {
        wrong += source.data()[i] != memory_word(9, i);
        total ^= memory_word(9, i);
      }
      CHECK(wrong == 0);

      std::vector<uint32_t> partial(blocks, 1);
      emulate(shape_of(blocks), Barriers::kUsed,
              [&] { read_words(source.data(), count, partial.data()); });
      for (const uint32_t word : partial) total ^= word;
      CHECK(total == 0);

      emulate(shape_of(blocks), Barriers::kNone,
              [&] { copy_words(target.data(), source.data(), count); });
      emulate(shape_of(blocks), Barriers::kNone,
              [&] { write_words(written.data(), count, write_pattern(9)); });
      for (uint64_t i = 0; i < count; ++i)
        wrong += target.data()[i] != memory_word(9, i) || written.data()[i] != write_pattern(9);
      CHECK(wrong == 0);
      CHECK(source.is_guarded());
      CHECK(target.is_guarded());
      CHECK(written.is_guarded());
    }
}

TEST_CASE("kernels on the host: words are filled with a constant") {
  GuardedWords words(1000);
  emulate(shape_of(3), Barriers::kNone, [&] { fill_words(words.data(), 1000, 0, 1, 9); });
  for (uint64_t i = 0; i < 1000; ++i) CHECK(words.data()[i] == 1);
}

}  // namespace
}  // namespace deepbench::cuda_test
