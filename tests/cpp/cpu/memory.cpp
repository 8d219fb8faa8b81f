// Memory traffic: every kind, size, store and regime, and the loops of every vector unit.
#include "deepbench/ops/memory/memory.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "harness.hpp"
#include "isa.hpp"
#include "ops/memory/traffic.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

std::string memory_text(const std::string& kind, uint64_t bytes) {
  return "kind=" + kind + " bytes=" + std::to_string(bytes);
}

uint32_t xor_of(uint64_t words, uint64_t seed) {
  uint32_t total = 0;
  for (uint64_t i = 0; i < words; ++i) total ^= memory_word(seed, i);
  return total;
}

TEST_CASE("read, write and copy give the right result at every size") {
  for (const uint64_t bytes : {4u, 60u, 64u, 68u, 4096u, 100004u, 2097152u, 5000000u}) {
    const uint64_t words = bytes / 4;
    CAPTURE(bytes);
    for (const std::string& candidate : candidates("memory", memory_text("copy", bytes))) {
      const std::string options = "seed=9 candidate=" + candidate;
      Kernel copy("memory", memory_text("copy", bytes), options);
      CHECK(copy.describe().text("algorithm") == candidate);
      CHECK(copy.scan().untouched == words);
      copy.run(2);
      CHECK(copy.scan().untouched == 0);
      const auto copied = copy.read(words);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < words; ++i) wrong += copied[i] != double(memory_word(9, i));
      CHECK(wrong == 0);

      Kernel write("memory", memory_text("write", bytes), options);
      write.run(1);
      CHECK(write.scan().untouched == 0);
      const auto written = write.read(words);
      wrong = 0;
      for (const double word : written) wrong += word != double(write_pattern(9));
      CHECK(wrong == 0);
      write.poison();
      CHECK(write.scan().untouched == words);
    }
    Kernel read("memory", memory_text("read", bytes), "seed=9");
    CHECK(read.scan().untouched == 1);
    read.run(3);
    CHECK(read.scan().untouched == 0);
    CHECK(read.scan().count == 1);
    CHECK(read.read(1)[0] == double(xor_of(words, 9)));
  }
}

