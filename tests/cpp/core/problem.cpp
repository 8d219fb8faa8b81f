// Tests that parse and str are inverses and that messages name the error.
#include "deepbench/core/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

// The list of operations that ends the message about an unknown one.
std::string operation_list() {
  std::string list = "there are";
  for (const Operation* operation : operations()) list += " " + operation->name();
  return list;
}

std::string canonical_text(const std::string& line, const std::string& defaults = "") {
  return Problem::parse(line, defaults).str();
}

TEST_CASE("a problem prints every parameter in the operation's order") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"gemm m=1 n=2 k=3", "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=float"},
      {"  gemm   k=3 n=2\tm=1 \r\n", "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=float"},
      {"gemm precision=fp16 trans_b=t m=1 n=2 k=3",
       "gemm m=1 n=2 k=3 trans_a=n trans_b=t precision=half"},
      {"gemm m=1 n=2 k=3 precision=i8",
       "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=int8 b_type=s8"},
      {"gemm b_type=u8 m=1 n=2 k=3 precision=int8",
       "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=int8 b_type=u8"},
      {"gemm m=1 n=2 k=3 application=\"a; b\"",
       "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=float"},
      {"conv w=7 h=6 c=4 n=2 k=8 s=3 r=2",
       "conv w=7 h=6 c=4 n=2 k=8 s=3 r=2 pad_w=0 pad_h=0 stride_w=1 stride_h=1 dilation_w=1 "
       "dilation_h=1 groups=1 phase=fwd layout=library precision=float"},
      {"rnn cell=gru hidden=8 batch=2 timesteps=3",
       "rnn cell=gru hidden=8 batch=2 timesteps=3 phase=fwd mode=training precision=float"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=0.9500",
       "sparse_gemm m=8 n=1 k=4 trans_a=n trans_b=n sparsity=0.95 precision=float order=col"},
      {"all_reduce elements=100000", "all_reduce elements=100000 precision=float"},
      {"memory bytes=4096", "memory kind=copy bytes=4096"},
  };
  for (const auto& [line, expected] : table) {
    CAPTURE(line);
    CHECK(canonical_text(line) == expected);
    CHECK(canonical_text(expected) == expected);
    CHECK(Problem::parse(line) == Problem::parse(expected));
  }
}

TEST_CASE("an operation has the precisions that libraries compute it in") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"attention", {"float", "tf32", "half", "bfloat16"}},
      {"grouped_gemm", {"float", "tf32", "half", "bfloat16"}},
      {"embedding", {"float", "half", "bfloat16"}},
      {"lrn", {"float", "half", "bfloat16"}},
      {"norm", {"float", "half", "bfloat16"}},
      {"pool", {"float", "half", "bfloat16"}},
  };
  for (const auto& [name, precisions] : table) {
    CAPTURE(name);
    const Operation& operation = find_operation(name);
    CHECK(operation.find("precision")->choices == precisions);
    CHECK(canonical_text(operation.example(), "precision=fp16").find("precision=half") !=
          std::string::npos);
    CHECK_THROWS_AS(canonical_text(operation.example(), "precision=int8"), InvalidProblem);
  }
  CHECK_THROWS_WITH_AS(canonical_text("lrn n=1 c=8 h=4 w=4 precision=tf32"),
                       "precision=tf32: must be one of float half bfloat16", InvalidProblem);
}

TEST_CASE("every precision has its name and its aliases") {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"float", "float fp32 f32 float32 single FP32 Float32"},
      {"tf32", "tf32 TF32"},
      {"half", "half fp16 f16 float16 FP16"},
      {"bfloat16", "bfloat16 bf16 BF16 BFloat16"},
      {"fp8_e4m3", "fp8_e4m3 fp8 float8 e4m3 e4m3fn float8_e4m3fn FP8"},
      {"fp8_e5m2", "fp8_e5m2 e5m2 float8_e5m2"},
      {"int8", "int8 i8 s8"}};
  for (const auto& [name, words] : names) {
    for (size_t begin = 0; begin < words.size();) {
      const size_t end = std::min(words.find(' ', begin), words.size());
      const std::string word = words.substr(begin, end - begin);
      CHECK(Problem::parse("gemm m=1 n=1 k=1 precision=" + word).text("precision") == name);
      begin = end + 1;
    }
  }
}

