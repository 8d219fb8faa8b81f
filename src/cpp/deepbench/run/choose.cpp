// Choosing among a library's candidates: three samples each, the near ones again in turns.
#include "deepbench/run/choose.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/left_out.hpp"
#include "deepbench/run/trial.hpp"

namespace deepbench {
namespace {

constexpr size_t kMostCandidates = 32;  // the library's own among them; exhaustive: no limit
constexpr int kSamples = 3, kRounds = 5;
constexpr int kFewestRounds = 3;  // of them, where time is over
constexpr double kLooks = 0.5;    // of the time for trying, for first looks
constexpr double kGlance = 0.2;   // of a span: what timing adds falls on all candidates alike
constexpr double kNear = 1.5;     // times the leader: worth another look
constexpr double kFarOff = 4;     // times the leader: not worth samples,
constexpr double kCostly = 1e6;   // where each is so long, in nanoseconds
constexpr size_t kFinalists = 4;  // prepared at the same time
constexpr double kSwitch = 0.98;  // a switch needs more than 2 %

struct Contender {
  std::string id;
  double cost = 0;
};

// Of samples that may come in groups the mean: few of them have their median in one by chance.
double middle(const std::vector<double>& samples, const Attributes& facts) {
  return facts.integer("shuffles") != 0 ? summarize(samples).mean : median(samples);
}

class Chooser {
 public:
  Chooser(const Backend& backend, const Problem& problem, const RunOptions& options, double span_ns,
          double budget_ns, const std::vector<std::string>& wrong, Stages& stages)
      : backend_(backend),
        problem_(problem),
        options_(options),
        span_ns_(span_ns),
        budget_ns_(budget_ns),
        wrong_(wrong),
        stages_(stages) {
    options_.verify = false;  // the winner is verified when it is measured
  }

  Choice run() {
    std::vector<std::string> ids = others();
    if (!is_exhaustive() && ids.size() >= kMostCandidates) ids.resize(kMostCandidates - 1);
    spend([&] { heat(""); });
    for (const auto& id : ids) {
      if (has_spent(kLooks)) {
        choice_.notes.push_back("candidates left untried for lack of time");
        break;
      }
      spend([&] { heat(id); });
    }
    left_out_.add_notes_to(choice_.notes);
    if (contenders_.size() > 1) final();
    left_out_of_final_.add_notes_to(choice_.notes);
    return std::move(choice_);
  }

 private:
  bool is_exhaustive() const { return options_.algorithm == "exhaustive"; }

  // All candidates but the first, which is the library's own choice, and those known to be wrong.
  std::vector<std::string> others() {
    std::vector<std::string> ids;
    try {
      Attributes asked = options_.for_plugin("");
      if (!is_exhaustive()) asked.set("limit", int64_t{kMostCandidates});
      ids = backend_.candidates(problem_, asked);
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      choice_.notes.push_back(failure.what());
    }
    if (!ids.empty()) {
      choice_.own = ids.front();
      ids.erase(ids.begin());
    }
    const auto is_wrong = [&](const std::string& id) {
      return std::find(wrong_.begin(), wrong_.end(), id) != wrong_.end();
    };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_wrong), ids.end());
    return ids;
  }

  // Does `body`, on the time that there is for trying; compiling is none of it.
  template <class Body>
  void spend(Body body) {
    Stopwatch watch;
    const double compiling_ns = stages_.compiling_ns;
    body();
    spent_ns_ += watch.lap_ns() - (stages_.compiling_ns - compiling_ns);
  }

  bool has_spent(double share) const {
    return budget_ns_ > 0 &&
           of_first_rank(options_.group, "choose", spent_ns_) > share * budget_ns_;
  }

  // A first look at one candidate.
  void heat(const std::string& id) {
    try {
      Trial trial(backend_, problem_, options_, id, stages_);
      const double call_ns =
          middle(trial.sample(kSamples, kGlance * span_ns_, far_off_ns()), trial.facts());
      contenders_.push_back({id, cost_ns(call_ns, trial.facts(), options_)});
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      left_out_.add(id, failure.what());
    }
    ++choice_.tried;
  }

