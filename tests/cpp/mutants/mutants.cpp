// Mutants of every operation, precision and phase, which verification finds, and right kernels,
// which pass: docs/explanation/verification.md describes the set.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "../ops/fixed_output.hpp"
#include "alterations.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/rnn/reference.hpp"
#include "deepbench/run/row/verify.hpp"
#include "detection.hpp"
#include "mutant_kernel.hpp"

namespace deepbench {
namespace {

using testing::Behaviour;
using testing::Floor;
using testing::MutantKernel;
using testing::Outputs;

using Texts = std::vector<std::string>;

// Every mutant above its floor is found with at least this probability.
constexpr double kDetection = 0.999;

enum class Place { kOut, kIn };  // where calls leave their results

// Problems, each of which makes each of the errors.
struct Group {
  Texts problems, errors;
  Place place = Place::kOut;
};

Texts in_precisions(const std::string& problem, const Texts& precisions) {
  Texts all;
  for (const std::string& precision : precisions)
    all.push_back(problem + " precision=" + precision);
  return all;
}

Texts in_all(const Texts& problems, const std::string& key, const Texts& values) {
  Texts all;
  for (const std::string& problem : problems)
    for (const std::string& value : values) all.push_back(problem + " " + key + "=" + value);
  return all;
}

// Compared in full, and sampled with a projection of the whole.
const std::string kSmallGemm = "gemm m=37 n=29 k=64";
const std::string kLargeGemm = "gemm m=261 n=257 k=256 trans_b=t";
const std::string kFlatGemm = "gemm m=1001 n=1049 k=16";  // many of its sums round away
const std::string kSmallConv = "conv w=9 h=7 c=6 n=2 k=4 s=3 r=3 groups=2 pad_w=1 pad_h=1";
const std::string kLargeConv = "conv w=18 h=18 c=32 n=4 k=48 s=3 r=3 pad_w=1 pad_h=1";
const std::string kSparse = "sparse_gemm m=60 n=33 k=80 sparsity=0.9";
const std::string kRnn = "rnn hidden=16 batch=2 timesteps=8";

// Too large to be compared in full.
const std::string kLargeRnn = "rnn cell=gru precision=bfloat16 hidden=1024 batch=2 timesteps=22";

const Texts kCells = {"vanilla", "lstm", "gru", "gru_reset_before"};
const Texts kGradients = {"bwd_data", "bwd_weights", "bwd"};
const Texts kNarrow = {"half", "bfloat16"};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {in_precisions(kSmallGemm,
                     {"float", "tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2", "int8"}),
       {"last term dropped", "C ignored", "C twice", "a column without its product",
        "a row of another row of A", "a tile of zeros", "an element infinite",
        "an element unwritten", "columns swapped", "nothing written"}},
      {in_precisions(kSmallGemm, {"float", "tf32", "half", "int8"}),
       {"alpha 0.995", "a factor of 0.995"}},
      {in_precisions(kSmallGemm, {"half", "bfloat16", "fp8_e4m3", "int8"}),
       {"an element off by 8 units"}},
      {{kSmallGemm}, {"tf32", "16-bit sums"}},
      {in_precisions(kSmallGemm, {"half", "int8"}), {"16-bit sums"}},
      {in_precisions(kLargeGemm, {"float", "half", "bfloat16", "fp8_e4m3", "int8"}),
       {"a tile of zeros", "an element infinite", "an element unwritten", "a column unwritten"}},
      {in_precisions(kLargeGemm, {"bfloat16", "fp8_e4m3"}), {"last term dropped", "C ignored"}},
      {in_precisions(kLargeGemm, {"float", "tf32", "half"}), {"alpha 0.995"}},
      {in_precisions(kLargeGemm, {"float", "fp8_e4m3"}),
       {"a column without its product", "a row of another row of A"}},
      {{kLargeGemm}, {"tf32"}},
      {in_precisions(kSmallGemm, {"float", "half", "bfloat16", "int8"}),
       {"last term dropped", "an element unwritten", "a column unwritten", "nothing written"},
       Place::kIn},
      {in_precisions(kLargeGemm, {"float", "half", "bfloat16", "int8"}),
       {"a tile unwritten", "a column unwritten", "nothing written"},
       Place::kIn},
      {in_precisions(kFlatGemm, {"float", "half", "bfloat16", "int8"}),
       {"1 % unwritten"},
       Place::kIn},
      {in_all(in_precisions(kSmallConv, {"float", "tf32", "half", "bfloat16", "int8"}), "phase",
              {"fwd"}),
       {"a tap dropped", "a tap dropped in a row", "a row of images dropped", "padding off by one",
        "filter flipped", "a tile of zeros", "an element unwritten"}},
      {in_all(in_precisions(kSmallConv, {"float", "tf32", "half", "bfloat16"}), "phase",
              {"bwd_data", "bwd_filter"}),
       {"a tap dropped", "a tap dropped in a row", "a row of images dropped", "padding off by one",
        "filter flipped", "a tile of zeros", "an element unwritten"}},
      {{kSmallConv + " precision=int8 y_type=s8"},
       {"a tap dropped", "padding off by one", "a tile of zeros", "an element off by 8 units",
        "an element unwritten"}},
      {in_all(in_precisions(kLargeConv, {"float", "bfloat16"}), "phase",
              {"fwd", "bwd_data", "bwd_filter"}),
       {"a tile of zeros", "an element unwritten", "a factor of 0.995"}},
      {{kLargeConv + " precision=half"}, {"a tap dropped", "padding off by one"}},
      {{kLargeConv + " precision=int8 y_type=s8"},
       {"a tap dropped", "1 % unwritten", "an element unwritten"}},
      {{kSparse, kSparse + " trans_a=t order=row", kSparse + " trans_b=t"},
       {"last non-zero dropped", "columns of A off by one", "C ignored", "alpha 0.995",
        "a row of another row of A", "an element unwritten", "columns swapped"}},
      {{kSparse}, {"an element unwritten", "nothing written"}, Place::kIn},
      {in_all(in_precisions(kRnn, {"float", "half", "bfloat16"}), "cell", kCells),
       {"last term dropped", "no input", "a tile is zero", "an element unwritten"}},
      {in_all(in_precisions(kRnn, {"float", "half"}), "cell", {"lstm", "gru", "gru_reset_before"}),
       {"gates swapped", "a unit off by 1 %"}},
      {in_precisions(kRnn + " cell=lstm", {"float", "half", "bfloat16"}), {"c is not carried"}},
      {{kLargeRnn}, {"a unit is zero"}},
      {in_all({kRnn + " mode=inference precision=int8"}, "cell", {"lstm", "gru_reset_before"}),
       {"last term dropped", "no input", "gates swapped", "a tile is zero", "wrong scale",
        "states are truncated", "an element unwritten"}},
      {in_all(in_all({kRnn}, "cell", kCells), "phase", kGradients),
       {"last step dropped", "h' gets no gradient", "last term dropped", "an element unwritten",
        "a factor of 0.995"}},
      {in_all(in_all(in_precisions(kRnn, kNarrow), "cell", {"lstm", "gru"}), "phase", kGradients),
       {"last step dropped", "h' gets no gradient", "an element unwritten"}},
      {in_all(in_all({kRnn + " precision=half"}, "cell", {"lstm", "gru"}), "phase", kGradients),
       {"a factor of 0.985"}},
      {in_all(in_all({kRnn + " precision=bfloat16"}, "cell", {"lstm", "gru"}), "phase",
              {"bwd_weights", "bwd"}),
       {"a factor of 0.985"}},
      {in_all(in_all(in_precisions(kRnn, {"float", "half", "bfloat16"}), "cell", kCells), "phase",
              {"bwd_weights", "bwd"}),
       {"dU without step 0", "dU without a step of a sequence"}},
      {in_all(in_precisions("all_reduce elements=5000", {"float", "half", "bfloat16"}), "in_place",
              {"no", "yes"}),
       {"a rank left out", "a rank twice", "maximum", "the last element not summed",
        "the second rank has its own summand", "an element off by 8 units"}},
      {in_precisions("all_reduce elements=5000", {"float", "half", "bfloat16"}),
       {"an element unwritten", "nothing written"}},
      {{"memory kind=read bytes=40000"}, {"the last word dropped"}},
      {in_all({"memory bytes=40000"}, "kind", {"write", "copy", "exchange", "h2d", "d2h"}),
       {"a word off", "a bit everywhere", "an element unwritten", "nothing written"}},
      {in_all({"memory bytes=40000"}, "kind", {"copy", "exchange", "h2d", "d2h"}),
       {"words off by one"}},
  };
  return all;
}