TEST_CASE("a choice may contain capitals") {
  CHECK(canonical_text("gemm m=1 n=2 k=3 trans_a=T", "precision=FP16") ==
        "gemm m=1 n=2 k=3 trans_a=t trans_b=n precision=half");
  CHECK(Problem::parse("rnn cell=LSTM hidden=8 batch=2 timesteps=3").text("cell") == "lstm");
}

TEST_CASE("defaults apply only to parameters that the line does not give") {
  CHECK(canonical_text("gemm m=1 n=2 k=3", "precision=half trans_a=t") ==
        "gemm m=1 n=2 k=3 trans_a=t trans_b=n precision=half");
  CHECK(canonical_text("gemm m=1 n=2 k=3 precision=float", "precision=half") ==
        "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=float");
  CHECK(canonical_text("gemm m=1 n=2", "k=5 phase=fwd") ==
        "gemm m=1 n=2 k=5 trans_a=n trans_b=n precision=float");
  // b_type exists for int8 only; its default is ignored in other precisions.
  CHECK(canonical_text("gemm m=1 n=2 k=3", "b_type=u8") ==
        "gemm m=1 n=2 k=3 trans_a=n trans_b=n precision=float");
  CHECK_THROWS_AS(canonical_text("gemm m=1 n=2 k=3", "precision=quad"), InvalidProblem);
}

TEST_CASE("metadata is not part of a problem") {
  const Problem named = Problem::parse("gemm m=1 n=2 k=3 application=\"DeepSpeech, output\"");
  CHECK(named.metadata().text("application") == "DeepSpeech, output");
  CHECK(named == Problem::parse("gemm m=1 n=2 k=3"));
  CHECK_FALSE(named == Problem::parse("gemm m=1 n=2 k=4"));
  CHECK_FALSE(Problem::parse("memory bytes=4") == Problem::parse("all_reduce elements=4"));
}