  double far_off_ns() const {
    double leader = std::numeric_limits<double>::infinity();
    for (const auto& one : contenders_) leader = std::min(leader, one.cost);
    return std::max(kCostly, kFarOff * leader);
  }

  std::vector<Contender> finalists() {
    std::sort(contenders_.begin(), contenders_.end(),
              [](const Contender& a, const Contender& b) { return a.cost < b.cost; });
    std::vector<Contender> near;
    for (const auto& one : contenders_) {
      const bool is_default = one.id.empty();
      const bool fits = near.size() < kFinalists && one.cost <= kNear * contenders_[0].cost;
      if (is_default || fits) near.push_back(one);
    }
    return near;
  }

  struct Finalist {
    Contender contender;
    std::unique_ptr<Trial> trial;
    std::vector<double> samples;
  };

  // Does `body`; where the candidate fails, it is left out of the final, and the row goes on.
  template <class Body>
  bool in_final(const Contender& one, Body body) {
    try {
      body();
      return true;
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      left_out_of_final_.add(one.id, failure.what());
      return false;
    }
  }

  // The near ones, ready at the same time, as far as there is room, sampled in turns, so that a
  // drift of the machine falls on all alike.
  std::vector<Finalist> sampled(const std::vector<Contender>& contenders) {
    std::vector<Finalist> near;
    spend([&] {
      for (const auto& one : contenders)
        in_final(one, [&] {
          near.push_back(
              {one, std::make_unique<Trial>(backend_, problem_, options_, one.id, stages_), {}});
        });
    });
    for (int round = 0; round < kRounds; ++round) {
      if (round >= kFewestRounds && has_spent(1)) break;
      spend([&] { sample(near); });
    }
    return near;
  }

  // One sample of each; without those that fail.
  void sample(std::vector<Finalist>& near) {
    for (auto one = near.begin(); one != near.end();) {
      const bool good = in_final(one->contender, [&] {
        for (double ns : one->trial->sample(1, span_ns_)) one->samples.push_back(ns);
      });
      one = good ? one + 1 : near.erase(one);
    }
  }

  double own_first_look() const {
    for (const auto& one : contenders_)
      if (one.id.empty()) return one.cost;
    return 0;
  }

  // A library's own choice that has no room in the final stands with its first look.
  void final() {
    const std::vector<Contender> chosen = finalists();
    if (chosen.size() == 1 && chosen[0].id.empty()) return;  // the own choice, by far
    std::vector<Finalist> near = sampled(chosen);
    double own = own_first_look();
    for (auto& one : near) {
      const Attributes& facts = one.trial->facts();
      one.contender.cost = cost_ns(middle(one.samples, facts), facts, options_);
      if (one.contender.id.empty()) own = one.contender.cost;
    }
    std::sort(near.begin(), near.end(), [](const Finalist& x, const Finalist& y) {
      return x.contender.cost < y.contender.cost;
    });
    for (const auto& one : near)
      if (!one.contender.id.empty() && (own == 0 || one.contender.cost < kSwitch * own))
        choice_.faster.push_back({one.contender.id, own == 0 ? 1 : own / one.contender.cost});
  }

  const Backend& backend_;
  const Problem& problem_;
  RunOptions options_;
  double span_ns_, budget_ns_;
  const std::vector<std::string>& wrong_;
  Stages& stages_;
  double spent_ns_ = 0;
  LeftOut left_out_{"left out"}, left_out_of_final_{"left out of the final"};
  std::vector<Contender> contenders_;
  Choice choice_;
};

}  // namespace

double cost_ns(double call_ns, const Attributes& facts, const RunOptions& options) {
  const std::string converted = facts.text("converted");
  if (converted.empty() || options.is_constant(converted)) return call_ns;
  return call_ns + facts.real("conversion_ns");
}

Choice choose(const Backend& backend, const Problem& problem, const RunOptions& options,
              double span_ns, double budget_ns, const std::vector<std::string>& wrong,
              Stages& stages) {
  return Chooser(backend, problem, options, span_ns, budget_ns, wrong, stages).run();
}

}  // namespace deepbench
