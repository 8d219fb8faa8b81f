// The translation unit that contains doctest's implementation and main(). A test case that waits
// forever is aborted after a limit, so that doctest prints its name.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

extern "C" void __sanitizer_print_stack_trace() __attribute__((weak));

namespace {

constexpr unsigned kLimitS = 1200;  // many times the time of the longest case on a busy machine

void abort_with_stack(int) {
  if (__sanitizer_print_stack_trace) __sanitizer_print_stack_trace();
  std::abort();
}

class TimeLimit : public doctest::IReporter {
 public:
  explicit TimeLimit(const doctest::ContextOptions&) { std::signal(SIGALRM, abort_with_stack); }
  void test_case_start(const doctest::TestCaseData&) override { alarm(kLimitS); }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { alarm(0); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("time_limit", 1, TimeLimit);

}  // namespace