TEST_CASE("an invalid problem is rejected with a reason of one line") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "the problem is empty"},
      {" \t\n", "the problem is empty"},
      {"gem m=1", "no operation is called 'gem' (did you mean 'gemm'?); " + operation_list()},
      {"matrix m=1", "no operation is called 'matrix'; " + operation_list()},
      {"m=1 n=1 k=1", "no operation is called 'm=1'; " + operation_list()},
      {"gemm m=1 n=1",
       "gemm needs k=; for example: gemm m=1760 n=128 k=1760 trans_a=n trans_b=n "
       "precision=float"},
      {"gemm m=1 n=1 k=1 m=2", "'m' is given twice"},
      {"gemm m=1 n=1 k=1 kk=1",
       "gemm has no attribute 'kk'; it has m n k trans_a trans_b precision b_type batch epilogue "
       "scaling"},
      {"gemm m=1 n=1 k=1 trans_c=t",
       "gemm has no attribute 'trans_c' (did you mean 'trans_a'?); it has m n k trans_a trans_b "
       "precision b_type batch epilogue scaling"},
      {"gemm M=1 n=1 k=1",
       "gemm has no attribute 'M' (did you mean 'm'?); it has m n k trans_a trans_b precision "
       "b_type batch epilogue scaling"},
      {"GEMM m=1 n=1 k=1",
       "no operation is called 'GEMM' (did you mean 'gemm'?); " + operation_list()},
      {"gemm m=0 n=1 k=1", "m=0: must be at least 1"},
      {"gemm m=-5 n=1 k=1", "m=-5: must be at least 1"},
      {"gemm m=1.5 n=1 k=1", "m=1.5 is not an integer"},
      {"gemm m=1e3 n=1 k=1", "m=1e3 is not an integer"},
      {"gemm m=16,32 n=1 k=1", "m=16,32 is not an integer"},
      {"gemm m=99999999999999999999 n=1 k=1", "m=99999999999999999999 does not fit 64 bits"},
      {"gemm m=1 n=1 k=1 trans_a=x", "trans_a=x: must be one of n t"},
      {"gemm m=1 n=1 k=1 precision=flot",
       "precision=flot: must be one of float tf32 half bfloat16 fp8_e4m3 fp8_e5m2 int8 (did you "
       "mean 'float'?)"},
      {"gemm m=1 n=1 k=1 b_type=u8",
       "b_type is a parameter only where precision=int8; here it is float"},
      {"gemm m=9223372036854775807 n=1 k=1",
       "m=9223372036854775807: must be at most 9200000000000000000"},
      {"gemm m=3000000000 n=3000000000 k=1", "2 m n k does not fit 64 bits"},
      {"gemm m=3000000000 n=1 k=1200000000 precision=float",
       "the size of A in bytes does not fit 64 bits"},
      {"gemm m=1 n=3000000000 k=1200000000", "the size of B in bytes does not fit 64 bits"},
      {"gemm m=1200000000 n=3000000000 k=1", "the size of C in bytes does not fit 64 bits"},
      {"conv w=2 h=9 c=1 n=1 k=1 s=3 r=3",
       "the output is empty: the dilated filter's width, 3, exceeds the padded input's, "
       "w + 2 pad_w = 2"},
      {"conv w=9 h=9 c=3 n=1 k=4 s=3 r=3 groups=2", "groups=2 does not divide c=3"},
      {"conv w=9 h=9 c=1 n=1 k=1 s=3 r=3 pad_w=-1", "pad_w=-1: must be at least 0"},
      {"conv w=9 h=9 c=1 n=1 k=1 s=3 r=3 stride_h=0", "stride_h=0: must be at least 1"},
      {"conv w=2000000000 h=9 c=1 n=1 k=1 s=3 r=3", "w=2000000000: must be at most 1000000000"},
      {"conv w=1000000000 h=1000000000 c=9 n=9 k=1 s=1 r=1",
       "the size of the input in bytes does not fit 64 bits"},
      {"rnn cell=lstn hidden=8 batch=2 timesteps=3",
       "cell=lstn: must be one of vanilla lstm gru gru_reset_before (did you mean 'lstm'?)"},
      {"rnn cell=lstm hidden=8 batch=2 timesteps=3 mode=inference phase=bwd_data",
       "mode=inference supports only phase=fwd"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=1", "sparsity=1: must be at most 0.9999999997671694"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=95",
       "sparsity=95: must be at most 0.9999999997671694; 95 % is sparsity=0.95"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=99.9",
       "sparsity=99.9: must be at most 0.9999999997671694; 99.9 % is sparsity=0.999"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=95%",
       "sparsity=95% is not a number; 95 % is sparsity=0.95"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=0.5%",
       "sparsity=0.5% is not a number; 0.5 % is sparsity=0.005"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=100", "sparsity=100: must be at most 0.9999999997671694"},
      {"gemm m=95% n=1 k=1", "m=95% is not an integer"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=-0.1", "sparsity=-0.1: must be at least 0"},
      {"sparse_gemm m=8 n=1 k=4 sparsity=nan", "sparsity=nan is not a number"},
      {"sparse_gemm m=8 n=1 k=4",
       "sparse_gemm needs sparsity=; for example: sparse_gemm m=7680 "
       "n=1500 k=2560 sparsity=0.95"},
      {"all_reduce elements=2000000000000000000", "the payload in bytes does not fit 64 bits"},
      {"memory bytes=6", "bytes=6: must be a multiple of 4"},
      {"memory bytes=3", "bytes=3: must be at least 4"},
      {"memory bytes=2000000000000000", "bytes=2000000000000000: must be at most 1000000000000000"},
      {"memory kind=reed bytes=8",
       "kind=reed: must be one of read write copy exchange h2d d2h (did you mean 'read'?)"},
      {std::string(5000, 'x'), "the problem has 5000 characters; the limit is 4096"},
  };
  for (const auto& [line, message] : wrong) {
    CAPTURE(line);
    CHECK_THROWS_WITH_AS(Problem::parse(line), message.c_str(), InvalidProblem);
  }
}