TEST_CASE("an exchange hands every word on at every size and with every number of threads") {
  for (const uint64_t bytes : {4u, 60u, 64u, 4096u, 100004u}) {
    for (const char* threads : {"threads=1", "threads=2"}) {
      CAPTURE(bytes);
      Memory memory;
      memory.kind = MemoryKind::kExchange;
      memory.bytes = int64_t(bytes);
      Kernel exchange("memory", memory_text("exchange", bytes), std::string("seed=9 ") + threads);
      exchange.run(2);
      CHECK(exchange.scan().untouched == 0);
      const auto words = exchange.read(bytes / 4);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < bytes / 4; ++i)
        wrong += words[i] != double(memory_word(9, memory.source_of(i)));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("reads and buffers below a megabyte have no non-temporal candidate") {
  CHECK(candidates("memory", memory_text("read", 1 << 24)) == std::vector<std::string>{"plain"});
  CHECK(candidates("memory", memory_text("copy", 1 << 16)) == std::vector<std::string>{"plain"});
  CHECK(candidates("memory", memory_text("copy", 1 << 24)) ==
        std::vector<std::string>{"plain", "nontemporal"});
}

TEST_CASE("projections count words as unsigned numbers") {
  Kernel copy("memory", memory_text("copy", 400000), "seed=3");
  copy.run(1);
  double expected = 0;
  for (uint64_t i = 0; i < 100000; ++i)
    expected += double(memory_word(3, i)) * deepbench_weight(8, i);
  CHECK(copy.project(1, 8)[0] == doctest::Approx(expected).epsilon(1e-9));
}

TEST_CASE("constant inputs") {
  Kernel ones("memory", memory_text("copy", 4000), "inputs=ones");
  ones.run(1);
  CHECK(ones.read(1000)[999] == 1);
  Kernel zeros("memory", memory_text("read", 4000), "inputs=zeros");
  zeros.run(1);
  CHECK(zeros.read(1)[0] == 0);
}

TEST_CASE("cold: calls rotate through the copies, or the caches are flushed") {
  const auto cache = uint64_t(cpu::topology().last_level_bytes);
  const uint64_t bytes = (cache / 10 + 63) / 64 * 64;
  for (const std::string kind : {"read", "write", "copy"}) {
    Kernel kernel("memory", memory_text(kind, bytes), "cache=cold seed=2");
    const Emitted facts = kernel.describe();
    CHECK(facts.text("cold") == "rotation");
    const auto copies = uint64_t(facts.number("copies"));
    CHECK(copies * bytes * (kind == "copy" ? 2 : 1) >= 3 * cache);
    for (uint64_t i = 0; i < copies; ++i) {  // Every copy begins poisoned and is overwritten.
      CHECK(kernel.run(1).copies_touched == 1);
      CHECK(kernel.scan().untouched == 0);
    }
    CHECK(kernel.run(2 * copies).copies_touched == copies);
  }
  Kernel flushed("memory", memory_text("copy", 4096), "cache=cold copies=2");
  CHECK(flushed.describe().text("cold") == "flush");
  const deepbench_batch batch = flushed.run(3);
  CHECK(batch.launch == DEEPBENCH_LAUNCH_ISOLATED);
  CHECK(batch.host_ns > batch.elapsed_ns);
}

TEST_CASE("memory_needed reports the size of the allocations") {
  CHECK(memory_needed("memory", memory_text("read", 4096)) == 4096);
  CHECK(memory_needed("memory", memory_text("copy", 4096)) == 8192);
  CHECK(memory_needed("memory", memory_text("copy", 4096), "cache=cold copies=1") ==
        8192 + 2 * uint64_t(cpu::topology().last_level_bytes));
}

TEST_CASE("unsupported kinds, candidates, libraries and sizes are refused") {
  CHECK(plan_status("memory", memory_text("h2d", 4096)).status == DEEPBENCH_UNSUPPORTED);
  CHECK(plan_status("memory", memory_text("d2h", 4096)).error.find("kind=copy") !=
        std::string::npos);
  const auto cold = plan_status("memory", memory_text("exchange", 4096), "cache=cold");
  CHECK(cold.status == DEEPBENCH_UNSUPPORTED);
  CHECK(cold.error.find("use cache=hot") != std::string::npos);
  CHECK(plan_status("memory", memory_text("copy", 4096), "candidate=nontemporal").status ==
        DEEPBENCH_INVALID);
  CHECK(plan_status("memory", memory_text("copy", 4096), "library=mkl").status ==
        DEEPBENCH_UNSUPPORTED);
  CHECK(prepare_status("memory", memory_text("copy", uint64_t{1} << 50)) ==
        DEEPBENCH_OUT_OF_MEMORY);
}

TEST_CASE("the caller sets the number of workers") {
  Kernel kernel("memory", memory_text("copy", 65536), "threads=3 seed=4");
  CHECK(kernel.describe().text("threads") == "3");
  kernel.run(5, DEEPBENCH_LAUNCH_ISOLATED);
  CHECK(kernel.read(16384)[16383] == double(memory_word(4, 16383)));
}

TEST_CASE("the loops of every vector unit of this processor") {
  std::vector<const cpu::Traffic*> all = {&cpu::plain_traffic(), &cpu::nontemporal_traffic()};
#if defined(__x86_64__)
  if (cpu::isa().avx2) all.insert(all.end(), {&cpu::kPlainAvx2, &cpu::kNontemporalAvx2});
  if (cpu::isa().avx512) all.insert(all.end(), {&cpu::kPlainAvx512, &cpu::kNontemporalAvx512});
#endif
  for (const cpu::Traffic* traffic : all)
    for (const uint64_t count : {1u, 15u, 16u, 17u, 127u, 128u, 129u, 1000u, 4099u}) {
      const cpu::Buffer from(count * 4), to(count * 4 + 4);
      auto* source = reinterpret_cast<uint32_t*>(from.data());
      auto* target = reinterpret_cast<uint32_t*>(to.data());
      for (uint64_t i = 0; i < count; ++i) source[i] = memory_word(1, i);
      target[count] = 0xabcd;
      CHECK(traffic->read(source, count) == xor_of(count, 1));
      traffic->copy(target, source, count);
      CHECK(std::memcmp(source, target, count * 4) == 0);
      traffic->write(target, count, 0x1234567);
      CHECK(target[0] == 0x1234567);
      CHECK(target[count - 1] == 0x1234567);
      CHECK(target[count] == 0xabcd);  // The loops write no word beyond the end.
    }
}

}  // namespace
}  // namespace deepbench::cpu_test