// What is found less often than that: docs/explanation/verification.md lists it.
const std::vector<Group>& escaping_groups() {
  static const std::vector<Group> all = {
      {in_precisions(kSmallGemm, {"float", "tf32"}), {"an element off by 8 units"}},
      {in_precisions(kLargeGemm, {"float", "half", "bfloat16"}), {"an element off by 8 units"}},
      {{kLargeGemm + " precision=bfloat16"},
       {"a column without its product", "a row of another row of A"}},
      {in_precisions(kLargeGemm, kNarrow), {"a column of zeros"}},
      {{kSmallConv}, {"an element off by 8 units"}},
      {{kRnn + " cell=gru precision=bfloat16 phase=bwd_data"}, {"a factor of 0.985"}},
      {{"memory bytes=400000"}, {"an element off by 8 units"}},
  };
  return all;
}

struct Mutant {
  Problem problem;
  std::string error;
  Place place;

  bool is_altered() const { return testing::alterations().count(error) > 0; }
  Floor floor() const {
    if (is_altered()) return testing::alterations().at(error).floor;
    return error.find("alpha") == 0 ? Floor::kScale : Floor::kStructural;
  }
};

std::vector<double> stored(const Outputs& out) {
  std::vector<double> values = out.values;
  for (double& value : values) value = testing::stored(out.type, value);
  return values;
}

