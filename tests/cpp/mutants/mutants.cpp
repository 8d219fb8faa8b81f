// Mutants of every operation, precision and phase, which verification finds, and right kernels,
// which pass: docs/explanation/verification.md describes the set.
#include <doctest/doctest.h>

#include <set>

#include "../ops/fixed_output.hpp"
#include "alterations.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/ops/rnn/reference.hpp"
#include "deepbench/run/row/verify.hpp"
#include "detection.hpp"
#include "mutant_kernel.hpp"
#include "seeds.hpp"

namespace deepbench {
namespace {

using testing::Behavior;
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
const std::string kSmallBatch = "gemm m=13 n=11 k=32 batch=5";
const std::string kLargeBatch = "gemm m=131 n=67 k=128 batch=17 trans_a=t";
// Both have empty groups before others.
const std::string kSmallGroups = "grouped_gemm groups=9 rows=14 n=17 k=40 split=multinomial";
const std::string kLargeGroups = "grouped_gemm groups=40 rows=100 n=131 k=1300 split=multinomial";
const std::string kSmallConv = "conv w=9 h=7 c=6 n=2 k=4 s=3 r=3 groups=2 pad_w=1 pad_h=1";
const std::string kLargeConv = "conv w=18 h=18 c=32 n=4 k=48 s=3 r=3 pad_w=1 pad_h=1";
const std::string kSparse = "sparse_gemm m=60 n=33 k=80 sparsity=0.9";
const std::string kRnn = "rnn hidden=16 batch=2 timesteps=8";
const std::string kAttention =
    "attention batch=2 heads=4 kv_heads=2 seq_q=9 seq_kv=14 dim=16 dim_v=12 mask=bottom_right";
const std::string kLargeAttention =  // sampled queries, and a projection of all
    "attention batch=1 heads=2 seq_q=300 seq_kv=600 dim=32 dim_v=16 mask=bottom_right";
const std::string kDecoding =
    "attention batch=2 heads=2 kv_heads=1 seq_q=1 seq_kv=8192 dim=16 mask=bottom_right";

const std::string kSmallSoftmax = "softmax rows=12 columns=600";
const std::string kLargeSoftmax = "softmax rows=66 columns=1000";
const std::string kSmallActivation = "activation elements=2000";
const std::string kSmallElementwise = "elementwise rows=20 columns=96";
const std::string kLargeElementwise = "elementwise rows=750 columns=96";
const std::string kPool = "pool n=2 c=8 h=9 w=8 r=3 s=3 pad_h=1 pad_w=1 stride_h=2 stride_w=2";
const std::string kLargePool = "pool n=30 c=12 h=20 w=20 r=3 s=3 pad_h=1 pad_w=1";
const std::string kLrn = "lrn n=3 c=12 h=4 w=5 size=5";
const std::string kLookups = "embedding rows=40 dim=12 lookups=3 batch=50";
const std::string kManyLookups = "embedding rows=3000 dim=24 lookups=3 batch=3000 mode=sum";
// Too many rows, or planes, for a projection of 16-bit outputs to show a wrong one.
const std::string kManyRows = "softmax rows=2700 columns=100";
const std::string kManyHeads = "elementwise rows=2700 columns=100 kind=add";
const std::string kManyPlanes = "pool n=40 c=100 h=6 w=6 r=2 s=2 kind=average";
const std::string kManySums = "embedding rows=300 dim=24 lookups=2 batch=6000 mode=sum";
const std::string kManyActivations = "activation elements=262144 kind=tanh";
const std::string kSmallScales = "gemm m=37 n=29 k=384 scaling=block128";
const std::string kLargeScales = "gemm m=261 n=257 k=256 trans_a=t scaling=block128";
// Its grid covers half of it.
const std::string kWideEpilogue = "gemm m=530 n=517 k=64";
const std::string kLargeActivation = "activation elements=66000";

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
      {in_precisions(kLargeGemm, kNarrow),
       {"a column without its product", "a row of another row of A", "a column of zeros",
        "a row of zeros", "columns swapped"}},
      {in_all(in_precisions(kWideEpilogue, {"float", "bfloat16"}), "epilogue", {"relu", "gelu"}),
       {"a column without its product", "a column of zeros", "a row of zeros", "columns swapped",
        "last term dropped", "no bias", "no function"}},
      {in_precisions(kSmallScales, {"fp8_e4m3", "fp8_e5m2"}),
       {"scales ignored", "scales of the next block", "the scales of A for B", "scales transposed",
        "a scale of A negated", "a scale of B negated", "last term dropped", "C ignored",
        "a column without its product"}},
      {in_precisions(kLargeScales, {"fp8_e4m3", "fp8_e5m2"}),
       {"scales ignored", "scales of the next block", "the scales of A for B", "scales transposed",
        "a scale of A negated", "a scale of B negated", "scales of the next rows",
        "last term dropped", "C ignored", "a tile of zeros", "a column without its product",
        "a row of zeros", "columns swapped", "an element unwritten"}},
      {in_precisions(kSmallGemm, {"float", "half", "bfloat16", "int8"}),
       {"last term dropped", "an element unwritten", "a column unwritten", "nothing written"},
       Place::kIn},
      {in_precisions(kLargeGemm, {"float", "half", "bfloat16", "int8"}),
       {"a tile unwritten", "a column unwritten", "nothing written"},
       Place::kIn},
      {in_precisions(kFlatGemm, {"float", "half", "bfloat16", "int8"}),
       {"1 % unwritten"},
       Place::kIn},
      {in_precisions(kSmallBatch, {"float", "half", "bfloat16", "fp8_e4m3", "int8"}),
       {"a product of the batch unwritten", "a stride of 0 in the batch",
        "a stride off by one in the batch", "last term dropped", "C ignored"}},
      {in_precisions(kLargeBatch, {"float", "half", "bfloat16", "int8"}),
       {"a product of the batch unwritten", "a stride of 0 in the batch",
        "a stride off by one in the batch"}},
      {in_precisions(kSmallBatch, {"float", "int8"}),
       {"a product of the batch unwritten", "last term dropped"},
       Place::kIn},
      {in_all(in_precisions(kSmallGemm, {"float", "tf32", "half", "bfloat16"}), "epilogue",
              {"bias", "relu", "gelu"}),
       {"no bias", "the bias of the next row", "last term dropped", "an element unwritten"}},
      {in_all(in_precisions(kSmallGemm, {"float", "tf32", "half", "bfloat16"}), "epilogue",
              {"relu", "gelu"}),
       {"no function"}},
      {in_precisions(kLargeGemm + " epilogue=bias", {"float", "bfloat16"}),
       {"no bias", "the bias of the next row"}},
      {{kLargeGemm + " epilogue=relu precision=half"}, {"no bias", "no function"}},
      {in_precisions(kSmallGroups, {"float", "tf32", "half", "bfloat16"}),
       {"an empty group shifts the others", "a group uses its neighbor's matrix",
        "the last row of a group dropped", "an element infinite", "an element unwritten",
        "nothing written"}},
      {in_precisions(kSmallGroups, {"half", "bfloat16"}), {"an element off by 8 units"}},
      {in_precisions(kLargeGroups, {"float", "bfloat16"}),
       {"an empty group shifts the others", "a group uses its neighbor's matrix",
        "an element unwritten"}},
      {{kLargeGroups}, {"the last row of a group dropped", "a tile of zeros"}},
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
      {in_all(in_precisions(kLargeConv, kNarrow), "phase", {"fwd", "bwd_data"}),
       {"a column of zeros", "columns swapped"}},
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
      {in_precisions(kSmallSoftmax, {"float", "half", "bfloat16"}),
       {"no maximum subtracted", "not normalized", "a tail dropped", "a row of another row",
        "16-bit sums", "an element off by 8 units", "a factor of 0.995", "a tile of zeros",
        "an element infinite", "an element unwritten", "columns swapped", "nothing written"}},
      {in_precisions(kSmallSoftmax + " phase=bwd", {"float", "half", "bfloat16"}),
       {"no sum subtracted", "a tail dropped", "a row of another row", "a factor of 0.995",
        "a tile of zeros", "an element unwritten", "columns swapped"}},
      {in_precisions(kLargeSoftmax, kNarrow),
       {"no maximum subtracted", "not normalized", "a tail dropped", "a column unwritten"}},
      {in_precisions(kLargeSoftmax, {"float", "half", "bfloat16"}), {"a column of zeros"}},
      {in_precisions(kLargeSoftmax, {"float", "half"}), {"a factor of 0.995"}},
      {in_precisions(kManyRows, {"bfloat16"}), {"a column of zeros", "columns swapped"}},
      {in_precisions(kManyHeads, {"bfloat16"}), {"a column of zeros", "columns swapped"}},
      {in_precisions(kManyPlanes, {"bfloat16"}), {"a column of zeros", "columns swapped"}},
      {in_precisions(kManySums, {"bfloat16"}), {"a column of zeros", "columns swapped"}},
      {in_precisions(kManyActivations, {"bfloat16"}), {"a tile of zeros", "a factor of 0.985"}},
      {in_all(in_all({kSmallActivation}, "kind", {"relu", "gelu", "silu", "sigmoid", "tanh"}),
              "phase", {"fwd", "bwd"}),
       {"an element unwritten", "an element infinite", "a factor of 0.995", "nothing written"}},
      {in_precisions(kSmallActivation + " kind=relu", {"float", "half", "bfloat16"}),
       {"leaky", "an element off by 8 units"}},
      {in_precisions(kSmallActivation + " kind=relu phase=bwd", {"float", "half", "bfloat16"}),
       {"leaky", "an element off by 8 units"}},
      {in_precisions(kSmallActivation + " kind=gelu", {"float", "half", "bfloat16"}),
       {"gelu by tanh"}},
      {{kLargeActivation + " kind=gelu"}, {"gelu by tanh"}},
      {in_precisions(kSmallActivation + " kind=silu", {"float", "half", "bfloat16"}),
       {"silu of 1.702 x", "a factor of 0.995"}},
      {in_all(in_precisions(kSmallActivation, {"float", "half", "bfloat16"}), "kind",
              {"sigmoid", "tanh"}),
       {"hard"}},
      {in_all(in_precisions(kSmallActivation + " phase=bwd", {"float", "half", "bfloat16"}), "kind",
              {"gelu", "silu"}),
       {"derivative of one factor", "a factor of 0.995"}},
      {in_all(in_precisions(kSmallActivation + " phase=bwd", {"float", "half", "bfloat16"}), "kind",
              {"sigmoid", "tanh"}),
       {"output taken for x", "a factor of 0.995"}},
      {in_precisions(kLargeActivation + " kind=tanh phase=bwd", {"bfloat16"}),
       {"output taken for x", "1 % unwritten"}},
      {in_all(in_precisions(kSmallElementwise, {"float", "half", "bfloat16"}), "kind",
              {"add", "multiply", "swiglu"}),
       {"the first input alone", "the second input twice", "a tile of zeros", "an element infinite",
        "an element unwritten", "columns swapped", "nothing written"}},
      {in_precisions(kSmallElementwise + " kind=add", {"float", "half", "bfloat16"}),
       {"a difference", "an element off by 8 units"}},
      {in_precisions(kSmallElementwise + " kind=multiply", {"float", "half", "bfloat16"}),
       {"a factor of 0.995", "an element off by 8 units"}},
      {in_precisions(kSmallElementwise + " kind=swiglu", {"float", "half", "bfloat16"}),
       {"gate and up exchanged", "a sigmoid alone", "silu of 1.702 x", "a factor of 0.995"}},
      {in_precisions(kSmallElementwise + " kind=rotary dim=32", {"float", "half", "bfloat16"}),
       {"neighbors paired", "the angles of the first row", "no sines", "turned back",
        "a factor of 0.995", "an element unwritten", "nothing written"}},
      {in_precisions(kLargeElementwise + " kind=add", {"float", "half", "bfloat16"}),
       {"a difference", "1 % unwritten"}},
      {in_precisions(kLargeElementwise + " kind=rotary dim=32", {"float", "half", "bfloat16"}),
       {"neighbors paired", "the angles of the first row", "turned back", "1 % unwritten"}},
      {in_all(in_precisions(kPool, {"float", "half", "bfloat16"}), "kind", {"max", "average"}),
       {"padding counted", "the last row of windows dropped", "an element unwritten",
        "a column unwritten"}},
      {in_precisions(kPool, {"float", "half", "bfloat16"}), {"an element off by 8 units"}},
      {in_precisions(kPool + " kind=average", kNarrow), {"an element off by 8 units"}},
      {in_all(in_all({kPool + " phase=bwd"}, "kind", {"max", "average"}), "precision",
              {"float", "half"}),
       {"the last row of windows dropped", "the gradient overwrites", "an element unwritten"}},
      {in_precisions(kPool + " phase=bwd kind=average", {"float", "half", "bfloat16"}),
       {"padding counted"}},
      {in_all({kLargePool}, "phase", {"fwd", "bwd"}),
       {"the last row of windows dropped", "a column unwritten", "an element unwritten"}},
      {in_all({kLargePool + " kind=average"}, "phase", {"fwd", "bwd"}),
       {"padding counted", "a factor of 0.995", "nothing written"}},
      {{kLrn},
       {"alpha not divided", "beta 1", "channels off by one", "an element unwritten",
        "a factor of 0.995"}},
      {in_precisions(kLrn, kNarrow),
       {"an element off by 8 units", "an element unwritten", "a column unwritten"}},
      {in_precisions(kLookups, {"float", "half", "bfloat16"}),
       {"the last lookup dropped", "rows off by one", "an element off by 8 units",
        "an element unwritten", "a column unwritten"}},
      {in_all(in_precisions(kLookups + " mode=sum", {"float", "bfloat16"}), "indices",
              {"uniform", "zipf"}),
       {"the last lookup dropped", "rows off by one", "a column unwritten", "a factor of 0.985"}},
      {in_precisions(kManyLookups, {"float", "half", "bfloat16"}),
       {"rows off by one", "a column unwritten", "an element unwritten", "nothing written"}},
      {in_precisions(kManyLookups, {"float", "half"}), {"a factor of 0.995"}},
      {in_all(in_all({kLookups + " phase=bwd"}, "mode", {"gather", "sum"}), "indices",
              {"uniform", "zipf"}),
       {"the last lookup dropped", "rows off by one", "the gradient overwrites", "nothing written"},
       Place::kIn},
      {{kManyLookups + " phase=bwd", kManyLookups + " phase=bwd indices=zipf"},
       {"rows off by one", "the gradient overwrites", "nothing written"},
       Place::kIn},
      {{kLookups + " phase=bwd", kManyLookups + " phase=bwd"}, {"a column unwritten"}, Place::kIn},
      {in_all(in_precisions("all_reduce elements=5000", {"float", "half", "bfloat16"}), "in_place",
              {"no", "yes"}),
       {"a rank left out", "a rank twice", "maximum", "the last element not summed",
        "the second rank has its own summand", "an element off by 8 units"}},
      {in_precisions("all_reduce elements=5000", {"float", "half", "bfloat16"}),
       {"an element unwritten", "nothing written"}},
      {in_precisions(kAttention, {"float", "tf32", "half", "bfloat16"}),
       {"mask off by one", "top_left for bottom_right", "no scale", "another key head",
        "last key dropped", "values of another sequence", "not normalized", "a tile of zeros",
        "an element infinite", "an element unwritten", "a column unwritten", "columns swapped",
        "nothing written"}},
      {in_precisions(kAttention, {"float", "tf32", "half"}), {"a factor of 0.995"}},
      {in_precisions(kAttention + " sink=yes", {"float", "tf32", "half", "bfloat16"}),
       {"sink ignored", "sink counted twice", "mask off by one"}},
      {in_precisions("attention batch=1 heads=1 seq_q=20 seq_kv=20 dim=8 mask=top_left window=4",
                     {"float", "half", "bfloat16"}),
       {"window off by one", "mask off by one"}},
      {in_precisions(kLargeAttention, {"bfloat16"}),
       {"mask off by one", "a column of zeros", "columns swapped"}},
      {in_precisions(kDecoding, {"float", "half", "bfloat16"}),
       {"last key dropped", "values of another sequence"}},
      {in_precisions("reduce_scatter elements=5000", {"float", "half", "bfloat16"}),
       {"a rank left out", "a block in the wrong place", "an element off by 8 units",
        "an element unwritten", "nothing written"}},
      {in_precisions("all_gather elements=5000", {"float", "half", "bfloat16"}),
       {"a block in the wrong place", "its own block missing",
        "the last element repeats the one before", "an element off by 8 units",
        "an element unwritten"}},
      {in_precisions("all_to_all elements=5000", {"float", "half", "bfloat16"}),
       {"a block in the wrong place", "another rank's block", "its own block missing",
        "an element off by 8 units", "an element unwritten"}},
      {in_precisions("broadcast elements=5000", {"float", "half", "bfloat16"}),
       {"another root", "an element off by 8 units", "an element unwritten", "nothing written"}},
      {in_precisions("send_recv elements=5000", {"float", "half", "bfloat16"}),
       {"another sender", "an element off by 8 units", "an element unwritten", "nothing written"}},
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
      {{kSmallConv}, {"an element off by 8 units"}},
      {{kRnn + " cell=gru precision=bfloat16 phase=bwd_data"}, {"a factor of 0.985"}},
      {{kSmallActivation + " kind=gelu"}, {"an element off by 8 units"}},
      {{kLargeActivation + " kind=gelu precision=bfloat16"}, {"an element off by 8 units"}},
      {{kSmallElementwise + " kind=swiglu"}, {"an element off by 8 units"}},
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

Behavior behavior_of(const Mutant& mutant) {
  Behavior behavior;
  behavior.uniform = {outputs_of(mutant, "uniform")};
  if (mutant.place == Place::kIn)
    behavior.initial = testing::initial_outputs(mutant.problem, "uniform");
  if (!mutant.problem.operation().needs_exact_sums(mutant.problem)) return behavior;
  behavior.integers = {outputs_of(mutant, "integers")};
  if (mutant.place == Place::kIn)
    behavior.initial_integers = testing::initial_outputs(mutant.problem, "integers");
  return behavior;
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

// What the output holds after the call.
std::vector<double> held_after_call(const Outputs& out, const std::vector<double>& before) {
  std::vector<double> held = out.values;
  for (size_t i = 0; i < held.size(); ++i)
    if (!out.writes(i)) held[i] = before.empty() ? testing::poison(out.type) : before[i];
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

// As core/product_reference.cpp, and ops/conv/sampled_output.cpp. Whole columns of several products
// are not counted.
testing::ComparedPlaces compared_places(const Problem& problem, const std::string& inputs,
                                        int64_t rows) {
  using Which = testing::ComparedPlaces::Which;
  const std::string& op = problem.op();
  if (op == "conv" && problem.text("y_type") != "s8") return {Which::kOneOfColumn, rows};
  if (op == "gemm" || op == "grouped_gemm" || op == "sparse_gemm") {
    const bool is_linear = op != "gemm" || !is_nonlinear(gemm_problem(problem).epilogue);
    const int lines = !is_linear ? 10 : inputs == "integers" ? 0 : 2;
    const bool is_single =
        op == "sparse_gemm" || (op == "gemm" && gemm_problem(problem).batch == 1);
    return {Which::kLines, rows, lines, is_single ? lines : 0};
  }
  for (const char* spread :
       {"softmax", "activation", "elementwise", "pool", "lrn", "embedding", "norm"})
    if (op == spread) return {Which::kAny};
  return {};
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
  return testing::detection_probability(expected, right.values, held,
                                        compared_places(problem, inputs, right.rows));
}

double derived_probability(const Mutant& mutant, const Behavior& wrong) {
  const Behavior right = behavior_of({mutant.problem, "", mutant.place});
  const double found = derived_probability(mutant.problem, "uniform", right.uniform.front(),
                                           wrong.uniform.front(), wrong.initial);
  if (found == 1 || wrong.integers.empty()) return found;
  const double found_later = derived_probability(mutant.problem, "integers", right.integers.front(),
                                                 wrong.integers.front(), wrong.initial_integers);
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
        const Behavior behavior = MutantKernel::next = behavior_of(mutant);
        CHECK(derived_probability(mutant, behavior) >= kDetection);
        for (const uint64_t seed : testing::verification_seeds())
          CHECK(finding(mutant.problem, seed) != "");
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
  MutantKernel::next = {{out}};
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
        const Behavior behavior = MutantKernel::next = behavior_of(mutant);
        CHECK(derived_probability(mutant, behavior) < kDetection);
      }
}

TEST_CASE("verification accepts the right kernels from which the mutants are made") {
  std::set<std::string> seen;
  for (const Group& group : groups())
    for (const std::string& problem : group.problems) {
      if (!seen.insert(problem + (group.place == Place::kIn ? " in place" : "")).second) continue;
      CAPTURE(problem);
      const Mutant right = {Problem::parse(problem), "", group.place};
      MutantKernel::next = behavior_of(right);
      for (const uint64_t seed : testing::verification_seeds())
        CHECK(finding(right.problem, seed) == "");
    }
}

}  // namespace
}  // namespace deepbench
