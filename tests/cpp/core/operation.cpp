// Tests the list of operations and the checks that their specifications share.
#include "deepbench/core/operation.hpp"

#include <doctest/doctest.h>

#include <set>

#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

TEST_CASE("every operation has help, an example and parameters") {
  std::set<std::string> names;
  for (const Operation* operation : operations()) {
    CAPTURE(operation->name());
    CHECK(names.insert(operation->name()).second);
    CHECK(&find_operation(operation->name()) == operation);
    CHECK_FALSE(operation->help().empty());
    const Problem example = Problem::parse(operation->example());
    CHECK(&example.operation() == operation);
    CHECK(operation->work(example).bytes > 0);
    if (!operation->group_by().empty()) CHECK(operation->find(operation->group_by()));
    for (const auto& parameter : operation->parameters()) {
      CHECK_FALSE(parameter.help.empty());
      CHECK(operation->find(parameter.name) == &parameter);
      CHECK((parameter.kind == ParameterKind::kChoice) == !parameter.choices.empty());
      if (!parameter.condition_name.empty()) CHECK(operation->find(parameter.condition_name));
    }
    CHECK(operation->find("no_such_parameter") == nullptr);
  }
  for (const char* name : {"gemm", "conv", "rnn", "sparse_gemm", "all_reduce", "memory"})
    CHECK(names.count(name) == 1);
}

TEST_CASE("an operation without a reference reports it as unsupported") {
  class BareOperation final : public Operation {
   public:
    const std::string& name() const override { return text_; }
    const std::string& help() const override { return text_; }
    const std::string& example() const override { return text_; }
    const std::vector<Parameter>& parameters() const override { return parameters_; }
    void validate(const Problem&) const override {}
    Work work(const Problem&) const override { return {}; }

   private:
    std::string text_ = "bare";
    std::vector<Parameter> parameters_;
  };
  const Problem problem = Problem::parse("memory bytes=4");
  CHECK_FALSE(BareOperation().has_reference());
  CHECK_FALSE(BareOperation().is_collective());
  CHECK(BareOperation().is_limited_by_device(problem));
  CHECK_THROWS_WITH_AS(BareOperation().expected_output(problem, {}), "memory has no reference",
                       RowFailure);
}

TEST_CASE("suggestions are close to the misspelled word") {
  const std::vector<std::string> words = {"gemm", "conv", "precision", "m", "n"};
  CHECK(suggestion("gem", words) == " (did you mean 'gemm'?)");
  CHECK(suggestion("gmem", words) == " (did you mean 'gemm'?)");
  CHECK(suggestion("precison", words) == " (did you mean 'precision'?)");
  CHECK(suggestion("cnvo", words) == " (did you mean 'conv'?)");
  CHECK(suggestion("matmul", words) == "");
  CHECK(suggestion("x", words) == "");  // a single edit, but it replaces the whole word
  CHECK(suggestion("", words) == "");
  CHECK(suggestion("gemm", {}) == "");
}

TEST_CASE("products that do not fit into 64 bits are rejected") {
  CHECK(checked_product("it", {}) == 1);
  CHECK(checked_product("it", {3, 5, 7}) == 105);
  CHECK(checked_product("it", {1LL << 31, 1LL << 31, 1}) == 1LL << 62);
  CHECK(checked_product("it", {INT64_MAX, 1}) == INT64_MAX);
  CHECK_THROWS_WITH_AS(checked_product("the size", {1LL << 32, 1LL << 31}),
                       "the size does not fit 64 bits", InvalidProblem);
  CHECK_THROWS_AS(checked_product("it", {INT64_MAX, INT64_MAX, INT64_MAX}), InvalidProblem);
}

TEST_CASE("status names are those of the result file") {
  CHECK(name_of(Status::kOk) == "ok");
  CHECK(name_of(Status::kUnsupported) == "unsupported");
  CHECK(name_of(Status::kInvalid) == "invalid");
  CHECK(name_of(Status::kOutOfMemory) == "out_of_memory");
  CHECK(name_of(Status::kIncorrect) == "incorrect");
  CHECK(name_of(Status::kMistrusted) == "mistrusted");
  CHECK(name_of(Status::kDeviceLost) == "device_lost");
  CHECK(name_of(Status::kFailed) == "failed");
}

}  // namespace
}  // namespace deepbench
