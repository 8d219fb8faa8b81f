// How often oneDNN plans a row, and its candidates when planning one of them fails: the others
// remain, with the default first.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu_test {
namespace {

using cpu::onednn::Api;

// Counts the calls of a function of oneDNN; the call with the number `failing_call`, if any,
// returns "out of memory".
template <class Function>
class CountedCalls;
template <class... Arguments>
class CountedCalls<dnnl_status_t (*)(Arguments...)> {
 public:
  using Function = dnnl_status_t (*)(Arguments...);
  explicit CountedCalls(Function& function, int failing_call = 0) : function_(function) {
    real_ = function, calls_ = 0, failing_call_ = failing_call;
    function = call;
  }
  ~CountedCalls() { function_ = real_; }
  CountedCalls(const CountedCalls&) = delete;
  CountedCalls& operator=(const CountedCalls&) = delete;

  int calls() const { return calls_; }
  bool has_failed() const { return calls_ >= failing_call_; }

 private:
  static dnnl_status_t call(Arguments... arguments) {
    return ++calls_ == failing_call_ ? dnnl_out_of_memory : real_(arguments...);
  }
  inline static Function real_ = nullptr;
  inline static int calls_ = 0, failing_call_ = 0;
  Function& function_;
};

const char* const kOptions = "library=onednn threads=1";
const char* const kGemm = "m=65 n=33 k=129 trans_a=n trans_b=n precision=float";
const char* const kLayer =
    "cell=lstm hidden=64 batch=4 timesteps=2 phase=fwd mode=inference precision=float";
const char* const kSparse =
    "m=65 n=33 k=129 trans_a=n trans_b=n sparsity=0.9 precision=float order=row";
const char* const kConvolution =
    "w=14 h=14 c=32 n=2 k=32 s=3 r=3 pad_w=1 pad_h=1 stride_w=1 stride_h=1 "
    "dilation_w=1 dilation_h=1 groups=1 phase=fwd layout=library precision=float";

bool is_available() { return plan_status("rnn", kLayer, "library=onednn").status == DEEPBENCH_OK; }

// Plans whose failure comes from one call: a candidate, or a layout and the implementations in it.
std::string shared_plan_key(const std::string& op, const std::string& id) {
  return op == "conv" ? id.substr(0, id.find(':')) : id;
}

// Makes each call of `function` during the listing of candidates fail in turn, and returns the
// number of calls. It skips the `first` calls, which plan the default.
template <class Function>
int check_other_candidates_survive(const std::string& op, const std::string& problem,
                                   Function& function, int first) {
  const auto all = candidates(op, problem, kOptions);
  REQUIRE(all.size() > 1);
  int calls = first;
  for (bool failed = true; failed; ++calls) {
    CAPTURE(calls);
    const CountedCalls<Function> failing(function, calls + 1);
    const auto some = candidates(op, problem, kOptions);
    failed = failing.has_failed();
    REQUIRE_FALSE(some.empty());
    CHECK(some.front() == all.front());
    std::set<std::string> lost;
    for (const std::string& id : all)
      if (std::find(some.begin(), some.end(), id) == some.end())
        lost.insert(shared_plan_key(op, id));
    CHECK(lost.size() <= 1);
    if (!failed) CHECK(some == all);
  }
  return calls - 1;
}

TEST_CASE("a candidate of oneDNN that cannot be planned does not remove the others") {
  if (!is_available()) return;
  Api& api = Api::instance();
  // The calls are the default, plain weights, and the layout of training, which takes two.
  CHECK(check_other_candidates_survive("rnn", kLayer, api.lstm_forward_primitive_desc_create_f,
                                       1) == 4);
  CHECK(check_other_candidates_survive("gemm", kGemm, api.matmul_primitive_desc_create_f, 1) == 2);
  // Three tensors of each of three layouts and of Winograd's algorithm.
  CHECK(check_other_candidates_survive("conv", kConvolution, api.memory_desc_create_with_tag_f,
                                       3) == 12);
}

// Plans and prepares as the core does for algorithm=default.
template <class Function>
int creations_of_default(const std::string& op, const std::string& problem, Function& function) {
  const CountedCalls<Function> counted(function);
  TablePlan plan(backend(), op, NamedValues(problem), NamedValues(kOptions));
  plan.facts();
  backend().destroy(plan.prepare());
  CHECK_MESSAGE(plan.status() == DEEPBENCH_OK, plan.error());
  return counted.calls();
}

// Plans and prepares every candidate from one plan, twice, as a search may do.
template <class Function>
int creations_of_search(const std::string& op, const std::string& problem, Function& function) {
  const CountedCalls<Function> counted(function);
  const TablePlan first(backend(), op, NamedValues(problem), NamedValues(kOptions));
  for (int i = 0; i < 2; ++i)
    for (const std::string& id : first.candidates()) {
      CAPTURE(id);
      CHECK(first.can_prepare(id));
    }
  return counted.calls();
}

TEST_CASE("oneDNN plans the default of a row once") {
  if (!is_available()) return;
  Api& api = Api::instance();
  CHECK(creations_of_default("gemm", kGemm, api.matmul_primitive_desc_create_f) == 1);
  CHECK(creations_of_default("rnn", kLayer, api.lstm_forward_primitive_desc_create_f) == 1);
  CHECK(creations_of_default("conv", kConvolution,
                             api.convolution_forward_primitive_desc_create_f) == 1);
  if (plan_status("sparse_gemm", kSparse, kOptions).status == DEEPBENCH_OK)
    CHECK(creations_of_default("sparse_gemm", kSparse, api.matmul_primitive_desc_create_f) == 1);
}

TEST_CASE("oneDNN plans each candidate of a row once, whether listed, planned or prepared") {
  if (!is_available()) return;
  Api& api = Api::instance();
  // sgemm has no primitive; the packed matrix is planned even where its layout is the plain one.
  const auto gemm = candidates("gemm", kGemm, kOptions);
  const bool packs = std::count(gemm.begin(), gemm.end(), "matmul:packed") > 0;
  CHECK(creations_of_search("gemm", kGemm, api.matmul_primitive_desc_create_f) ==
        int(gemm.size()) - (packs ? 1 : 0));
  // The default, plain weights, and the layout of training take four; other implementations take
  // one each.
  const auto layer = candidates("rnn", kLayer, kOptions);
  const auto is_implementation = [](const std::string& id) {
    return id != "rnn" && id != "rnn:plain" && id != "rnn:training";
  };
  CHECK(creations_of_search("rnn", kLayer, api.lstm_forward_primitive_desc_create_f) ==
        4 + std::count_if(layer.begin(), layer.end(), is_implementation));
  // Three layouts and Winograd's algorithm; implementations come from the layouts' lists.
  CHECK(creations_of_search("conv", kConvolution,
                            api.convolution_forward_primitive_desc_create_f) == 4);
}

}  // namespace
}  // namespace deepbench::cpu_test
