// The candidates of oneDNN when planning one of them fails: the others remain, with the default
// first.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness.hpp"
#include "onednn/api.hpp"

namespace deepbench::cpu_test {
namespace {

using cpu::onednn::Api;

// Replaces a function of oneDNN; one of its calls returns "out of memory".
template <class Function>
class FailingOnce;
template <class... Arguments>
class FailingOnce<dnnl_status_t (*)(Arguments...)> {
 public:
  using Function = dnnl_status_t (*)(Arguments...);
  FailingOnce(Function& function, int failing_call) : function_(function) {
    real_ = function, left_ = failing_call;
    function = call;
  }
  ~FailingOnce() { function_ = real_; }
  FailingOnce(const FailingOnce&) = delete;
  FailingOnce& operator=(const FailingOnce&) = delete;

  bool has_failed() const { return left_ <= 0; }

 private:
  static dnnl_status_t call(Arguments... arguments) {
    return --left_ == 0 ? dnnl_out_of_memory : real_(arguments...);
  }
  inline static Function real_ = nullptr;
  inline static int left_ = 0;
  Function& function_;
};

// Makes each call of `function` during the listing of candidates fail in turn, and returns the
// number of calls. It skips the `first` calls, which plan the default: once to decide support and
// once as a candidate.
template <class Function>
int check_survival(const std::string& op, const std::string& problem, Function& function,
                   int first) {
  const std::string options = "library=onednn threads=1";
  const auto all = candidates(op, problem, options);
  REQUIRE(all.size() > 1);
  int calls = first;
  for (bool failed = true; failed; ++calls) {
    CAPTURE(calls);
    const FailingOnce<Function> failing(function, calls + 1);
    const auto some = candidates(op, problem, options);
    failed = failing.has_failed();
    REQUIRE_FALSE(some.empty());
    CHECK(some.front() == all.front());
    CHECK(some.size() + 1 >= all.size());
    if (!failed) CHECK(some == all);
  }
  return calls - 1;
}

TEST_CASE("a candidate of oneDNN that cannot be planned does not remove the others") {
  const std::string layer =
      "cell=lstm hidden=64 batch=4 timesteps=2 phase=fwd mode=inference precision=float";
  if (plan_status("rnn", layer, "library=onednn").status != DEEPBENCH_OK) return;
  Api& api = Api::instance();
  // The calls are the default twice, plain weights, and the layout of training, which takes two.
  CHECK(check_survival("rnn", layer, api.lstm_forward_primitive_desc_create_f, 2) == 5);
  CHECK(check_survival("gemm", "m=65 n=33 k=129 trans_a=n trans_b=n precision=float",
                       api.matmul_primitive_desc_create_f, 2) == 3);
  const std::string convolution =
      "w=14 h=14 c=32 n=2 k=32 s=3 r=3 pad_w=1 pad_h=1 stride_w=1 stride_h=1 "
      "dilation_w=1 dilation_h=1 groups=1 phase=fwd layout=library precision=float";
  CHECK(check_survival("conv", convolution, api.memory_desc_create_with_tag_f, 6) > 12);
}

}  // namespace
}  // namespace deepbench::cpu_test