const Outputs& right_outputs(const Problem& problem, const std::string& inputs) {
  static std::map<std::string, Outputs> computed;
  Outputs& out = computed[inputs + " " + problem.str()];
  if (!out.values.empty()) return out;
  out = testing::compute_plainly(problem, inputs);
  out.values = stored(out);
  return out;
}

// What a kernel leaves that makes the error; "": what a right one leaves.
Outputs outputs_of(const Mutant& mutant, const std::string& inputs) {
  if (mutant.error.empty()) return right_outputs(mutant.problem, inputs);
  Outputs out;
  if (mutant.is_altered()) {
    out = right_outputs(mutant.problem, inputs);
    testing::alterations().at(mutant.error).apply(out);
  } else {
    out = testing::compute_plainly(mutant.problem, inputs, mutant.error);
  }
  out.values = stored(out);
  return out;
}

Behaviour behaviour_of(const Mutant& mutant) {
  Behaviour behaviour;
  behaviour.uniform = outputs_of(mutant, "uniform");
  if (mutant.place == Place::kIn)
    behaviour.initial = testing::initial_outputs(mutant.problem, "uniform");
  if (!mutant.problem.operation().needs_exact_sums(mutant.problem)) return behaviour;
  behaviour.integers = outputs_of(mutant, "integers");
  if (mutant.place == Place::kIn)
    behaviour.initial_integers = testing::initial_outputs(mutant.problem, "integers");
  return behaviour;
}

