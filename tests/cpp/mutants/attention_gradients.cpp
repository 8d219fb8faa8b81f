// Mutants of the gradients of attention, which has several outputs: wrong kernels that verification
// finds whatever its seed, and right ones, which pass.

// Tests are compiled with little optimization, in which these loops would take a minute.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "../ops/naive_attention.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/run/row/verify.hpp"
#include "mutant_kernel.hpp"
#include "seeds.hpp"

namespace deepbench {
namespace {

using testing::MutantKernel;
using testing::Outputs;
using Texts = std::vector<std::string>;
using Seeds = std::vector<uint64_t>;

// What is wrong with one output as such.
bool is_alteration(const std::string& error) { return error.find(": ") != std::string::npos; }

void alter(const std::string& error, const std::string& name, Outputs& out) {
  if (error == name + ": a row of zeros")
    for (int64_t i = 0; i < out.rows; ++i) out.values[out.place(i, out.columns() * 5 / 8)] = 0;
  if (error == name + ": a factor of 0.995")
    for (double& value : out.values) value *= 0.995;
  if (error == name + ": an element unwritten") {
    out.is_written.assign(out.values.size(), 1);
    out.is_written[out.values.size() * 5 / 8] = 0;
  }
}

std::vector<Outputs> outputs_of(const Problem& problem, const std::string& inputs,
                                const std::string& error) {
  const Attention a = attention_problem(problem);
  const testing::NaiveAttention loops(a, 1, inputs, is_alteration(error) ? "" : error);
  const std::vector<std::string> names = problem.operation().outputs(problem);
  std::vector<Outputs> all;
  for (size_t i = 0; i < names.size(); ++i) {
    const AttentionPart part = a.outputs()[i];
    Outputs out = {a.type_of(part), loops.outputs(part),
                   part == AttentionPart::kDsink ? 1
                   : part == AttentionPart::kDv  ? a.dim_v
                                                 : a.dim};
    alter(error, names[i], out);
    for (double& value : out.values) value = testing::stored(out.type, value);
    all.push_back(std::move(out));
  }
  return all;
}

// What is expected of a problem is computed once, whatever the kernel.
Verifier verifier_of(const Problem& problem, const std::string& inputs, uint64_t seed) {
  static std::map<std::string, Verifier> made;
  const std::string key = problem.str() + inputs + std::to_string(seed);
  const auto known = made.find(key);
  if (known != made.end()) return known->second;
  const auto no_reference = []() -> Kernel { throw 0; };
  return made.emplace(key, Verifier(problem, {}, 1, inputs, seed, no_reference)).first->second;
}

// The reason for which verification rejects the kernel; empty: it accepts it.
std::string finding(const Problem& problem, uint64_t seed) {
  Kernel kernel = testing::prepare_kernel<MutantKernel>(problem);
  for (const std::string inputs : {"uniform", "integers"}) {
    if (inputs == "integers") REQUIRE(kernel.refill(inputs, 1));
    Verifier verifier = verifier_of(problem, inputs, seed);
    Verifier::reset_outputs(kernel);
    kernel.time_batch(1);
    verifier.check(kernel, "with " + inputs);
    if (!verifier.result().reason.empty()) return verifier.result().reason;
  }
  return "";
}

std::string finding(const std::string& line, const std::string& error, uint64_t seed) {
  const Problem problem = Problem::parse("attention " + line + " phase=bwd");
  MutantKernel::next = {outputs_of(problem, "uniform", error),
                        outputs_of(problem, "integers", error)};
  return finding(problem, seed);
}

// `seeds`: those that errors are tried with. Where all outputs are compared, one is enough.
void check_found(const std::string& problem, const Texts& precisions, const Texts& errors,
                 const Seeds& seeds = {1}) {
  for (const std::string& precision : precisions) {
    const std::string line = problem + " precision=" + precision;
    CAPTURE(line);
    for (const uint64_t seed : testing::verification_seeds()) CHECK(finding(line, "", seed) == "");
    for (const std::string& error : errors) {
      CAPTURE(error);
      for (const uint64_t seed : seeds) CHECK(finding(line, error, seed) != "");
    }
  }
}

const Texts kAll = {"float", "tf32", "half", "bfloat16"};
const Texts kWrongGradients = {"gradient without mask",
                               "gradient without scale of scores",
                               "dQ without scale",
                               "dK without scale",
                               "dV of the last head dropped",
                               "sums without the last head of a group",
                               "sums of the first head of a group",
                               "sums without the last query",
                               "D ignored",
                               "mask off by one",
                               "another key head",
                               "dq: a row of zeros",
                               "dk: a row of zeros",
                               "dv: a row of zeros",
                               "dq: an element unwritten",
                               "dk: an element unwritten",
                               "dv: an element unwritten"};
const std::string kGrouped =
    "batch=2 heads=4 kv_heads=2 seq_q=9 seq_kv=14 dim=16 dim_v=12 mask=bottom_right";

TEST_CASE("attention: verification finds wrong gradients") {
  check_found(kGrouped, kAll, kWrongGradients);
  check_found("batch=1 heads=1 seq_q=20 seq_kv=20 dim=8 mask=top_left window=4", kAll,
              {"window off by one", "gradient without mask", "D ignored"});
  check_found(kGrouped, {"float", "tf32", "half"},
              {"dq: a factor of 0.995", "dk: a factor of 0.995", "dv: a factor of 0.995"});
}

TEST_CASE("attention: verification finds gradients of another sink") {
  check_found(kGrouped + " sink=yes", kAll,
              {"sink ignored", "sink counted twice", "dsink of the first sequence",
               "dsink: an element unwritten", "gradient without mask"});
}

TEST_CASE("attention: verification finds wrong gradients of problems that it samples") {
  const std::string problem =
      "batch=1 heads=2 kv_heads=1 seq_q=150 seq_kv=300 dim=32 dim_v=16 mask=bottom_right";
  check_found(problem, {"bfloat16"},
              {"gradient without mask", "dK without scale", "sums of the first head of a group",
               "D ignored", "dk: a row of zeros", "dv: a row of zeros"},
              testing::verification_seeds());
  check_found(problem, {"float"}, {"gradient without scale of scores", "dQ without scale"},
              testing::verification_seeds());
}

}  // namespace
}  // namespace deepbench
