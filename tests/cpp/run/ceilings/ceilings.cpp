// Ceilings: which problems are measured for them, and what is made of the figures.
#include "deepbench/run/ceilings/ceilings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "../../fake_backend.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {
namespace {

using doctest::Approx;

constexpr double kMiB = 1 << 20;

Attributes device(int64_t last_level_bytes, int64_t l1 = 0, int64_t l2 = 0) {
  Attributes facts;
  facts.set("last_level_cache_bytes", last_level_bytes);
  if (l1) facts.set("cache.l1_bytes", l1);
  if (l2) facts.set("cache.l2_bytes", l2);
  return facts;
}

MeasuredProblem measured_problem(const std::string& problem, double ns) {
  Row row;
  row.problem = problem;
  return {ns, std::make_shared<const Row>(row)};
}

MeasuredProblem nothing(const std::string& problem) { return measured_problem(problem, 0); }

// Figures by problem; remembers what was asked for.
struct FakeMeasurements {
  double flops_per_ns = 1000, bytes_per_ns = 100, latency_ns = 500;
  std::map<std::string, int> asked;

  MeasuredProblem operator()(const std::string& text) { return measured_problem(text, ns(text)); }

  double ns(const std::string& text) {
    ++asked[text];
    const Problem problem = Problem::parse(text);
    const Work work = problem.operation().work(problem);
    if (problem.op() == "memory") return bytes_per_ns > 0 ? work.bytes / bytes_per_ns : 0;
    return flops_per_ns > 0 ? latency_ns + work.flops / flops_per_ns : 0;
  }
};

TEST_CASE("levels of the memory hierarchy") {
  const Ceilings ceilings(device(32 << 20, 32 << 10, 1 << 20), {}, nothing);
  const auto level = [&](double bytes, bool cold = false) {
    return ceilings.level_of(bytes, cold).name;
  };
  CHECK(level(1000) == "l1");
  CHECK(level(32 << 10) == "l1");
  CHECK(level((32 << 10) + 1) == "l2");
  CHECK(level(1 << 20) == "l2");
  CHECK(level(kMiB + 1) == "llc");
  CHECK(level(32 * kMiB) == "llc");
  CHECK(level(32 * kMiB + 1) == "memory");
  CHECK(level(1000, true) == "memory");
}

TEST_CASE("of a hot row's bytes the next smaller level may have kept as many as it holds") {
  const Ceilings ceilings(device(32 << 20, 32 << 10, 1 << 20), {}, nothing);
  MemoryLevel level = ceilings.level_of(33 * kMiB, false);
  for (const char* name : {"llc", "l2", "l1"}) {
    const MemoryLevel inner = ceilings.inner_level(level);
    CHECK(inner.name == name);
    CHECK(inner.bytes == level.inner_bytes);
    level = inner;
  }
  CHECK(level.inner_bytes == 0);
  CHECK(ceilings.level_of(33 * kMiB, true).inner_bytes == 0);
}

TEST_CASE("a device that does not tell its caches has memory only") {
  const Ceilings ceilings(Attributes(), {}, nothing);
  CHECK(ceilings.level_of(1, false).name == "memory");
  const Ceilings negative(device(-5), {}, nothing);
  CHECK(negative.level_of(1, false).name == "memory");
}

TEST_CASE("a last-level cache that is a named level too is one level") {
  const Ceilings ceilings(device(1 << 20, 32 << 10, 1 << 20), {}, nothing);
  CHECK(ceilings.level_of(kMiB, false).name == "llc");
}

TEST_CASE("arithmetic is the best of several large products, measured once") {
  FakeMeasurements figures;
  Ceilings ceilings(device(32 << 20), {}, [&](const std::string& text) { return figures(text); });
  CHECK(ceilings.arithmetic("float") == Approx(1000e9).epsilon(0.01));
  const auto asked = figures.asked;
  CHECK(asked.size() >= 3);
  for (const auto& [problem, times] : asked) CHECK(times == 1);
  ceilings.arithmetic("float");
  CHECK(figures.asked == asked);
  ceilings.arithmetic("half");
  CHECK(figures.asked.size() == 2 * asked.size());
}

TEST_CASE("bandwidth of the memory is the best of read and copy, of a cache that of reading") {
  FakeMeasurements figures;
  Ceilings ceilings(device(32 << 20, 32 << 10), {}, [&](const std::string& text) {
    const bool copy = text.find("kind=copy") != std::string::npos;
    return measured_problem(text, figures.ns(text) * (copy ? 0.5 : 1.0));
  });
  CHECK(ceilings.bandwidth({"memory", 0}) == Approx(200e9));
  CHECK(ceilings.bandwidth({"llc", 32 << 20}) == Approx(100e9));
  CHECK(figures.asked.count("memory kind=read bytes=16777216") == 1);
  // The buffers for the memory are several times the cache.
  CHECK(figures.asked.count("memory kind=copy bytes=134217728") == 1);
}

TEST_CASE("what cannot be measured is zero, and is not tried again") {
  int calls = 0;
  Ceilings ceilings(device(32 << 20), {}, [&](const std::string& text) {
    ++calls;
    return nothing(text);
  });
  CHECK(ceilings.arithmetic("fp8_e4m3") == 0);
  CHECK(ceilings.bandwidth({"memory", 0}) == 0);
  CHECK(ceilings.latency_ns("half") == 0);
  const int before = calls;
  ceilings.arithmetic("fp8_e4m3");
  ceilings.bandwidth({"memory", 0});
  ceilings.latency_ns("half");
  CHECK(calls == before);
}

TEST_CASE("latency is that of the smallest product") {
  FakeMeasurements figures;
  Ceilings ceilings(device(32 << 20), {}, [&](const std::string& text) { return figures(text); });
  CHECK(ceilings.latency_ns("float") == Approx(500).epsilon(1e-4));
}

TEST_CASE("a row needs a measurement until all of its ceilings are known") {
  FakeMeasurements figures;
  Ceilings ceilings(device(32 << 20), {}, [&](const std::string& text) { return figures(text); });
  const Problem product = Problem::parse("gemm m=64 n=64 k=64");
  const Problem copy = Problem::parse("memory kind=copy bytes=1000000000");
  const MemoryLevel llc = ceilings.level_of(1000, false), memory = {"memory"};
  CHECK(ceilings.needs_measuring(product, llc));
  ceilings.for_problem(product, llc);
  CHECK_FALSE(ceilings.needs_measuring(product, llc));
  CHECK(ceilings.needs_measuring(product, memory));
  CHECK(ceilings.needs_measuring(copy, memory));
  ceilings.bandwidth(memory);
  CHECK_FALSE(ceilings.needs_measuring(product, memory));
  CHECK_FALSE(ceilings.needs_measuring(copy, memory));
  ceilings.doubt_arithmetic("float");
  CHECK(ceilings.needs_measuring(product, llc));
  CHECK_FALSE(ceilings.needs_measuring(copy, memory));
}

TEST_CASE("a figure that is doubted is measured once more, and the better one counts") {
  for (const double factor : {0.5, 2.0}) {
    CAPTURE(factor);
    FakeMeasurements figures;
    double slowness = 1;
    Ceilings ceilings(device(32 << 20), {}, [&](const std::string& text) {
      return measured_problem(text, slowness * figures.ns(text));
    });
    const double first = ceilings.arithmetic("float"), memory = ceilings.bandwidth({"memory"});
    slowness = factor;
    ceilings.doubt_arithmetic("float");
    const double second = ceilings.arithmetic("float");
    CHECK(second == Approx(std::max(first, first / factor)).epsilon(0.01));
    slowness = 0.1;
    ceilings.doubt_arithmetic("float");
    CHECK(ceilings.arithmetic("float") == second);
    CHECK(ceilings.bandwidth({"memory"}) == memory);
  }
}

TEST_CASE("what rows reach is reported, and no row is held against it") {
  FakeMeasurements figures;
  std::vector<double> reported;
  Row row;
  Ceilings ceilings(
      device(32 << 20), {}, [&](const std::string& text) { return figures(text); },
      [&](const CeilingKey&, const Row& of, bool is_raised) {
        if (is_raised) reported.push_back(double(of.position));
      });
  const double arithmetic = ceilings.arithmetic("float"), memory = ceilings.bandwidth({"memory"});
  for (const double figure : {5e12, 4e12, 5e12, 6e12, 0.5e12}) {
    row.position = int64_t(figure / 1e12);
    ceilings.raise_arithmetic("float", figure, row);
  }
  CHECK(reported == std::vector<double>{5, 6});  // only what is higher than before
  row.position = 7;
  ceilings.raise_bandwidth({"memory"}, 7e11, row);
  CHECK(reported.size() == 3);
  CHECK(ceilings.arithmetic("float") == arithmetic);
  CHECK(ceilings.bandwidth({"memory"}) == memory);
}

// What a caller learns of the ceilings that are measured.
struct Reported {
  std::string key, problem;
  bool is_raised;
};

class ReportRecorder {
 public:
  Ceilings::Report report() {
    return [this](const CeilingKey& key, const Row& row, bool is_raised) {
      all.push_back({key.text(), row.problem, is_raised});
    };
  }
  std::vector<Reported> all;
};

constexpr const char* kFloat =
    "arithmetic precision=float device=1 threads=4 cores=8 cache=hot power=rested";
constexpr const char* kMemory =
    "bandwidth level=memory device=1 threads=4 cores=8 cache=hot power=rested";

TEST_CASE("a recurrence needs the time of a step that hands over as many bytes as its steps") {
  ReportRecorder reports;
  std::vector<std::string> asked;
  Ceilings ceilings(
      device(32 << 20), {1, 4, 8},
      [&](const std::string& text) {
        asked.push_back(text);
        return measured_problem(text, 6400);
      },
      reports.report());
  const Problem layer = Problem::parse("rnn cell=gru hidden=7 batch=3 timesteps=9 precision=half");
  const MemoryLevel level = ceilings.level_of(1000, false);
  CHECK(ceilings.needs_measuring(layer, level));
  const RowCeilings found = ceilings.for_problem(layer, level);
  CHECK(found.step_ns == 100);
  CHECK(found.serial_key ==
        "serial bytes=44 weights=294 device=1 threads=4 cores=8 cache=hot power=rested");  // 42 in
                                                                                           // whole
                                                                                           // words
  CHECK(std::count(asked.begin(), asked.end(), "memory kind=exchange bytes=44 weights=294") == 1);
  CHECK_FALSE(ceilings.needs_measuring(layer, level));
  CHECK(ceilings.for_problem(Problem::parse("gemm m=64 n=64 k=64"), level).serial_key.empty());
  GivenCeilings given;
  parse_given_ceiling("ceiling " + found.serial_key + " ; figure=70", given);
  Ceilings other(
      device(32 << 20), {1, 4, 8}, [&](const std::string& text) { return nothing(text); }, nullptr,
      given);
  CHECK(other.step_ns({44, 294}) == 70);
}

TEST_CASE("a ceiling is reported once, with its key and its best problem") {
  FakeMeasurements figures;
  ReportRecorder reports;
  Ceilings ceilings(
      device(32 << 20), {1, 4, 8},
      [&](const std::string& text) {
        const bool slow = text.find("trans_b=n") != std::string::npos &&
                          text.find("trans_a=t") == std::string::npos;
        return measured_problem(text, figures.ns(text) * (slow ? 2.0 : 1.0));
      },
      reports.report());
  ceilings.arithmetic("float");
  ceilings.arithmetic("float");
  REQUIRE(reports.all.size() == 1);
  CHECK(reports.all[0].key == kFloat);
  CHECK(reports.all[0].problem == "gemm m=1024 n=1024 k=1024 trans_a=t trans_b=n precision=float");
  CHECK_FALSE(reports.all[0].is_raised);
  ceilings.bandwidth({"memory", 0});
  ceilings.latency_ns("half");
  REQUIRE(reports.all.size() == 3);
  CHECK(reports.all[1].key == kMemory);
  CHECK(reports.all[2].key ==
        "latency precision=half device=1 threads=4 cores=8 cache=hot power=rested");
}

TEST_CASE("a ceiling that cannot be measured is reported with its first problem") {
  ReportRecorder reports;
  Ceilings ceilings(device(32 << 20), {}, nothing, reports.report());
  ceilings.arithmetic("float");
  REQUIRE(reports.all.size() == 1);
  CHECK(reports.all[0].problem.find("trans_a=n") != std::string::npos);
}

TEST_CASE("a ceiling that moves is reported again, one that stays is not") {
  FakeMeasurements figures;
  double factor = 1;
  ReportRecorder reports;
  Ceilings ceilings(
      device(32 << 20), {},
      [&](const std::string& text) { return measured_problem(text, factor * figures.ns(text)); },
      reports.report());
  ceilings.arithmetic("float");
  ceilings.raise_arithmetic("float", 5e12, Row());
  REQUIRE(reports.all.size() == 2);
  CHECK(reports.all[1].is_raised);
  factor = 0.1;
  ceilings.doubt_arithmetic("float");
  CHECK(ceilings.arithmetic("float") == Approx(10e12).epsilon(0.01));
  REQUIRE(reports.all.size() == 3);
  CHECK_FALSE(reports.all[2].is_raised);
}

TEST_CASE("a figure that cannot be measured again keeps its value") {
  bool works = true;
  FakeMeasurements figures;
  ReportRecorder reports;
  Ceilings ceilings(
      device(32 << 20), {},
      [&](const std::string& text) { return works ? figures(text) : nothing(text); },
      reports.report());
  const double first = ceilings.arithmetic("float");
  works = false;
  ceilings.doubt_arithmetic("float");
  CHECK(ceilings.arithmetic("float") == first);
  CHECK(reports.all.size() == 1);
}

TEST_CASE("a given ceiling is not measured, unless its conditions are others") {
  GivenCeilings given;
  parse_given_ceiling("ceiling " + std::string(kFloat) + " ; figure=2e12", given);
  parse_given_ceiling("ceiling " + std::string(kMemory) + " ; figure=0", given);
  struct Case {
    CeilingConditions conditions;
    bool is_given;
  };
  for (const Case& one : std::vector<Case>{{{1, 4, 8}, true},
                                           {{0, 4, 8}, false},
                                           {{1, 2, 8}, false},
                                           {{1, 4, 2}, false},
                                           {{1, 4, 8, "cold"}, false},
                                           {{1, 4, 8, "hot", "sustained"}, false}}) {
    FakeMeasurements figures;
    Ceilings ceilings(
        device(32 << 20), one.conditions, [&](const std::string& text) { return figures(text); },
        nullptr, given);
    CHECK((ceilings.arithmetic("float") == 2e12) == one.is_given);
    CHECK((ceilings.bandwidth({"memory", 0}) == 0) == one.is_given);
    CHECK(figures.asked.empty() == one.is_given);
    ceilings.arithmetic("half");
    CHECK_FALSE(figures.asked.empty());
  }
}

TEST_CASE("a given ceiling has what was measured, and what a row must exceed to raise it") {
  struct Case {
    std::string figures;
    double measured;
    bool raises;  // a row of 5e12
  };
  for (const Case& one : std::vector<Case>{{"figure=2e12", 2e12, true},
                                           {"figure=2e12 raised=4e12", 2e12, true},
                                           {"figure=2e12 raised=5e12", 2e12, false},
                                           {"figure=6e12", 6e12, false},
                                           {"raised=5e12", 1e12, false},
                                           {"raised=4e12", 1e12, true}}) {
    CAPTURE(one.figures);
    GivenCeilings given;
    parse_given_ceiling("ceiling " + std::string(kFloat) + " ; " + one.figures, given);
    FakeMeasurements figures;
    ReportRecorder reports;
    Ceilings ceilings(
        device(32 << 20), {1, 4, 8}, [&](const std::string& text) { return figures(text); },
        reports.report(), given);
    CHECK(ceilings.arithmetic("float") == Approx(one.measured).epsilon(0.01));
    ceilings.raise_arithmetic("float", 5e12, Row());
    CHECK((!reports.all.empty() && reports.all.back().is_raised) == one.raises);
  }
}

TEST_CASE("a row's ceilings have the keys under which they are reported") {
  FakeMeasurements figures;
  ReportRecorder reports;
  Ceilings ceilings(
      device(32 << 20), {1, 4, 8}, [&](const std::string& text) { return figures(text); },
      reports.report());
  const RowCeilings row =
      ceilings.for_problem(Problem::parse("gemm m=64 n=64 k=64 precision=half"), {"memory"});
  CHECK(row.precision == "half");
  REQUIRE(reports.all.size() == 3);
  CHECK(row.bandwidth_key == reports.all[0].key);
  CHECK(row.latency_key == reports.all[1].key);
  CHECK(row.arithmetic_key == reports.all[2].key);
  const RowCeilings copy =
      ceilings.for_problem(Problem::parse("memory kind=copy bytes=64"), {"memory"});
  const Problem tf32 = Problem::parse("gemm m=64 n=64 k=64 precision=tf32");
  ceilings.for_problem(tf32, {"memory"});
  CHECK_FALSE(ceilings.needs_measuring(tf32, {"memory"}));
  CHECK(ceilings.needs_measuring(tf32, {"memory"}, "float"));
  const RowCeilings in_float = ceilings.for_problem(tf32, {"memory"}, "float");
  CHECK_FALSE(ceilings.needs_measuring(tf32, {"memory"}, "float"));
  CHECK(in_float.precision == "float");
  CHECK(in_float.arithmetic_key.find("arithmetic precision=float ") == 0);
  CHECK(in_float.latency_key.find("latency precision=tf32 ") == 0);
  CHECK(copy.arithmetic_key.empty());
  CHECK(copy.latency_key.find("latency precision=float ") == 0);
}

TEST_CASE("a given ceiling that makes no sense is refused with its text") {
  const auto refusal = [](const std::string& text) -> std::string {
    GivenCeilings given;
    try {
      parse_given_ceiling(text, given);
    } catch (const InvalidProblem& error) {
      CHECK(given.empty());
      return error.what();
    }
    return "it was taken";
  };
  const std::string key = std::string("ceiling ") + kFloat;
  CHECK(refusal(key + " ; figure=1") == "it was taken");
  CHECK(refusal(key) == "'" + key + "': must be ceiling KEY ; figure=NUMBER raised=NUMBER");
  CHECK(refusal(std::string(kFloat) + " ; figure=1").find("must be ceiling KEY") !=
        std::string::npos);
  for (const std::string unknown : {"ceiling  ; figure=1", "ceiling speed of=float ; figure=1"})
    CHECK(refusal(unknown).find("is arithmetic, bandwidth, latency or serial") !=
          std::string::npos);
  CHECK(refusal("ceiling arithmetic float ; figure=1") != "it was taken");
  for (const std::string figure : {"nan", "inf", "-1", "fast", ""})
    CHECK(refusal(key + " ; figure=" + figure) != "it was taken");
  CHECK(refusal(key + " ; raised=0").find("needs a figure") != std::string::npos);
  CHECK(refusal(key + " ; figure=-1").find("figure must be 0 or more") != std::string::npos);
  CHECK(refusal(key + " ; figure=1 raised=-1").find("raised must be 0 or more") !=
        std::string::npos);
  CHECK(refusal(key + " ; figure=1 raised=inf") != "it was taken");
  CHECK(refusal(key + " ; figure=1 since=2").find("not since=2") != std::string::npos);
}

TEST_CASE("a line gives a ceiling if that is its first word") {
  CHECK(is_ceiling_line("ceiling arithmetic precision=float ; figure=1"));
  CHECK_FALSE(is_ceiling_line("ceilings"));
  CHECK_FALSE(is_ceiling_line("gemm m=1 n=1 k=1"));
}

}  // namespace
}  // namespace deepbench