TEST_CASE("an unknown operation of any length and bytes gives a short message") {
  for (const std::string& word : {std::string(4000, 'g'), std::string("\xff\xfe\x80gemm")}) {
    try {
      Problem::parse(word);
      FAIL("Problem::parse() did not throw");
    } catch (const InvalidProblem& error) {
      CHECK(std::string(error.what()).size() < operation_list().size() + 100);
    }
  }
}

// Returns a random valid value of a parameter, so small that no product overflows.
std::string random_value(const Parameter& parameter, std::mt19937& random) {
  if (parameter.kind == ParameterKind::kChoice)
    return parameter.choices[random() % parameter.choices.size()];
  if (parameter.kind == ParameterKind::kReal)
    return to_text(Value(double(random()) / 4294967296.0));
  const auto minimum = static_cast<int64_t>(parameter.minimum);
  const auto values =
      static_cast<int64_t>(std::min(200.0, parameter.maximum - parameter.minimum + 1));
  return std::to_string(parameter.name == "bytes" ? 4 * (1 + random() % 100000)
                                                  : minimum + random() % values);
}

std::string random_line(const Operation& operation, std::mt19937& random) {
  std::vector<std::string> words;
  for (const auto& parameter : operation.parameters()) {
    const bool optional = !parameter.default_text.empty();
    if (!parameter.condition_name.empty() || (optional && random() % 2)) continue;
    words.push_back(parameter.name + "=" + random_value(parameter, random));
  }
  if (random() % 2) words.push_back("application=\"x \\\"y\\\" ; z\"");
  std::shuffle(words.begin(), words.end(), random);
  std::string line = operation.name();
  for (const auto& word : words) line += (random() % 4 ? " " : "\t ") + word;
  return line;
}

// Whether the values of several attributes do not go together, which values drawn alone can show.
bool is_a_rule_of_an_operation(const std::string& reason) {
  static const std::string kBeginnings[] = {"groups=",   "mode=inference", "pad_",
                                            "kv_heads=", "window=",        "epilogue=",
                                            "scaling=",  "split_seed",     "dim="};
  static const std::string kParts[] = {"must be odd", "the output is empty"};
  const auto begins = [&](const std::string& text) { return reason.find(text) == 0; };
  const auto contains = [&](const std::string& text) {
    return reason.find(text) != std::string::npos;
  };
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) ||
         std::any_of(std::begin(kParts), std::end(kParts), contains);
}

TEST_CASE("parse and str are inverses for random problems of every operation") {
  std::mt19937 random(7);
  for (const Operation* operation : operations()) {
    int valid = 0;
    for (int i = 0; i < 500; ++i) {
      const std::string line = random_line(*operation, random);
      CAPTURE(line);
      try {
        const Problem problem = Problem::parse(line);
        const Problem again = Problem::parse(problem.str());
        CHECK(again == problem);
        CHECK(again.str() == problem.str());
        CHECK(&again.operation() == operation);
        CHECK(again.metadata().items().empty());
        ++valid;
      } catch (const InvalidProblem& error) {  // the rules of the operation: groups, windows
        const std::string reason = error.what();
        CHECK_MESSAGE(is_a_rule_of_an_operation(reason), reason);
      }
    }
    CHECK_MESSAGE(valid >= 5, operation->name());
  }
}

TEST_CASE("random bytes yield a problem or InvalidProblem") {
  std::mt19937 random(8);
  const std::string seeds[] = {"gemm m=16 n=16 k=16 precision=half", "conv w=7 h=7 c=4 n=2 k=8 s=3",
                               "sparse_gemm m=8 n=1 k=4 sparsity=0.9 application=\"x\""};
  for (int i = 0; i < 10000; ++i) {
    std::string line = seeds[random() % 3];
    for (size_t edits = 1 + random() % 6; edits; --edits)
      line[random() % line.size()] = static_cast<char>(random() % 256);
    try {
      const Problem problem = Problem::parse(line);
      CHECK(Problem::parse(problem.str()) == problem);
    } catch (const InvalidProblem& error) {
      const std::string reason = error.what();  // one line without control characters
      CHECK(std::none_of(reason.begin(), reason.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
    }
  }
}

}  // namespace
}  // namespace deepbench
