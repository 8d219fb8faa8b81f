// Descriptions of attention to the real cuDNN without a device, which are the first step of a plan.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../named_values.hpp"
#include "deepbench/plugin.hpp"
#include "ops/attention/cudnn_graph.hpp"
#include "real_cudnn.hpp"

namespace deepbench::cuda_test {
namespace {

Attention attention_of(const std::string& problem) {
  const testing::NamedValues named(problem);
  return attention_problem(plugin::Values(named.get()));
}

constexpr auto kStored = cuda::AttentionOperations::Statistics::kStored;
constexpr auto kDiscarded = cuda::AttentionOperations::Statistics::kDiscarded;

// Writes the library's reason, if it rejects the description.
bool cudnn_accepts(const std::string& problem) {
  try {
    const cuda::AttentionOperations operations(attention_of(problem), kDiscarded);
    return !operations.descriptors().empty();
  } catch (const plugin::Error& error) {
    std::fprintf(stderr, "%s: %s\n", problem.c_str(), error.what());
    return false;
  }
}

// Whether engines for an H100 recognize the operations, with and without stored statistics.
bool has_engine(const std::string& problem) {
  try {
    const auto has_engine_with = [&](cuda::AttentionOperations::Statistics statistics) {
      return has_engine_on_hopper(
          cuda::AttentionOperations(attention_of(problem), statistics).descriptors());
    };
    return has_engine_with(kDiscarded) && has_engine_with(kStored);
  } catch (const plugin::Error& error) {
    std::fprintf(stderr, "%s: %s\n", problem.c_str(), error.what());
    return false;
  }
}

TEST_CASE("cuDNN accepts the descriptions of attention under every mask") {
  if (!has_libraries()) return;
  for (const std::string precision : {" precision=half", " precision=bfloat16"})
    CHECK(run_in_process_with_driver([&] {
      return cudnn_accepts("batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none" + precision) &&
             cudnn_accepts(
                 "batch=2 heads=6 kv_heads=2 seq_q=1 seq_kv=512 dim=128 "
                 "mask=bottom_right" +
                 precision) &&
             cudnn_accepts("batch=1 heads=2 seq_q=64 seq_kv=64 dim=192 dim_v=128 mask=top_left" +
                           precision) &&
             cudnn_accepts(
                 "batch=1 heads=2 seq_q=64 seq_kv=96 dim=64 mask=bottom_right "
                 "window=20" +
                 precision);
    }));
}

TEST_CASE("cuDNN accepts the descriptions of attention's gradients under every mask") {
  if (!has_libraries()) return;
  for (const std::string precision : {" precision=half phase=bwd", " precision=bfloat16 phase=bwd"})
    CHECK(run_in_process_with_driver([&] {
      return cudnn_accepts("batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none" + precision) &&
             cudnn_accepts(
                 "batch=2 heads=6 kv_heads=2 seq_q=64 seq_kv=512 dim=128 mask=bottom_right" +
                 precision) &&
             cudnn_accepts("batch=1 heads=2 seq_q=64 seq_kv=64 dim=192 dim_v=128 mask=top_left" +
                           precision) &&
             cudnn_accepts("batch=1 heads=2 seq_q=64 seq_kv=96 dim=64 mask=bottom_right window=20" +
                           precision);
    }));
}

TEST_CASE("cuDNN recognizes attention and its gradients on an H100") {
  if (!has_libraries()) return;
  for (const std::string kind : {" precision=half", " precision=bfloat16 phase=bwd"})
    CHECK(run_in_process_with_driver([&] {
      return has_engine("batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=none" + kind) &&
             has_engine("batch=2 heads=6 kv_heads=2 seq_q=64 seq_kv=192 dim=128 mask=bottom_right" +
                        kind) &&
             has_engine("batch=1 heads=2 seq_q=64 seq_kv=64 dim=192 dim_v=128 mask=top_left" +
                        kind) &&
             has_engine("batch=1 heads=2 seq_q=100 seq_kv=300 dim=64 mask=bottom_right window=70" +
                        kind);
    }));
  // Where there is no engine, the query says so.
  CHECK(run_in_process_with_driver([] {
    return !has_engine(
        "batch=1 heads=2 seq_q=64 seq_kv=64 dim=576 dim_v=512 mask=none precision=half phase=bwd");
  }));
}

TEST_CASE("cuDNN has an operation for each step of attention, the masks among them") {
  if (!has_libraries()) return;
  CHECK(run_in_process_with_driver([] {
    const auto operations = [](const std::string& mask, const std::string& queries = "seq_q=64") {
      return cuda::AttentionOperations(
                 attention_of("batch=1 heads=2 seq_kv=64 dim=64 precision=half " + queries + " " +
                              mask),
                 kDiscarded)
          .descriptors()
          .size();
    };
    return operations("mask=none") == 10 && operations("mask=top_left") == 14 &&
           operations("mask=bottom_right", "seq_q=32") == 16 &&
           // Where there are as many queries as keys, both masks hide the same.
           operations("mask=bottom_right") == 14 &&
           operations("mask=bottom_right window=9", "seq_q=32") == 21 &&
           operations("mask=bottom_right window=9") == 19 &&
           operations("mask=none phase=bwd") == 18 && operations("mask=top_left phase=bwd") == 22 &&
           // One query sees all keys, unless a window hides some.
           operations("mask=bottom_right", "seq_q=1") == 10 &&
           operations("mask=bottom_right window=64", "seq_q=1") == 10 &&
           operations("mask=bottom_right window=9", "seq_q=1") == 21;
  }));
}

}  // namespace
}  // namespace deepbench::cuda_test