// The reason for which verification with this seed rejects the kernel; empty: it accepts it.
std::string finding(const Problem& problem, uint64_t seed) {
  Kernel kernel = testing::prepare_kernel<MutantKernel>(problem);
  const auto check = [&](const std::string& inputs) {
    Verifier verifier(problem, kernel.facts(), 1, inputs, seed, [&]() -> Kernel { throw 0; });
    Verifier::reset_outputs(kernel);
    kernel.time_batch(1);
    verifier.check(kernel, "with " + inputs);
    return verifier.result().reason;
  };
  const std::string reason = check("uniform");
  if (!reason.empty() || !problem.operation().needs_exact_sums(problem)) return reason;
  REQUIRE(kernel.refill("integers", 1));
  return check("integers");
}

// 300 by command, to confirm the derived probabilities.
uint64_t seeds() {
  const char* const count = std::getenv("DEEPBENCH_MUTANT_SEEDS");
  return count ? std::strtoull(count, nullptr, 10) : 2;
}

// What the output holds after the call.
std::vector<double> held_after_call(const Outputs& out, const std::vector<double>& before) {
  std::vector<double> held = out.values;
  for (size_t i = 0; i < out.is_written.size(); ++i)
    if (!out.is_written[i]) held[i] = before.empty() ? testing::poison(out.type) : before[i];
  return held;
}

// Right outputs of 8 bits may equal the poison; of others that do, none is expected to.
bool holds_unexpected_poison(const ExpectedOutput& expected, const std::vector<double>& wrong,
                             double poison) {
  if (!expected.elements_at) return false;
  std::vector<uint64_t> places;
  for (size_t i = 0; i < wrong.size(); ++i)
    if (wrong[i] == poison) places.push_back(i);
  const ExpectedElements elements = expected.elements_at(places);
  for (size_t i = 0; i < places.size(); ++i)
    if (std::abs(poison - elements.values[i]) > elements.bounds[i]) return true;
  return false;
}

// The whole output is searched for values that are not finite and for what it held before, which
// some right outputs in place equal, and some of 8 bits.
bool is_found_by_scan(const ExpectedOutput& expected, const std::vector<double>& wrong,
                      const std::vector<double>& before, double poison) {
  double unwritten = 0, infinite = 0;
  for (size_t i = 0; i < wrong.size(); ++i) {
    unwritten +=
        before.empty() ? std::isnan(wrong[i]) || wrong[i] == poison : wrong[i] == before[i];
    infinite += std::isinf(wrong[i]);
  }
  const double most = before.empty() ? expected.elements_at ? 0.02 : 0
                                     : std::max(expected.unchanged_share, 1 / double(wrong.size()));
  return infinite > 0 || unwritten > most * double(wrong.size()) ||
         holds_unexpected_poison(expected, wrong, poison);
}

// Of recurrent layers it derives from the output.
const ExpectedOutput& expected_output(const Problem& problem, const std::string& inputs,
                                      const std::vector<double>& output) {
  static std::map<std::string, ExpectedOutput> computed;
  const bool is_new = computed.count(inputs + " " + problem.str()) == 0;
  ExpectedOutput& expected = computed[inputs + " " + problem.str()];
  const bool derives =
      problem.operation().reference_source(problem) == ReferenceSource::kTestedOutput;
  if (!is_new && !derives) return expected;
  testing::FixedOutput tested(output);
  KernelConditions conditions;
  conditions.inputs = inputs;
  conditions.facts = testing::prepare_kernel<MutantKernel>(problem).facts();
  conditions.computed_output = &tested;
  return expected = problem.operation().expected_output(problem, conditions);
}

double derived_probability(const Problem& problem, const std::string& inputs, const Outputs& right,
                           const Outputs& wrong, const std::vector<double>& before) {
  const std::vector<double> held = held_after_call(wrong, before);
  const ExpectedOutput& expected = expected_output(problem, inputs, held);
  if (is_found_by_scan(expected, held, before, testing::poison(right.type))) return 1;
  if (problem.operation().reference_source(problem) == ReferenceSource::kTestedOutput &&
      expected.indices.size() < expected.outputs)
    return testing::sweep_detection_probability(rnn_problem(problem), expected,
                                                testing::exact_states(problem, held), held);
  return testing::detection_probability(expected, right.values, held);
}

