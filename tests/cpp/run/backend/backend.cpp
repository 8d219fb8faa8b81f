// Handles over the C table: failures of every slot, nonsense answers, absent optional slots.
#include "deepbench/run/backend/backend.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "../../fake_backend.hpp"
#include "../../group/local_group.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/group.hpp"

namespace deepbench {
namespace {

using testing::fake_backend;
using testing::fake_kernel;
using testing::TemporaryFolder;

const std::string kProblem = "gemm m=4 n=3 k=5";

// How a call ended: "failed | reason".
template <class Body>
std::string failure_of(Body body) {
  try {
    body();
  } catch (const RowFailure& failure) {
    return std::string(name_of(failure.status())) + " | " + failure.what();
  }
  return "ok";
}

void call_every_slot(const Backend& backend) {
  const Problem problem = Problem::parse(kProblem);
  backend.describe();
  backend.device_count();
  backend.describe_device(0);
  backend.required_environment_variables({});
  const BackendPlan plan = backend.plan(problem, {});
  plan.candidates(0);
  backend.observe(0);
  backend.join(std::make_shared<Group>(0, std::vector<Member>(1), std::vector<Socket>(1)));
  Kernel kernel = plan.prepare();
  kernel.restore();
  kernel.poison_outputs();
  kernel.time_batch(1);
  kernel.read_output(0, {0});
  kernel.scan_output(0, 12);
  kernel.project_output(0, 4, 12, 1);
}

const char* const kSlots[] = {"describe",       "device_count",  "describe_device", "environment",
                              "plan",           "describe_plan", "candidates",      "observe",
                              "join",           "prepare",       "describe_kernel", "restore",
                              "poison_outputs", "time_batch",    "read_output",     "scan_output",
                              "project_output"};

TEST_CASE("a failure in any slot is told by the slot's name and the backend's reason") {
  CHECK(failure_of([] { call_every_slot(fake_backend("")); }) == "ok");
  for (const std::string slot : kSlots) {
    CAPTURE(slot);
    const auto use = [&](const std::string& fault) {
      return failure_of([&] { call_every_slot(fake_backend("fail " + slot + " " + fault)); });
    };
    CHECK(use("failed it broke") == "failed | " + slot + ": it broke");
    CHECK(use("unsupported not here") == "unsupported | not here");
    CHECK(use("invalid makes no sense") == "invalid | " + slot + ": makes no sense");
    CHECK(use("out_of_memory all gone") == "out_of_memory | " + slot + ": all gone");
    CHECK(use("device_lost fell off") == "device_lost | " + slot + ": fell off");
    CHECK(use("77 a status that does not exist") ==
          "failed | " + slot + ": a status that does not exist");
    CHECK(use("failed") == "failed | " + slot + ": no reason given");
    CHECK(use("failed null") == "failed | " + slot + ": no reason given");
    CHECK(use("failed tab\there") == "failed | " + slot + ": tab here");
  }
}

TEST_CASE("what a slot throws ends the row, and the slot is named") {
  deepbench_backend table = {};
  table.name = "broken";
  table.describe = [](deepbench_sink) -> deepbench_status { throw 42; };
  table.device_count = [](int32_t*) -> deepbench_status {
    throw std::runtime_error("the chip\x1b[31m is out");
  };
  const Backend backend(&table, "");
  CHECK(failure_of([&] { backend.describe(); }) ==
        "failed | backend broken: describe: it threw something that is no exception");
  CHECK(failure_of([&] { backend.device_count(); }) ==
        "failed | backend broken: device_count: it threw an exception: the chip\xef\xbf\xbd[31m is "
        "out");
}

TEST_CASE("what last_error throws keeps the status of the slot that failed") {
  deepbench_backend table = {};
  table.name = "broken";
  table.describe = [](deepbench_sink) -> deepbench_status { return DEEPBENCH_DEVICE_LOST; };
  table.last_error = []() -> const char* { throw std::runtime_error("no reason today"); };
  const Backend backend(&table, "");
  CHECK(failure_of([&] { backend.describe(); }) ==
        "device_lost | describe: last_error: it threw an exception: no reason today");
  table.last_error = []() -> const char* { throw 42; };
  CHECK(failure_of([&] { backend.describe(); }) ==
        "device_lost | describe: last_error: it threw something that is no exception");
}

TEST_CASE("what extension throws ends the row") {
  deepbench_backend table = {};
  table.name = "broken";
  table.extension = [](const char*) -> const void* { throw std::runtime_error("none today"); };
  const Backend backend(&table, "");
  const std::string thrown =
      "failed | backend broken: extension: it threw an exception: none today";
  CHECK(failure_of([&] { backend.energy_joules(0); }) == thrown);
  CHECK(failure_of([&] { backend.chain({}); }) == thrown);
  CHECK(failure_of([&] {
          backend.join(std::make_shared<Group>(0, std::vector<Member>(1), std::vector<Socket>(1)));
        }) == thrown);
}

TEST_CASE("a mistake in a script does not go unnoticed") {
  CHECK(failure_of([] { call_every_slot(fake_backend("time 5\ntmie 6")); }) ==
        "failed | describe: fake script, line 2: unknown verb in 'tmie 6'");
  CHECK(failure_of([] { call_every_slot(fake_backend("mutant nonesuch")); }) ==
        "failed | describe: fake script, line 1: bad arguments in 'mutant nonesuch'");
  CHECK(failure_of([] { call_every_slot(fake_backend("@/no/such/file")); }) ==
        "failed | describe: fake script: cannot open '/no/such/file'");
}

std::string batch_failure(const std::string& script, uint64_t count = 8) {
  return failure_of([&] { fake_kernel(script).time_batch(count); });
}

TEST_CASE("nonsense from time_batch is refused and named") {
  const std::string nonsense = "failed | time_batch: the backend gave an impossible answer: ";
  CHECK(batch_failure("answer elapsed_ns 0") == nonsense + "an elapsed time of 0.000000 ns");
  CHECK(batch_failure("answer elapsed_ns -5") == nonsense + "an elapsed time of -5.000000 ns");
  CHECK(batch_failure("answer elapsed_ns nan") == nonsense + "an elapsed time of nan ns");
  CHECK(batch_failure("answer elapsed_ns inf") == nonsense + "an elapsed time of inf ns");
  CHECK(batch_failure("answer host_ns 0") == nonsense + "a host time of 0.000000 ns");
  CHECK(batch_failure("answer host_ns nan") == nonsense + "a host time of nan ns");
  CHECK(batch_failure("answer clock_mhz -1") == nonsense + "a clock of -1.000000 MHz");
  CHECK(batch_failure("answer clock_mhz inf") == nonsense + "a clock of inf MHz");
  CHECK(batch_failure("answer count 7") == nonsense + "7 calls instead of 8");
  CHECK(batch_failure("answer count 0") == nonsense + "0 calls instead of 8");
  CHECK(batch_failure("answer copies_touched 0") ==
        nonsense + "it touched 0 copies of the operands, not 1");
  CHECK(batch_failure("answer launch 99") == nonsense + "launch 99");
  CHECK(batch_failure("from 2 answer elapsed_ns nan") == "ok");
}

TEST_CASE("names that a backend does not know how to give") {
  CHECK(fake_kernel("answer timer null").time_batch(1).timer == "unknown");
  CHECK(fake_kernel("launch graph").time_batch(1).launch == "graph");
  CHECK(fake_kernel("").time_batch(1, DEEPBENCH_LAUNCH_ISOLATED).launch == "isolated");
}

TEST_CASE("what a batch says arrives") {
  const Batch batch =
      fake_kernel("time 1000; overhead 500; host 300 10; mhz 1500; flags 3").time_batch(8);
  CHECK(batch.count == 8);
  CHECK(batch.elapsed_ns == 8500);
  CHECK(batch.host_ns == 8500 + 300 + 80);
  CHECK(batch.clock_mhz == 1500);
  CHECK(batch.throttled);
  CHECK(batch.power_capped);
  CHECK(batch.launch == "stream");
  CHECK(batch.timer == "scripted");
}

Attributes cold_options() {
  Attributes options;
  options.set("cache", std::string("cold"));
  return options;
}

TEST_CASE("a cold kernel must touch its copies") {
  // A + B + 2 C are 4 * (20 + 15 + 24) = 236 bytes: 5 copies are three times a cache of 393 bytes.
  Kernel kernel = fake_kernel("cache 393", kProblem, cold_options());
  CHECK(kernel.copies() == 5);
  CHECK(kernel.facts().text("cold") == "rotation");
  CHECK(failure_of([&] { kernel.time_batch(3); }) == "ok");
  CHECK(failure_of([&] { kernel.time_batch(5); }) == "ok");
  CHECK(failure_of([&] { kernel.time_batch(100); }) == "ok");
  // Silently on one copy, and a lie about it the other way round.
  Kernel stuck = fake_kernel("cache 393; rotation stuck", kProblem, cold_options());
  CHECK(failure_of([&] { stuck.time_batch(1); }) == "ok");
  CHECK(failure_of([&] { stuck.time_batch(100); }) ==
        "failed | time_batch: the backend gave an impossible answer: it touched 1 copies of the "
        "operands, "
        "not 5");
  Kernel lying = fake_kernel("cache 393; answer copies_touched 6", kProblem, cold_options());
  CHECK(failure_of([&] { lying.time_batch(100); }) ==
        "failed | time_batch: the backend gave an impossible answer: it touched 6 copies of the "
        "operands, "
        "not 5");
  Kernel flushing = fake_kernel("cache 100000000", kProblem, cold_options());
  CHECK(flushing.copies() == 1);
  CHECK(flushing.facts().text("cold") == "flush");
}

TEST_CASE("facts of every kind arrive, sloppy ones are passed over") {
  const Backend backend = fake_backend(
      "emit describe_device count 5; emit describe_device share 0.5; emit describe_device word "
      "five;"
      "emit describe_device nothing null; emit describe_device name Other device;"
      "emit describe_kernel metric.dense 2.5 us lower; emit describe library.fake.version 3.2");
  const Attributes device = backend.describe_device(0);
  CHECK(device.integer("count") == 5);
  CHECK(device.real("share") == 0.5);
  CHECK(device.text("word") == "five");
  CHECK_FALSE(device.has("nothing"));
  CHECK(device.text("name") == "Other device");
  CHECK(device.integer("last_level_cache_bytes") == 32 << 20);
  const Kernel kernel = backend.plan(Problem::parse(kProblem), {}).prepare();
  CHECK(kernel.facts().real("metric.dense") == 2.5);
  CHECK(kernel.facts().text("metric.dense.unit") == "us lower");
  CHECK(backend.describe().text("library.fake.version") == "3.2");
  CHECK(backend.describe().text("library.fake.path") == "/fake/libfake.so");
}

TEST_CASE("the number of devices must be one") {
  CHECK(fake_backend("devices 3").device_count() == 3);
  CHECK(fake_backend("devices 0").device_count() == 0);
  CHECK(failure_of([] { fake_backend("devices -1").device_count(); }) ==
        "failed | device_count: the backend gave an impossible answer: -1 devices");
  CHECK(failure_of([] { fake_backend("devices 2").describe_device(2); }) ==
        "invalid | describe_device: device 2 does not exist; the number of devices is 2");
}

TEST_CASE("sizes must be sizes") {
  const auto device = [](const std::string& fact) {
    return failure_of([&] { fake_backend("emit describe_device " + fact).describe_device(0); });
  };
  const std::string nonsense = "failed | describe_device: the backend gave an impossible answer: ";
  CHECK(device("last_level_cache_bytes 0") == "ok");  // not known
  CHECK(device("cache.l2_bytes 1099511627776") == "ok");
  CHECK(device("last_level_cache_bytes -1") == nonsense + "last_level_cache_bytes=-1");
  CHECK(device("cache.l1_bytes -32768") == nonsense + "cache.l1_bytes=-32768");
  CHECK(device("cache.l3_bytes 1099511627777") == nonsense + "cache.l3_bytes=1099511627777");
  CHECK(device("memory_bytes -1") == nonsense + "memory_bytes=-1");
  CHECK(device("memory_bytes 9223372036854775807") ==
        nonsense + "memory_bytes=9223372036854775807");
  CHECK(device("memory_bytes nan") == nonsense + "memory_bytes=nan");
  CHECK(device("memory_available_bytes plenty") == nonsense + "memory_available_bytes=plenty");
  CHECK(device("temperature -40") == "ok");
}

TEST_CASE("variables of the environment have names") {
  CHECK(fake_backend("emit environment GOOD 1").required_environment_variables({}).text("GOOD") ==
        "1");
  CHECK(failure_of([&] {
          fake_backend("emit environment BAD=NAME 1").required_environment_variables({});
        }) ==
        "failed | environment: the backend gave an impossible answer: 'BAD=NAME' is no variable's "
        "name");
}

TEST_CASE("reasons are a line of some length") {
  const auto reason = [](const std::string& text) {
    return failure_of(
        [&] { fake_backend("fail plan unsupported " + text).plan(Problem::parse(kProblem), {}); });
  };
  CHECK(reason("two\tparts") == "unsupported | two parts");
}

TEST_CASE("the memory that a row needs must be some") {
  const auto needed = [](const std::string& bytes) {
    return failure_of(
        [&] { fake_backend("memory_bytes " + bytes).plan(Problem::parse(kProblem), {}); });
  };
  CHECK(needed("0") == "ok");
  CHECK(needed("4611686018427387904") == "ok");
  CHECK(needed("-5") ==
        "failed | describe_plan: the backend gave an impossible answer: memory_bytes=-5");
  CHECK(needed("9e18").find("memory_bytes=9000000000000000000") != std::string::npos);
}

TEST_CASE("the number of outputs must be one") {
  const auto outputs = [](const std::string& count) {
    return failure_of([&] {
      fake_backend("emit describe_plan outputs " + count).plan(Problem::parse(kProblem), {});
    });
  };
  CHECK(outputs("1") == "ok");
  CHECK(outputs("3") == "ok");  // whether the operation has so many, its row checks
  const std::string nonsense =
      "failed | describe_plan: the backend gave an impossible answer: outputs=";
  CHECK(outputs("0") == nonsense + "0");
  CHECK(outputs("-1") == nonsense + "-1");
  CHECK(outputs("65") == nonsense + "65");
}

TEST_CASE("a rank that sends another size than is exchanged overwrites no memory of the backend") {
  const Backend backend = fake_backend("");
  const auto nothing = [](const std::vector<std::string>&) { return std::string(); };
  for (const size_t bytes : {size_t{0}, size_t{3}, size_t{1} << 20}) {
    std::string failures[2];
    testing::run_on_every_rank(testing::connect_ranks(2), [&](Group& group) {
      const std::shared_ptr<Group> shared(&group, [](Group*) {});  // run_on_every_rank() owns it
      failures[group.rank()] = failure_of([&] {
        group.collective_step(AbortScope::kRow, "join", [&] {
          if (group.rank() == 0) return backend.join(shared);
          group.reduce_and_broadcast(AbortScope::kExchange, "exchange of 4 bytes",
                                     std::string(bytes, 'A'), nothing);
        });
      });
    });
    CHECK(failures[0] ==
          "failed | the ranks' messages at 'exchange of 4 bytes' cannot be combined: rank 1 sent " +
              std::to_string(bytes) + " bytes instead of 4");
    CHECK(failures[1] == failures[0]);
  }
}

TEST_CASE("candidates come in the backend's order") {
  const Problem problem = Problem::parse(kProblem);
  CHECK(fake_backend("").plan(problem, {}).candidates(0).ids.empty());
  CHECK(fake_backend("candidates b a c").plan(problem, {}).candidates(0).ids ==
        std::vector<std::string>{"b", "a", "c"});
  CHECK(fake_backend("candidates b a b a c").plan(problem, {}).candidates(0).ids ==
        std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("optional slots that are NULL are done without") {
  const Backend backend = fake_backend("", "minimal");
  const Problem problem = Problem::parse("gemm m=7 n=5 k=9");
  const BackendPlan plan = backend.plan(problem, {});
  CHECK(plan.candidates(0).ids.empty());
  CHECK(failure_of([&] { plan.with_candidate("other"); }) ==
        "invalid | candidate 'other': backend minimal has none");
  CHECK(backend.required_environment_variables({}).items().empty());
  CHECK(backend.observe(0).items().empty());
  CHECK(failure_of([&] { backend.join(nullptr); }) ==
        "unsupported | backend minimal has no collectives");

  Kernel kernel = backend.plan(problem, {}).prepare();
  kernel.restore();
  kernel.poison_outputs();
  CHECK(kernel.scan_output(0, 35).count == 35);
  CHECK(kernel.scan_output(0, 35).untouched == 35);
  kernel.time_batch(1);
  CHECK(kernel.scan_output(0, 35).untouched == 0);
  CHECK(kernel.scan_output(0, 35).non_finite == 0);
  // The core's own projection equals the backend's.
  Kernel full = fake_kernel("", "gemm m=7 n=5 k=9");
  full.time_batch(1);
  const std::vector<double> mine = kernel.project_output(0, 7, 35, 3);
  const std::vector<double> theirs = full.project_output(0, 7, 35, 3);
  for (size_t i = 0; i < 7; ++i) CHECK(mine[i] == doctest::Approx(theirs[i]).epsilon(1e-6));
}

TEST_CASE("a reference adopts forward states where its backend can") {
  const Problem problem = Problem::parse(kProblem);
  deepbench_forward_states states = DEEPBENCH_STATES_UNKNOWN;
  const auto adopt = [&](const std::string& script) {
    const Backend backend = fake_backend(script);
    const Kernel kernel = backend.plan(problem, {}).prepare();
    return failure_of([&] {
      Kernel reference = backend.plan(problem, {}).prepare();
      reference.adopt_forward_states(kernel);
      states = reference.forward_states();
    });
  };
  for (const int answer :
       {DEEPBENCH_STATES_ADOPTED, DEEPBENCH_STATES_UNKNOWN, DEEPBENCH_STATES_WRONG}) {
    CHECK(adopt("forward_states " + std::to_string(answer)) == "ok");
    CHECK(states == answer);
  }
  CHECK(adopt("forward_states 2") == "failed | adopt: the backend gave an impossible answer: 2");
  CHECK(adopt("fail adopt unsupported not of this library") == "ok");
  CHECK(states == DEEPBENCH_STATES_UNKNOWN);
  CHECK(adopt("fail adopt failed it broke") == "failed | adopt: it broke");
  CHECK(adopt("fail adopt out_of_memory all gone") == "out_of_memory | adopt: all gone");

  const Kernel foreign = fake_backend("", "minimal").plan(problem, {}).prepare();
  Kernel reference = fake_kernel("", kProblem);
  reference.adopt_forward_states(foreign);  // a kernel of another backend means nothing to it
  CHECK(reference.forward_states() == DEEPBENCH_STATES_UNKNOWN);
  Kernel without = fake_backend("", "minimal").plan(problem, {}).prepare();
  without.adopt_forward_states(foreign);
  CHECK(without.forward_states() == DEEPBENCH_STATES_UNKNOWN);
}

TEST_CASE("poisoned integers are seen by the core's own scan") {
  Kernel kernel = fake_backend("", "minimal")
                      .plan(Problem::parse("gemm m=3 n=3 k=3 precision=int8"), {})
                      .prepare();
  kernel.poison_outputs();
  CHECK(kernel.scan_output(0, 9).untouched == 9);
  kernel.time_batch(1);
  CHECK(kernel.scan_output(0, 9).untouched == 0);
  Kernel words = fake_backend("", "minimal").plan(Problem::parse("memory bytes=64"), {}).prepare();
  words.poison_outputs();
  CHECK(words.scan_output(0, 16).untouched == 16);
}

TEST_CASE("every kernel is destroyed once, whatever happens to it") {
  const TemporaryFolder folder;
  const std::string log = folder / "calls";
  const auto calls = [&](const std::string& slot) {
    const auto lines = folder.lines("calls");
    return std::count(lines.begin(), lines.end(), slot);
  };
  fake_kernel("log " + log).time_batch(1);
  CHECK(failure_of([&] {
          fake_kernel("log " + log + "\nfail time_batch failed x").time_batch(1);
        }) != "ok");
  CHECK(failure_of([&] { fake_kernel("log " + log + "\nfail describe_kernel failed x"); }) ==
        "failed | describe_kernel: x");
  CHECK(calls("prepare") == 3);
  CHECK(calls("destroy") == 3);
}

}  // namespace
}  // namespace deepbench