double derived_probability(const Mutant& mutant, const Behaviour& wrong) {
  const Behaviour right = behaviour_of({mutant.problem, "", mutant.place});
  const double found =
      derived_probability(mutant.problem, "uniform", right.uniform, wrong.uniform, wrong.initial);
  if (found == 1 || wrong.integers.values.empty()) return found;
  const double found_later = derived_probability(mutant.problem, "integers", right.integers,
                                                 wrong.integers, wrong.initial_integers);
  return 1 - (1 - found) * (1 - found_later);
}

TEST_CASE("verification finds every mutant") {
  std::map<Floor, size_t> mutants;
  for (const Group& group : groups())
    for (const std::string& problem : group.problems)
      for (const std::string& error : group.errors) {
        const Mutant mutant = {Problem::parse(problem), error, group.place};
        CAPTURE(problem);
        CAPTURE(error);
        const Behaviour behaviour = MutantKernel::next = behaviour_of(mutant);
        CHECK(derived_probability(mutant, behaviour) >= kDetection);
        for (uint64_t seed = 1; seed <= seeds(); ++seed) CHECK(finding(mutant.problem, seed) != "");
        ++mutants[mutant.floor()];
      }
  CHECK(mutants[Floor::kElement] >= 40);
  CHECK(mutants[Floor::kScale] >= 30);
  CHECK(mutants[Floor::kStructural] >= 200);
}

// What is expected of a layer that is too large for float64.
std::string finding_by_reference(const Problem& problem, const std::vector<double>& reference,
                                 const std::string& error, double factor = 1) {
  Outputs out = testing::compute_plainly(problem, "uniform", error);
  for (double& value : out.values) value *= factor;
  out.values = stored(out);
  MutantKernel::next = {out};
  testing::FixedOutput output(reference);
  const testing::ExpectingOperation operation([&](KernelConditions conditions) {
    conditions.computed_output = &output;
    conditions.from_tested_forward = true;
    return expected_reference_kernel_gradients(rnn_problem(problem), conditions);
  });
  return finding(Problem(operation, {}), 1);
}

// Most elements are off by a small share of their bounds.
TEST_CASE("gradients that a reference kernel computes are judged together") {
  for (const std::string cell : {"lstm", "gru"}) {
    CAPTURE(cell);
    const Problem problem = Problem::parse(
        "rnn hidden=32 batch=4 timesteps=100 phase=bwd_weights precision=bfloat16 cell=" + cell);
    const std::vector<double> reference = testing::exact_gradients(problem);
    CHECK(finding_by_reference(problem, reference, "") == "");
    CHECK(finding_by_reference(problem, reference, "dU without a step of a sequence") != "");
    if (cell == "lstm") CHECK(finding_by_reference(problem, reference, "", 0.985) != "");
  }
}

TEST_CASE("errors that verification may miss are known") {
  for (const Group& group : escaping_groups())
    for (const std::string& problem : group.problems)
      for (const std::string& error : group.errors) {
        CAPTURE(problem);
        CAPTURE(error);
        const Mutant mutant = {Problem::parse(problem), error, group.place};
        const Behaviour behaviour = MutantKernel::next = behaviour_of(mutant);
        CHECK(derived_probability(mutant, behaviour) < kDetection);
      }
}

TEST_CASE("verification accepts the right kernels from which the mutants are made") {
  std::set<std::string> seen;
  for (const Group& group : groups())
    for (const std::string& problem : group.problems) {
      if (!seen.insert(problem + (group.place == Place::kIn ? " in place" : "")).second) continue;
      CAPTURE(problem);
      const Mutant right = {Problem::parse(problem), "", group.place};
      MutantKernel::next = behaviour_of(right);
      for (uint64_t seed = 1; seed <= seeds(); ++seed) CHECK(finding(right.problem, seed) == "");
    }
}

}  // namespace
}  // namespace deepbench
